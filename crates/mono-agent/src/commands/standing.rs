//! Which processes of an agent are there, whether or not a host answers (ENG-9). The locks say who, the
//! supervisor's note says what it is at.

use crate::answer::Failure;
use host_app::StateFolder;
use host_sandbox::supervisor::{Holder, Phase, SeatError, SupervisorNote, last_note};
use host_vocab::{Code, Diagnostic, Kind};
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// The processes.
pub struct Standing {
    /// The supervisor.
    pub supervisor: Option<Holder>,
    /// The host.
    pub host: Option<Holder>,
    /// What the supervisor says; the last word of the last one where none lives.
    note: Option<SupervisorNote>,
    generation: u64,
}

/// How an agent is whose host does not answer: what `status --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Absent {
    ok: bool,
    running: bool,
    state: &'static str,
    supervisor: Option<u32>,
    pid: Option<u32>,
    starts_in_ms: Option<u64>,
    generation: u64,
    last_exit: Option<String>,
    crashes: u32,
    /// The same in words.
    pub reason: String,
}

impl Standing {
    /// Looks.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn of(state: &StateFolder) -> Result<Standing, Failure> {
        let seat = state.supervisor_seat();
        let supervisor = Holder::of(&seat).map_err(failed)?;
        let note = match &supervisor {
            Some(holder) => holder.note(),
            None => last_note(&seat),
        };
        let host = Holder::of(&state.host_seat()).map_err(failed)?;
        Ok(Standing { supervisor, host, note, generation: generation(state) })
    }

    /// Whether no process is there.
    pub fn is_none(&self) -> bool {
        self.supervisor.is_none() && self.host.is_none()
    }

    /// Whether its supervisor waits with the next start.
    pub fn waits(&self) -> bool {
        self.supervisor.is_some() && self.phase() == Some(Phase::Waiting)
    }

    fn phase(&self) -> Option<Phase> {
        self.note.as_ref().map(|it| it.phase)
    }

    /// The supervisor's process.
    pub fn supervisor_pid(&self) -> Option<u32> {
        self.supervisor.as_ref().and_then(Holder::pid)
    }

    /// The processes in words: `supervisor (process 1), host (process 2)`.
    pub fn processes(&self) -> String {
        let named = [("supervisor", &self.supervisor), ("host", &self.host)];
        let there = named.iter().filter_map(|(name, it)| it.as_ref().map(|it| (name, it.pid())));
        let words = there.map(|(name, pid)| format!("{name} (process {})", number(pid)));
        words.collect::<Vec<_>>().join(", ")
    }

    /// How the agent is, where its host does not answer.
    pub fn absent(&self) -> Absent {
        let note = self.note.as_ref();
        let last_exit = note.and_then(|it| it.last_exit.clone());
        let starts_in_ms = note.filter(|_| self.waits()).and_then(|it| it.next_start_ms).map(in_ms);
        let state = match (&self.supervisor, &self.host, self.phase()) {
            (Some(_), _, Some(Phase::Waiting)) => "waiting",
            (Some(_), _, Some(Phase::Stopping | Phase::Ended | Phase::GaveUp)) | (None, Some(_), _) => {
                "stopping"
            }
            (Some(_), _, _) => "starting",
            (None, None, _) => "not_running",
        };
        let facts =
            format!("generation {}, last exit: {}", self.generation, last_exit.as_deref().unwrap_or("none"));
        let reason = match (state, starts_in_ms) {
            ("waiting", Some(ms)) => {
                format!("the agent crashed; starting again in {} s ({facts})", ms.div_ceil(1000))
            }
            ("waiting", None) => format!("the agent crashed; starting again ({facts})"),
            ("stopping", _) => format!("the agent is stopping: {}", self.processes()),
            ("starting", _) => format!("the agent is starting: {}", self.processes()),
            _ => format!("the agent is not running{}", self.why_not()),
        };
        Absent {
            ok: false,
            running: false,
            state,
            supervisor: self.supervisor_pid(),
            pid: self.host.as_ref().and_then(Holder::pid),
            starts_in_ms,
            generation: self.generation,
            last_exit,
            crashes: note.map_or(0, |it| it.crashes),
            reason,
        }
    }

    /// Why a host that was there is not brought back, where it did not end in order.
    pub fn why_not(&self) -> String {
        let Some(note) = &self.note else { return String::new() };
        let last = note.last_exit.as_deref().unwrap_or("unknown");
        match note.phase {
            Phase::GaveUp => {
                format!(
                    "; it crashed {} times in a row (last exit: {last}), `mono-agent logs` says why",
                    note.crashes
                )
            }
            Phase::Ended if last != "exit code 0" => {
                format!("; its host ended with {last}, `mono-agent logs` says why")
            }
            _ => String::new(),
        }
    }

    /// Why another one is not started, where a supervisor is there.
    pub fn kept_already(&self) -> Option<Failure> {
        self.supervisor.as_ref()?;
        let who = self.processes();
        let message = if self.waits() {
            format!("this agent is already kept running by its {who}: {}", self.absent().reason)
        } else {
            format!("this agent is already running: {who}")
        };
        let found = Diagnostic::new(Kind::Environment, Code::new("already_running"), message);
        let found = match self.waits() {
            true => found.hint("`mono-agent restart` starts it at once, `mono-agent stop` ends it"),
            false => found.hint("`mono-agent status` shows it, `mono-agent restart` brings it back anew"),
        };
        Some(Failure::of(found))
    }
}

impl Absent {
    /// The same for people.
    pub fn text(&self) -> String {
        match self.state {
            "waiting" => format!(
                "{}\n`mono-agent restart` starts it at once, `mono-agent stop` ends its supervisor (process {})",
                self.reason,
                number(self.supervisor)
            ),
            _ => self.reason.clone(),
        }
    }
}

/// The number of the newest start of this agent's host; 0 = none that can be read.
pub fn generation(state: &StateFolder) -> u64 {
    let bytes = host_files::state::read_bounded(&state.generation(), 64).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().parse().unwrap_or(0)
}

/// A failure to look at or take a lock.
pub fn failed(error: SeatError) -> Failure {
    match &error {
        SeatError::Io { path, source } => {
            Failure::system(format!("{}: {}", path.display(), host_files::state::in_words(source)))
        }
        SeatError::Held { .. } => Failure::system(error),
    }
}

fn number(pid: Option<u32>) -> String {
    pid.map_or_else(|| "elsewhere".to_owned(), |pid| pid.to_string())
}

fn in_ms(at: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    at.saturating_sub(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}
