//! The way to an agent: join the host that runs, else open the agent in this process (ENG-9).

use crate::answer::Failure;
use crate::args::Place;
use host_app::operator::Client;
use host_app::operator::protocol::Request;
use host_app::{Agent, OpenOptions, People, StateFolder, Whereabouts, load_agent, outcome_json};
use host_config::Loaded;
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
    #[allow(clippy::disallowed_methods, reason = "the environment is read here, once, and passed down")]
    let env = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    Ok(Whereabouts {
        folder,
        config: place.config.as_ref().map(named),
        env_file: place.env_file.as_ref().map(named),
        env,
    })
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

/// The state folder of an agent.
pub fn state(loaded: &Loaded) -> Option<StateFolder> {
    let spec = loaded.spec.as_ref()?;
    Some(StateFolder::new(spec.places.state.clone(), Some(spec.artifacts.dir.clone())))
}

/// A client for the host of an agent, whether or not one runs.
pub fn client(loaded: &Loaded) -> Option<Client> {
    Some(Client::new(state(loaded)?.socket(host_files::state::user_id())))
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
        if !local
            && let Some(client) = client(&loaded)
            && client.is_running().await
        {
            return Ok(Door::Joined(client));
        }
        let agent = Agent::open(loaded, options).await?;
        Ok(Door::Here(Box::new(agent)))
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
                let request = Request::Turn { turn, can_approve: true, can_operate: people.desk.is_some() };
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
        let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok();
        let terminated = async {
            match term.as_mut() {
                Some(term) => term.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated => {}
        }
        fired.cancel();
        let _ = tokio::signal::ctrl_c().await;
        std::process::exit(130);
    });
    cancel
}
