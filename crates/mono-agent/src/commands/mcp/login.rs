//! `mcp login NAME`: a person grants access in a browser (MCP-15).

use crate::answer::{Failure, print};
use crate::args::{McpLogin, Place};
use crate::door::{load, state};
use host_app::{Consent, LoginError, OAuthIdentity, login, logout};
use host_channels::terminal::{LineRead, Lines};
use host_http::CallbackListener;
use host_ports::BoxFuture;
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;
use tokio::sync::Mutex;
use url::Url;

/// How long a person has in the browser.
const CONSENT_MAX: Duration = Duration::from_secs(600);

pub async fn run(place: &Place, asked: &McpLogin) -> Result<ExitCode, Failure> {
    let loaded = load(place)?;
    let (Some(spec), Some(state)) = (&loaded.spec, state(&loaded)) else {
        return Err(Failure::usage("there is no agent here"));
    };
    let name = asked.name.as_str();
    if asked.forget {
        let had = logout(spec, &state, name).await.map_err(failure)?;
        print(place, &json!({"ok": true, "forgot": had}), || match had {
            true => format!("the login for {name} is forgotten"),
            false => format!("there was no login for {name}"),
        });
        return Ok(ExitCode::SUCCESS);
    }
    let listener = CallbackListener::bind(asked.port).await.map_err(|error| {
        Failure::system(format!("the address for the browser's way back can't be opened: {error}"))
    })?;
    let consent =
        Browser { address: listener.address(), listener: Mutex::new(listener), lines: Lines::of_stdin() };
    let identity = OAuthIdentity {
        client_id: asked.client_id.clone(),
        client_secret: match &asked.client_secret_env {
            Some(name) => {
                Some(loaded.env.get(name).cloned().filter(|it| !it.is_empty()).ok_or_else(|| {
                    Failure::usage(format!("the variable {name} of --client-secret-env is not set"))
                })?)
            }
            None => None,
        },
        metadata_url: asked.client_metadata.clone(),
        scopes: asked.scope.clone(),
    };
    tokio::select! {
        done = login(spec, &state, name, identity, &consent) => done.map_err(failure)?,
        _ = tokio::signal::ctrl_c() => return Err(Failure::system("the login was called off")),
    }
    print(place, &json!({"ok": true, "loggedIn": name}), || {
        format!("logged in to {name}; mono-agent mcp test {name} tries it")
    });
    Ok(ExitCode::SUCCESS)
}

fn failure(error: LoginError) -> Failure {
    match error {
        LoginError::Unknown { .. } | LoginError::NotForIt(_) => Failure::usage(error.to_string()),
        LoginError::Failed(_) => Failure::system(error),
    }
}

/// The person's browser. On another machine it can't come back here: then the address that it ended at is pasted.
struct Browser {
    address: String,
    listener: Mutex<CallbackListener>,
    lines: Lines,
}

impl Consent for Browser {
    fn redirect_uri(&self) -> String {
        self.address.clone()
    }

    fn authorize(&self, address: Url) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            eprintln!("Open this address in a browser:\n\n  {address}\n");
            let mut listener = self.listener.lock().await;
            let pasted = async {
                if !self.lines.interactive() {
                    return std::future::pending().await;
                }
                eprintln!("If the browser is on another machine, paste the address that it ends at.");
                match self.lines.read("> ").await {
                    LineRead::Line(line) if !line.trim().is_empty() => Some(line),
                    LineRead::Line(_) => std::future::pending().await,
                    LineRead::Interrupted | LineRead::End => None,
                }
            };
            tokio::select! {
                came = listener.wait() => came.ok_or_else(|| "the way back was closed".to_owned()),
                line = pasted => line.ok_or_else(|| "the login was called off".to_owned()),
                () = tokio::time::sleep(CONSENT_MAX) => Err("nobody came back from the browser in time".to_owned()),
            }
        })
    }
}
