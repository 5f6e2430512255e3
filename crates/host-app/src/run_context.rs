//! What a run lends to the servers that are listed for it, and taking it back (CTX-1 to CTX-4).

use crate::state::StateFolder;
use host_files::run_output::{RunOutput, sweep};
use host_http::{ProgressBridge, ProgressLedger, ProgressPost};
use host_mcp::{McpPool, RunContexts, RunLoan, context_names as names};
use host_ports::spawn::OwnFolder;
use host_redact::Redactor;
use host_run::{EventSink, RunEvent};
use host_surface::RunFacts;
use host_turn::Attachment;
use host_vocab::{RunId, text};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;

/// How much of a post's words is passed on, in characters.
const MESSAGE_CHARS_MAX: usize = 300;
/// How long the end of a process waits for runs to take back what they lent.
const SETTLE_MAX: Duration = Duration::from_secs(10);

/// Everything that runs of an agent lend right now.
pub(crate) struct Loans {
    /// Whether any server is listed; else nothing is ever made.
    listed: bool,
    outbound: PathBuf,
    attachments: PathBuf,
    lent: Mutex<HashMap<RunId, Result<RunLoan, String>>>,
    ledger: Arc<Ledger>,
    bridge: OnceCell<Option<ProgressBridge>>,
    ending: TaskTracker,
}

impl Loans {
    pub(crate) fn new(listed: bool, state: &StateFolder, redactor: Arc<Redactor>) -> Arc<Self> {
        Arc::new(Loans {
            listed,
            outbound: state.outbound(),
            attachments: state.attachments(),
            lent: Mutex::default(),
            ledger: Arc::new(Ledger { bearers: Mutex::default(), redactor }),
            bridge: OnceCell::new(),
            ending: TaskTracker::new(),
        })
    }

    /// Lends a run what is its own. `None` = no server is listed. What can't be made is told to the servers'
    /// source, which withholds them.
    pub(crate) async fn lend(
        self: &Arc<Self>,
        facts: &RunFacts,
        attachments: &[Attachment],
        events: EventSink,
        pool: &Arc<McpPool>,
    ) -> Option<Loan> {
        if !self.listed {
            return None;
        }
        let mut loan = Loan {
            loans: Arc::clone(self),
            pool: Arc::clone(pool),
            run: facts.run.clone(),
            bearer: None,
            output: None,
        };
        let made = self.make(facts, attachments, events, &mut loan).await;
        self.lent.lock().unwrap_or_else(PoisonError::into_inner).insert(facts.run.clone(), made);
        Some(loan)
    }

    async fn make(
        &self,
        facts: &RunFacts,
        attachments: &[Attachment],
        events: EventSink,
        loan: &mut Loan,
    ) -> Result<RunLoan, String> {
        let (outbound, run) = (self.outbound.clone(), facts.run.to_string());
        let made = tokio::task::spawn_blocking(move || RunOutput::create(&outbound, &run)).await;
        let output = made.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let path = output.path().to_owned();
        loan.output = Some(output);
        let mut env = BTreeMap::new();
        let mut put = |name: &str, value: String| env.insert(name.to_owned(), value);
        put(names::CONVERSATION, facts.conversation.to_string());
        put(names::RUN, facts.run.to_string());
        put(names::OUTPUT_DIR, path.display().to_string());
        put(names::ATTACHMENTS_ROOT, host_files::state::real(&self.attachments).display().to_string());
        let paths: Vec<&str> = attachments.iter().map(|it| it.path.as_str()).collect();
        put(names::ALLOWED_PATHS, json!(paths).to_string());
        let identities: Vec<_> =
            attachments.iter().map(|it| json!({"path": it.path, "dev": it.dev, "ino": it.ino})).collect();
        put(names::ALLOWED_IDENTITIES, json!(identities).to_string());
        if let Some(bridge) = self.bridge().await {
            match self.ledger.open(&facts.run, events) {
                Ok(bearer) => {
                    put(names::PROGRESS_URL, bridge.url());
                    put(names::PROGRESS_TOKEN, bearer.clone());
                    loan.bearer = Some(bearer);
                }
                Err(error) => tracing::warn!(%error, "no bearer for progress could be made"),
            }
        }
        let mut folders = vec![OwnFolder { path, writable: true }];
        let saved = attachments.iter().filter_map(|it| Path::new(&it.path).parent());
        for folder in saved.filter(|it| it.starts_with(&self.attachments)) {
            if !folders.iter().any(|known| known.path == folder) {
                folders.push(OwnFolder { path: folder.to_owned(), writable: false });
            }
        }
        Ok(RunLoan { env, folders })
    }

