//! One server's life: configured → discovered → connected → degraded → quarantined.
//!
//! There is at most one connection and one attempt at a time, whoever asks. Failures are counted until a call
//! works again, so that a server that connects and dies is slowed down like one that never starts.

mod memory;
mod upkeep;

use crate::ask::{Ask, Request};
use crate::cache::{DefinitionCache, now_ms};
use crate::config::{McpServerConfig, McpTransport};
use crate::connection::{CallBounds, Connection};
use crate::definition::{Definitions, Route};
use crate::elicitation::Asker;
use crate::fault::{CallFault, ConnectError, HttpFault};
use crate::lifecycle::{Attempt, Ports, establish};
use crate::pool::Refresh;
use crate::run_context::{self, RunLoan};
use crate::stderr::Tail;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use host_ports::CancellationToken;
use host_surface::CallContext;
use serde_json::Value;
use serde_json::value::RawValue;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::Instant;

/// Failures in a row after which a server is left alone for long.
const FAILURES_MAX: u32 = 3;
/// How long it is left alone then.
const QUARANTINE: Duration = Duration::from_secs(300);
/// How long a refused credential is not tried again.
const REFUSAL_PAUSE: Duration = Duration::from_secs(60);
const BACK_OFF_FIRST: Duration = Duration::from_millis(500);
const BACK_OFF_MAX: Duration = Duration::from_secs(60);
/// How long a call waits for the end of a back-off instead of failing.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a run waits for a server that failed before.
const RETRY_WAIT: Duration = Duration::from_secs(3);
/// How often an idle connection is looked at.
const IDLE_TICK: Duration = Duration::from_secs(15);

type Connecting = Shared<BoxFuture<'static, Result<Arc<Connection>, ConnectError>>>;

/// One declared server with what is known of it.
pub(crate) struct Server {
    pub(crate) config: McpServerConfig,
    ports: Ports,
    cache: Option<Arc<dyn DefinitionCache>>,
    refresh: Refresh,
    idle_close: Duration,
    digest: String,
    stop: CancellationToken,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    live: Option<Arc<Connection>>,
    connecting: Option<Connecting>,
    known: Option<Known>,
    cache_read: bool,
    refreshed: bool,
    failures: u32,
    start_failed: bool,
    last_error: Option<ConnectError>,
    next_try: Option<Instant>,
    starts: u32,
    stderr: Option<Tail>,
}

#[derive(Clone)]
struct Known {
    definitions: Arc<Definitions>,
    /// When it was read from the server, in Unix milliseconds, where that was in another process.
    cached_at: Option<i64>,
}

/// What can be done about a connection right now.
enum Step {
    Live(Arc<Connection>),
    Wait(Connecting),
    NotYet(ConnectError, Duration),
}

/// Why a call was not made, or came to nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallEnd {
    /// There is no connection; nothing was sent.
    Unavailable(ConnectError),
    /// The server has no such tool any more; nothing was sent.
    Gone,
    /// The tool takes other arguments than it did when the run began; nothing was sent.
    Changed,
    /// The connection went away with the call in flight.
    Lost(ConnectError),
    /// It was sent, and this came of it.
    Fault(CallFault),
}

/// A snapshot for status.
pub(crate) struct Snapshot {
    pub(crate) definitions: Option<Arc<Definitions>>,
    pub(crate) cached: bool,
    pub(crate) connected: bool,
    pub(crate) quarantined: bool,
    pub(crate) failures: u32,
    pub(crate) error: Option<ConnectError>,
    pub(crate) starts: u32,
    pub(crate) pid: Option<u32>,
    pub(crate) noise: u64,
    pub(crate) stderr_tail: String,
}

impl Server {
    pub(crate) fn new(
        config: McpServerConfig,
        ports: Ports,
        cache: Option<Arc<dyn DefinitionCache>>,
        refresh: Refresh,
        idle_close: Duration,
    ) -> Arc<Self> {
        let digest = config.digest();
        Arc::new(Server {
            config,
            ports,
            cache,
            refresh,
            idle_close,
            digest,
            stop: CancellationToken::new(),
            state: Mutex::default(),
        })
    }

    /// The same server for one run alone, with what the run lends in place of the overlay. Its definitions are
    /// the shared one's, as far as they are known.
    pub(crate) fn for_run(self: &Arc<Self>, loan: &RunLoan) -> Arc<Self> {
        let mut ports = self.ports.clone();
        let mut values = run_context::overlay(Some(loan));
        std::mem::swap(Arc::make_mut(&mut ports.overlay), &mut values);
        ports.lent = loan.folders.clone().into();
        let cache = self.cache.clone();
        let server = Server::new(self.config.clone(), ports, cache, Refresh::Never, self.idle_close);
        server.state().known.clone_from(&self.state().known);
        server
    }

