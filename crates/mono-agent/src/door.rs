//! The way to an agent: join the host that runs, else open the agent in this process (ENG-9).

use crate::answer::Failure;
use crate::args::Place;
use host_app::operator::protocol::{Request, Status};
use host_app::operator::{Client, ClientError};
use host_app::{
    Agent, OpenOptions, People, StateFolder, Whereabouts, digest, load_agent, outcome_json, variables,
};
use host_config::finding::code;
use host_config::{Environment, Loaded, STATE_FOLDER, Severity};
use host_http::ConnectError;
use host_ports::CancellationToken;
use host_run::EventSink;
use host_turn::Turn;
use serde_json::Value;
use std::path::PathBuf;

/// Where the agent is, from what was typed.
pub fn whereabouts(place: &Place) -> Result<Whereabouts, Failure> {
    let here = std::env::current_dir().map_err(Failure::system)?;
    let folder = here.join(&place.agent);
    if !host_files::state::is_folder(&folder) {
        return Err(Failure::usage(format!("there is no folder {}", folder.display())));
    }
    let named = |path: &PathBuf| here.join(path);
    let env = environment()?;
    Ok(Whereabouts {
        folder,
        config: place.config.as_ref().map(named),
        env_file: place.env_file.as_ref().map(named),
        env,
    })
}

/// The process's environment, as text. A setting of ours that is none must not count as unset: that could
/// open what it closes.
#[allow(clippy::disallowed_methods, reason = "the environment is read here, once, and passed down")]
fn environment() -> Result<Environment, Failure> {
    let mut env = Environment::new();
    for (name, value) in std::env::vars_os() {
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => {
                env.insert(name, value);
            }
            (Ok(name), Err(_)) if name.starts_with("MONO_AGENT_") => {
                return Err(Failure::usage(format!("the variable {name} is not UTF-8 text")));
            }
            _ => {}
        }
    }
    Ok(env)
}

/// Whether a file was named that isn't there: misuse, whatever else is wrong.
pub fn names_a_missing_file(place: &Place, loaded: &Loaded) -> bool {
    let missing = |role: &str| loaded.sources.iter().any(|it| it.role == role && !it.found);
    (place.config.is_some() && missing("config")) || (place.env_file.is_some() && missing("env"))
}

/// The agent's settings; what keeps it from starting is an error with every reason.
pub fn load(place: &Place) -> Result<Loaded, Failure> {
    let loaded = load_agent(&whereabouts(place)?);
    if loaded.spec.is_none() {
        return Err(Failure::of_findings(&loaded.findings, names_a_missing_file(place, &loaded)));
    }
    Ok(loaded)
}

/// The state folder of an agent. It lies in the agent's folder whatever the settings say, so that a running
/// host can be managed while its config is being mended.
pub fn state_here(place: &Place) -> Result<StateFolder, Failure> {
    let at = whereabouts(place)?;
    let folder = match at.config.as_deref().and_then(std::path::Path::parent) {
        Some(folder) => folder.to_owned(),
        None => at.folder,
    };
    let folder = std::path::absolute(folder).map_err(Failure::system)?;
    Ok(StateFolder::new(tidy(&folder).join(STATE_FOLDER), None))
}