    /// The loopback address, opened with the first run that lends it.
    async fn bridge(&self) -> Option<&ProgressBridge> {
        let start = || async {
            ProgressBridge::start(Arc::clone(&self.ledger) as _)
                .await
                .inspect_err(|error| tracing::warn!(%error, "no address for progress could be opened"))
                .ok()
        };
        self.bridge.get_or_init(start).await.as_ref()
    }

    /// Takes away what killed processes left.
    pub(crate) async fn sweep(&self) {
        if self.listed {
            let outbound = self.outbound.clone();
            let swept = tokio::task::spawn_blocking(move || sweep(&outbound)).await.unwrap_or(0);
            if swept > 0 {
                tracing::info!(swept, "output folders of runs whose process is gone were removed");
            }
        }
    }

    /// Waits, for a bounded time, until everything that was lent is back.
    pub(crate) async fn settle(&self) {
        self.ending.close();
        if tokio::time::timeout(SETTLE_MAX, self.ending.wait()).await.is_err() {
            tracing::warn!("some output folders of runs were not removed in time");
        }
    }
}

impl RunContexts for Loans {
    fn of(&self, run: &RunId) -> Result<Option<RunLoan>, String> {
        match self.lent.lock().unwrap_or_else(PoisonError::into_inner).get(run) {
            Some(made) => made.clone().map(Some),
            None => Ok(None),
        }
    }
}

/// What one run has lent. It is taken back when the run has settled: the bearer first, then the servers, and last
/// the very folder that was made. Dropping it does the same in the background.
pub(crate) struct Loan {
    loans: Arc<Loans>,
    pool: Arc<McpPool>,
    run: RunId,
    bearer: Option<String>,
    output: Option<RunOutput>,
}

impl Loan {
    /// Takes everything back.
    pub(crate) async fn end(mut self) {
        if let Some(task) = self.begin_end() {
            let _ = task.await;
        }
    }

    /// The end as a task of its own, so that nobody's dropped future cuts it short.
    fn begin_end(&mut self) -> Option<tokio::task::JoinHandle<()>> {
        let bearer = self.bearer.take();
        if let Some(bearer) = &bearer {
            self.loans.ledger.close(bearer);
        }
        let lent = self.loans.lent.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.run);
        let _held = lent?;
        let (pool, run, output) = (Arc::clone(&self.pool), self.run.clone(), self.output.take());
        let ends = async move {
            pool.end_run(&run).await;
            let Some(output) = output else { return };
            let path = output.path().to_owned();
            let gone = tokio::task::spawn_blocking(move || output.remove()).await.unwrap_or(false);
            if !gone {
                tracing::warn!(path = %path.display(), "a run's output folder could not be removed");
            }
        };
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        Some(self.loans.ending.spawn_on(ends, &runtime))
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let _ = self.begin_end();
    }
}

/// Bearers by their digest, so that a look-up tells nothing by its time.
struct Ledger {
    bearers: Mutex<HashMap<[u8; 32], EventSink>>,
    redactor: Arc<Redactor>,
}

impl Ledger {
    fn open(&self, run: &RunId, events: EventSink) -> Result<String, getrandom::Error> {
        let mut bytes = [0_u8; 24];
        getrandom::fill(&mut bytes)?;
        let bearer = format!("{run}.{}", text::hex(&bytes));
        self.map().insert(digest(&bearer), events);
        Ok(bearer)
    }

    fn close(&self, bearer: &str) {
        self.map().remove(&digest(bearer));
    }

    fn map(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], EventSink>> {
        self.bearers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(bearer: &str) -> [u8; 32] {
    Sha256::digest(bearer.as_bytes()).into()
}

impl ProgressLedger for Ledger {
    fn knows(&self, bearer: &str) -> bool {
        self.map().contains_key(&digest(bearer))
    }

    fn take(&self, bearer: &str, post: ProgressPost) -> bool {
        let map = self.map();
        let Some(events) = map.get(&digest(bearer)) else { return false };
        let shown = |words: &str, max| text::one_line(&self.redactor.text(words).into_inner(), max);
        events.send(RunEvent::Status {
            key: shown(&post.key, 80),
            message: shown(&post.message, MESSAGE_CHARS_MAX),
            state: match post.state.as_str() {
                "done" | "failed" => post.state.clone(),
                _ => "working".to_owned(),
            },
        });
        true
    }
}