    /// Takes over what a run's own server went through: whether it works, and what it has.
    pub(crate) fn learn(&self, of_run: &Server) {
        let (theirs, mut state) = (of_run.state(), self.state());
        state.starts += theirs.starts;
        if theirs.starts == 0 {
            return;
        }
        state.stderr.clone_from(&theirs.stderr);
        if theirs.known.is_some() {
            state.known.clone_from(&theirs.known);
        }
        state.start_failed = theirs.start_failed;
        state.last_error.clone_from(&theirs.last_error);
        state.next_try = theirs.next_try;
        state.failures = if theirs.failures == 0 { 0 } else { state.failures + theirs.failures };
        if state.failures >= FAILURES_MAX && theirs.failures > 0 {
            state.next_try = Some(Instant::now() + QUARANTINE);
        }
    }

    /// Why it is left alone right now, if it is.
    pub(crate) fn left_alone(&self) -> Option<ConnectError> {
        let state = self.state();
        let wait = state.next_try?.checked_duration_since(Instant::now())?;
        let cause = Box::new(state.last_error.clone()?);
        if wait.is_zero() || state.failures == 0 {
            return None;
        }
        Some(match state.failures {
            FAILURES_MAX.. => ConnectError::Quarantined { cause, failures: state.failures },
            _ => ConnectError::BackOff { cause, wait },
        })
    }

    /// What is known of the server: from this process, else from the cache, else by connecting. Waits at most
    /// the entry's `timeout`.
    ///
    /// # Errors
    /// Why nothing can be known right now.
    pub(crate) async fn definitions(self: &Arc<Self>) -> Result<Arc<Definitions>, ConnectError> {
        self.read_cache().await;
        let (known, failed) = {
            let state = self.state();
            (state.known.clone(), state.start_failed)
        };
        if failed {
            self.once_more().await?;
        }
        let Some(known) = known.filter(|_| !failed) else {
            self.connection(Duration::ZERO).await?;
            return self.known().ok_or_else(|| ConnectError::Protocol("nothing is known of it".to_owned()));
        };
        let Some(at) = known.cached_at else {
            self.freshen();
            return Ok(known.definitions);
        };
        match self.refresh {
            Refresh::Blocking => {
                self.connection(Duration::ZERO).await?;
                Ok(self.known().unwrap_or(known.definitions))
            }
            Refresh::Background { older_than } => {
                let age = Duration::from_millis(u64::try_from(now_ms() - at).unwrap_or(u64::MAX));
                if age >= older_than && !std::mem::replace(&mut self.state().refreshed, true) {
                    let _ = self.step();
                }
                Ok(known.definitions)
            }
            Refresh::Never => Ok(known.definitions),
        }
    }

    /// Reads the list anew behind the run's back where its time to live is over; the next run has it (MCP-13).
    fn freshen(self: &Arc<Self>) {
        let live = self.state().live.clone();
        if let Some(live) = live.filter(|live| live.is_open() && live.list_is_stale()) {
            let this = Arc::clone(self);
            tokio::spawn(async move { this.relist(&live).await });
        }
    }

    /// Another try for a server that failed before: no run waits for it as long as the first one did. The try
    /// goes on behind the run's back.
    async fn once_more(self: &Arc<Self>) -> Result<(), ConnectError> {
        match tokio::time::timeout(RETRY_WAIT.min(self.config.timeout), self.connection(Duration::ZERO)).await
        {
            Ok(result) => result.map(|_| ()),
            Err(_) => Err(self.state().last_error.clone().unwrap_or(ConnectError::Stopped)),
        }
    }

    /// Calls a tool, or asks for something else. It is sent at most once; a connection that is found dead before is made anew.
    ///
    /// # Errors
    /// See [`CallEnd`].
    pub(crate) async fn call(
        self: &Arc<Self>,
        request: &Request,
        schema: Option<&Value>,
    ) -> Result<Box<RawValue>, CallEnd> {
        let mut tries = 0;
        loop {
            tries += 1;
            let connection = tokio::select! {
                connection = self.connection(PATIENCE) => connection.map_err(CallEnd::Unavailable)?,
                () = request.cancel.cancelled() => return Err(CallEnd::Unavailable(ConnectError::Stopped)),
            };
            if tries < 3 && connection.is_stuck().await {
                tracing::warn!(server = %self.config.name, "a server that ignores a cancellation is restarted");
                self.retire(&connection);
                continue;
            }
            if let (Ask::Tool { remote, .. }, Some(schema)) = (&request.ask, schema) {
                self.check(remote, schema)?;
            }
            let bounds = CallBounds {
                timeout: self.config.timeout,
                total: self.config.call_total_max.max(self.config.timeout),
                reset_on_progress: self.config.reset_timeout_on_progress,
            };
            let end = connection.call(request, bounds).await;
            match &end {
                Err(CallFault::NotSent) if tries < 3 => {
                    self.retire(&connection);
                    continue;
                }
                Ok(_) | Err(CallFault::Rpc { .. }) => self.worked(),
                Err(CallFault::Http(fault)) => self.failed_http(&connection, fault),
                Err(CallFault::Lost) => {
                    if connection.child.is_some() {
                        self.lost(&connection).await;
                    }
                    return Err(CallEnd::Lost(self.how_it_went(&connection).await));
                }
                Err(_) => {}
            }
            return end.map_err(|fault| match fault {
                CallFault::NotSent => CallEnd::Unavailable(ConnectError::Http(HttpFault::Closed)),
                fault => CallEnd::Fault(fault),
            });
        }
    }

