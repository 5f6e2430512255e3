//! `web`: one console for all agents of this user, and the console of `start --web-port` (WEB-1, WEB-4).

use crate::answer::{Failure, print};
use crate::args::{Place, Web};
use crate::door::whereabouts;
use host_app::{ConsoleAgents, ConsoleError, ConsoleOptions, open_console, token_file};
use host_http::{ConsoleListener, HostEntry};
use host_ports::CancellationToken;
use host_vocab::{Code, Diagnostic, Kind};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::task::JoinHandle;

pub async fn run(place: &Place, web: &Web) -> Result<ExitCode, Failure> {
    let env = whereabouts(place)?.env;
    let home = env.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from).ok_or_else(|| {
        Failure::usage("HOME is not set; the console keeps its conversations in ~/.mono-agent/web")
    })?;
    let address = web.host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    if !address.is_loopback() && !web.allow_non_loopback {
        let message = format!("{address} can be reached from other machines");
        let found = Diagnostic::new(Kind::Usage, Code::new("non_loopback"), message);
        return Err(Failure::of(found.hint(
            "--allow-non-loopback serves it there, to whoever has the login token; put TLS in front of it",
        )));
    }
    let mut names = web.allow_host.clone();
    if !address.is_unspecified() {
        names.push(address.to_string());
    }
    let options = ConsoleOptions {
        folder: home.join(".mono-agent").join("web"),
        agents: ConsoleAgents::OfHome(home),
        needs_login: !address.is_loopback(),
        names,
        name: web.name.clone().unwrap_or_else(|| "mono-agent".to_owned()),
    };
    let token = options.needs_login.then(|| token_file(&options.folder));
    let stop = super::host::terminated();
    let serving = Serving::begin(SocketAddr::new(address, web.port), &options, stop.child_token()).await?;
    let url = serving.url();
    let shown = token.as_ref().map(|it| it.display().to_string());
    print(place, &json!({"ok": true, "url": url, "tokenFile": shown}), || match &shown {
        Some(file) => format!("the console is at {url}\nits login token is in {file}\nCtrl-C ends it"),
        None => format!("the console is at {url}\nCtrl-C ends it"),
    });
    serving.ended().await;
    Ok(ExitCode::SUCCESS)
}

/// A console that is served.
pub struct Serving {
    address: SocketAddr,
    answering: JoinHandle<()>,
    tending: JoinHandle<()>,
}

impl Serving {
    /// Opens a console and serves it until `stop` fires.
    async fn begin(
        address: SocketAddr,
        options: &ConsoleOptions,
        stop: CancellationToken,
    ) -> Result<Self, Failure> {
        let listener = ConsoleListener::bind(address).await.map_err(|error| {
            let message = format!("{address} can't be had: {}", host_files::state::in_words(&error));
            let found = Diagnostic::new(Kind::Environment, Code::new("port_taken"), message);
            Failure::of(found.hint("`--port N` (for `start`: `--web-port N`) takes another one"))
        })?;
        let console = open_console(options).map_err(not_opened)?;
        console.look_for_agents().await;
        let address = listener.address();
        let tending = tokio::spawn(Arc::clone(&console).tend(stop.clone()));
        let answering = tokio::spawn(listener.serve(console, stop));
        Ok(Serving { address, answering, tending })
    }

    /// The console of one agent, in its host.
    pub async fn of_host(
        port: u16,
        entry: HostEntry,
        state: &Path,
        stop: CancellationToken,
    ) -> Result<Self, Failure> {
        let options = ConsoleOptions {
            folder: state.join("web"),
            name: entry.name.clone(),
            agents: ConsoleAgents::One(entry),
            needs_login: false,
            names: Vec::new(),
        };
        Self::begin(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), &options, stop).await
    }

    /// Its address.
    pub fn url(&self) -> String {
        let name = if self.address.ip().is_unspecified() {
            format!("localhost:{}", self.address.port())
        } else {
            self.address.to_string()
        };
        format!("http://{name}/")
    }

    /// Waits for its end.
    pub async fn ended(self) {
        // A console that broke has said so.
        let _ended = self.answering.await;
        let _ended = self.tending.await;
    }
}

fn not_opened(error: ConsoleError) -> Failure {
    let message = format!("the console can't be opened: {error}");
    Failure::of(Diagnostic::new(Kind::Environment, Code::new("console_unusable"), message))
}