/// A path without `.` and `..`, as the loader makes it.
fn tidy(path: &std::path::Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// The state folder of an agent whose settings were read.
pub fn state(loaded: &Loaded) -> Option<StateFolder> {
    let spec = loaded.spec.as_ref()?;
    Some(StateFolder::new(spec.places.state.clone(), Some(spec.artifacts.dir.clone())))
}

/// A client for the host of an agent, whether or not one runs.
pub fn client(state: &StateFolder) -> Client {
    Client::new(state.socket(host_files::state::user_id()))
}

/// Says on standard error what is wrong with parts of the agent that it starts without.
pub fn warn(loaded: &Loaded) {
    for finding in &loaded.findings {
        let part = finding.severity == Severity::Error && !finding.fatal;
        if part || finding.diagnostic.code == code::MCP_MISSING {
            eprintln!("warning: {}", finding.diagnostic);
        }
    }
}

/// What a running host lacks of the settings that stand here now.
enum Difference {
    /// Nothing.
    None,
    /// The files changed since it was started.
    Files,
    /// This very command names other settings: these options and variables.
    Own(Vec<String>),
}

impl Difference {
    /// A variable that only the host has is no wish of this command's.
    fn of(status: &Status, place: &Place, loaded: &Loaded, env: &Environment) -> Self {
        let same_files = status.settings == digest(&loaded.sources);
        let own = variables(env);
        let mut named: Vec<String> = own
            .into_iter()
            .filter(|(name, value)| status.variables.get(name) != Some(value))
            .map(|(name, _)| name)
            .collect();
        if !same_files {
            named.extend(place.config.as_ref().map(|_| "--config".to_owned()));
            named.extend(place.env_file.as_ref().map(|_| "--env-file".to_owned()));
        }
        match (named.is_empty(), same_files) {
            (false, _) => Difference::Own(named),
            (true, false) => Difference::Files,
            (true, true) => Difference::None,
        }
    }
}

/// An agent, here or in a running host.
pub enum Door {
    /// In this process.
    Here(Box<Agent>),
    /// In a running host.
    Joined(Client),
}

impl Door {
    /// Joins the running host, unless `local`; else opens the agent here.
    pub async fn open(place: &Place, local: bool, options: OpenOptions) -> Result<Door, Failure> {
        let loaded = load(place)?;
        if let Some(client) = Self::running(place, &loaded, local).await? {
            return Ok(Door::Joined(client));
        }
        Self::here(loaded, options).await
    }

    /// The agent as its settings stand now: the running host where it has the same ones.
    pub async fn open_as_set(place: &Place, options: OpenOptions) -> Result<Door, Failure> {
        let loaded = load(place)?;
        match Self::found(place, &loaded).await? {
            Some((client, _, Difference::None)) => return Ok(Door::Joined(client)),
            Some((_, status, _)) => eprintln!(
                "note: this is what the settings say now; the running host (process {}) keeps what it was started \
                 with until `mono-agent restart`",
                status.pid
            ),
            None => {}
        }
        Self::here(loaded, options).await
    }

    async fn here(loaded: Loaded, options: OpenOptions) -> Result<Door, Failure> {
        warn(&loaded);
        let agent = Agent::open(loaded, options).await?;
        agent.recover().await;
        Ok(Door::Here(Box::new(agent)))
    }

    /// The host to join: the one that runs, unless `local` or this command names settings of its own, which
    /// must not be ignored.
    pub async fn running(place: &Place, loaded: &Loaded, local: bool) -> Result<Option<Client>, Failure> {
        if local {
            return Ok(None);
        }
        let Some((client, status, difference)) = Self::found(place, loaded).await? else { return Ok(None) };
        match difference {
            Difference::None => Ok(Some(client)),
            Difference::Files => {
                eprintln!(
                    "note: the running host (process {}) was started with other settings; `mono-agent restart` takes \
                     up the ones that are here now",
                    status.pid
                );
                Ok(Some(client))
            }
            Difference::Own(named) => {
                eprintln!(
                    "note: this command names settings of its own ({}), so it works beside the running host \
                     (process {})",
                    named.join(", "),
                    status.pid
                );
                Ok(None)
            }
        }
    }

    /// The host that runs, whatever settings this command names: for what only it can do.
    pub async fn host(place: &Place, loaded: &Loaded) -> Result<Option<Client>, Failure> {
        Ok(Self::found(place, loaded).await?.map(|(client, ..)| client))
    }

    /// The host that runs. One that runs and doesn't answer is an error, not a reason to work beside it.
    async fn found(place: &Place, loaded: &Loaded) -> Result<Option<(Client, Status, Difference)>, Failure> {
        let Some(state) = state(loaded) else { return Ok(None) };
        let client = client(&state);
        match client.status().await {
            Ok(status) => {
                let difference = Difference::of(&status, place, loaded, &whereabouts(place)?.env);
                Ok(Some((client, status, difference)))
            }
            Err(ClientError::Connect(ConnectError::NotRunning)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs one turn; the result is the object of [`outcome_json`].
    pub async fn turn(
        &self,
        turn: Turn,
        people: People,
        events: EventSink,
        cancel: CancellationToken,
    ) -> Result<Value, Failure> {
        match self {
            Door::Here(agent) => Ok(outcome_json(&agent.run(turn, people, events, cancel).await)),
            Door::Joined(client) => {
                let request = Request::Turn {
                    turn,
                    can_approve: true,
                    can_operate: people.desk.is_some(),
                    can_elicit: people.elicit.is_some(),
                    shows: people.ask.shows(),
                };
                Ok(client.with_people(request, &people, events, cancel).await?)
            }
        }
    }

    /// Ends what was opened here; a running host goes on.
    pub async fn close(self) {
        if let Door::Here(agent) = self {
            agent.close().await;
        }
    }
}

/// Fires at Ctrl-C or SIGTERM. A second Ctrl-C ends the program at once.
pub fn on_interrupt() -> CancellationToken {
    let cancel = CancellationToken::new();
    let fired = cancel.clone();
    tokio::spawn(async move {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut term), Ok(mut hang_up)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
        else {
            return;
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = term.recv() => {}
            _ = hang_up.recv() => {}
        }
        fired.cancel();
        let _ = tokio::signal::ctrl_c().await;
        std::process::exit(130);
    });
    cancel
}