    /// A tool is only called as the run knows it (T4-11): arguments were checked, and approved, for that.
    fn check(&self, remote: &str, schema: &Value) -> Result<(), CallEnd> {
        let Some(definitions) = self.known() else { return Ok(()) };
        match definitions.tool(remote) {
            None => Err(CallEnd::Gone),
            Some(tool) if *tool.input_schema != *schema => Err(CallEnd::Changed),
            Some(_) => Ok(()),
        }
    }

    /// The connection, made if need be. Waits for a running attempt, and for the end of a back-off if that is
    /// within `patience`.
    pub(crate) async fn connection(
        self: &Arc<Self>,
        patience: Duration,
    ) -> Result<Arc<Connection>, ConnectError> {
        let give_up = Instant::now() + patience;
        loop {
            match self.step() {
                Step::Live(connection) => return Ok(connection),
                Step::Wait(connecting) => return connecting.await,
                Step::NotYet(error, wait) if Instant::now() + wait > give_up => return Err(error),
                Step::NotYet(_, wait) => tokio::time::sleep(wait).await,
            }
        }
    }

    fn step(self: &Arc<Self>) -> Step {
        let mut state = self.state();
        if let Some(live) = state.live.as_ref().filter(|live| live.is_open()) {
            return Step::Live(Arc::clone(live));
        }
        if let Some(connecting) = &state.connecting {
            return Step::Wait(connecting.clone());
        }
        if self.stop.is_cancelled() {
            return Step::NotYet(ConnectError::Stopped, Duration::MAX / 4);
        }
        let now = Instant::now();
        if let Some(next_try) = state.next_try.filter(|next| *next > now) {
            let wait = next_try - now;
            let cause = Box::new(state.last_error.clone().unwrap_or(ConnectError::Stopped));
            let error = if state.failures >= FAILURES_MAX {
                ConnectError::Quarantined { cause, failures: state.failures }
            } else {
                ConnectError::BackOff { cause, wait }
            };
            return Step::NotYet(error, wait);
        }
        state.starts += 1;
        let this = Arc::clone(self);
        let task = tokio::spawn(async move { this.attempt().await });
        let connecting = async move { task.await.unwrap_or(Err(ConnectError::Stopped)) }.boxed().shared();
        state.connecting = Some(connecting.clone());
        Step::Wait(connecting)
    }

    async fn attempt(self: Arc<Self>) -> Result<Arc<Connection>, ConnectError> {
        self.read_cache().await;
        let route = self.known().map(|definitions| definitions.route);
        let result = self.try_once(route).await;
        let (result, stderr) = result;
        let (connection, definitions) = match result {
            Ok(done) => done,
            Err(error) => {
                let shown = self.shown(&error);
                tracing::warn!(server = %self.config.name, error = %shown, "an MCP server could not be connected to");
                let mut state = self.state();
                state.connecting = None;
                state.stderr = Some(stderr);
                state.start_failed = true;
                self.count_failure(&mut state, error.clone(), false);
                return Err(error);
            }
        };
        let connection = Arc::new(connection);
        let changed = self.adopt(&definitions);
        {
            let mut state = self.state();
            state.connecting = None;
            state.stderr = Some(stderr);
            state.start_failed = false;
            state.refreshed = true;
            state.live = Some(Arc::clone(&connection));
        }
        tokio::spawn(upkeep::watch(
            Arc::downgrade(&self),
            Arc::clone(&connection),
            self.stop.clone(),
            self.idle_close,
        ));
        if changed {
            self.write_cache(definitions).await;
        }
        Ok(connection)
    }

    /// One attempt under the entry's bound.
    async fn try_once(
        &self,
        route: Option<Route>,
    ) -> (Result<(Connection, Definitions), ConnectError>, Tail) {
        let attempt = Attempt::default();
        let result = tokio::select! {
            result = tokio::time::timeout(
                self.config.timeout,
                establish(&self.config, &self.ports, route, &attempt),
            ) => result.unwrap_or_else(|_| Err(attempt.timed_out(self.config.timeout))),
            () = self.stop.cancelled() => Err(ConnectError::Stopped),
        };
        (result, attempt.stderr())
    }

    /// Connects apart from everything else, lists, and closes: for `mcp test`. A success ends a quarantine.
    pub(crate) async fn test(&self) -> (Result<Definitions, ConnectError>, u64, String) {
        let (result, stderr) = self.try_once(None).await;
        match result {
            Ok((connection, definitions)) => {
                let noise = connection.noise();
                connection.close().await;
                let mut state = self.state();
                state.failures = 0;
                state.next_try = None;
                state.start_failed = false;
                state.last_error = None;
                (Ok(definitions), noise, stderr.text())
            }
            Err(error) => (Err(error), 0, stderr.text()),
        }
    }

    fn worked(&self) {
        let mut state = self.state();
        state.failures = 0;
        state.next_try = None;
        state.last_error = None;
    }

    fn count_failure(&self, state: &mut State, error: ConnectError, was_running: bool) {
        if error == ConnectError::Stopped {
            return;
        }
        state.failures += 1;
        let wait = if error.is_refusal() {
            REFUSAL_PAUSE
        } else if state.failures >= FAILURES_MAX {
            QUARANTINE
        } else if was_running && state.failures == 1 {
            Duration::ZERO
        } else {
            back_off(state.failures)
        };
        state.last_error = Some(error);
        state.next_try = Some(Instant::now() + wait);
    }

    /// Why it can't be used right now; `None` = it can, or nobody tried.
    pub(crate) fn down(&self) -> Option<ConnectError> {
        let state = self.state();
        if state.start_failed { state.last_error.clone() } else { None }
    }

    /// What is known right now.
    pub(crate) fn known(&self) -> Option<Arc<Definitions>> {
        self.state().known.as_ref().map(|known| Arc::clone(&known.definitions))
    }

    /// Ends everything that runs for it. Bounded by the transport's graces.
    pub(crate) async fn shutdown(&self) {
        self.stop.cancel();
        let (live, connecting) = {
            let mut state = self.state();
            (state.live.take(), state.connecting.take())
        };
        if let Some(live) = live {
            live.close().await;
        }
        if let Some(connecting) = connecting
            && let Ok(connection) = connecting.await
        {
            self.state().live = None;
            connection.close().await;
        }
    }

    /// Everything for status.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let state = self.state();
        let live = state.live.as_ref().filter(|live| live.is_open());
        let waits = state.next_try.is_some_and(|next| next > Instant::now());
        Snapshot {
            definitions: state.known.as_ref().map(|known| Arc::clone(&known.definitions)),
            cached: state.known.as_ref().is_some_and(|known| known.cached_at.is_some()),
            connected: live.is_some(),
            quarantined: live.is_none() && state.failures >= FAILURES_MAX && waits,
            failures: state.failures,
            error: state.last_error.clone(),
            starts: state.starts,
            pid: live.and_then(|live| live.child.as_ref()).map(|child| child.pid),
            noise: live.map_or(0, |live| live.noise()),
            stderr_tail: state.stderr.as_ref().map(Tail::text).unwrap_or_default(),
        }
    }

    /// Who answers the server during a call.
    pub(crate) fn asker(&self, context: &CallContext) -> Asker {
        let roots = Arc::clone(&self.ports.roots);
        let asker = Asker::new(self.ports.elicit.clone(), self.config.name.clone(), roots, context.clone());
        asker.with_model(self.ports.model.clone().filter(|_| self.config.sampling))
    }

    /// An error in words that may be shown and written.
    pub(crate) fn shown(&self, error: &ConnectError) -> String {
        self.ports.redactor.text(&error.to_string()).into_inner()
    }

    /// `stdio` or `http`.
    pub(crate) fn transport(&self) -> &'static str {
        match self.config.transport {
            McpTransport::Stdio(_) => "stdio",
            McpTransport::Http(_) => "http",
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Doubled for each failure, with a fifth of jitter either way.
fn back_off(failures: u32) -> Duration {
    let doubled = BACK_OFF_FIRST.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(BACK_OFF_MAX);
    let jitter = u32::try_from(RandomState::new().hash_one(failures) % 401).unwrap_or(200);
    doubled * (800 + jitter) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_back_off_doubles_within_its_bounds() {
        for failures in 1..40 {
            let plain = BACK_OFF_FIRST.saturating_mul(1 << (failures - 1).min(16)).min(BACK_OFF_MAX);
            let wait = back_off(failures);
            assert!(wait >= plain * 8 / 10 && wait <= plain * 12 / 10, "{failures}: {wait:?}");
        }
    }
}
