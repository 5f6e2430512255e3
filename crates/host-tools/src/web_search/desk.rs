//! Asks the chain: from the cache where it can, within the budget of the run, with care for engines that have
//! had enough.

use super::engine::{Answer, Engine, EngineError, Hit, SearchEngine};
use super::query::Wording;
use super::settings::WebSearchSettings;
use crate::web::flight::Flights;
use host_ports::http::{HttpError, Redirects};
use host_vocab::RunId;
use indexmap::IndexMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// The most answers that are kept.
const CACHED_MAX: usize = 256;
/// The most runs whose budgets are remembered; the oldest goes first.
const RUNS_MAX: usize = 1024;

/// Hits that may be shared.
type Hits = Arc<Vec<Hit>>;
/// An engine and what it was asked.
type Asked = (&'static str, Wording);

/// Everything that outlives a call.
pub(super) struct Desk {
    settings: WebSearchSettings,
    spent: Mutex<IndexMap<RunId, u32>>,
    cached: Mutex<IndexMap<Asked, (Instant, Hits)>>,
    engines: Vec<Manners>,
    public: Semaphore,
    flights: Flights<(RunId, &'static str, Wording), Result<Hits, Missing>>,
}

/// How an engine of the chain is treated.
struct Manners {
    engine: SearchEngine,
    cools_until: Mutex<Option<Instant>>,
    last: tokio::sync::Mutex<Option<Instant>>,
}

/// Why an engine gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Missing {
    /// The run has spent its requests.
    Budget,
    /// It refused, or is being left alone.
    RateLimited(String),
    /// It can't be had.
    Unavailable(String),
    /// The network policy refuses it.
    Denied(String),
}

/// What a wording came to.
pub(super) struct Found {
    /// What the first engine that answered says; `None` = none did.
    pub(super) hits: Option<Hits>,
    /// Those that gave nothing, with why.
    pub(super) missing: Vec<(&'static str, Missing)>,
    /// Who answered.
    pub(super) by: Option<&'static str>,
    /// Whether no request was needed.
    pub(super) cached: bool,
}

impl Desk {
    pub(super) fn new(settings: WebSearchSettings) -> Self {
        let engines = settings
            .chain
            .iter()
            .map(|engine| Manners {
                engine: engine.clone(),
                cools_until: Mutex::default(),
                last: Default::default(),
            })
            .collect();
        let public = Semaphore::new(settings.limits.public_at_a_time.max(1));
        Desk {
            settings,
            spent: Mutex::default(),
            cached: Mutex::default(),
            engines,
            public,
            flights: Flights::default(),
        }
    }

    /// How many requests a run may send.
    pub(super) fn budget(&self) -> u32 {
        self.settings.requests_per_run_max
    }

    /// How many requests a run has sent.
    pub(super) fn spent(&self, run: &RunId) -> u32 {
        lock(&self.spent).get(run).copied().unwrap_or(0)
    }

    /// How long a whole call may take.
    pub(super) fn total(&self) -> Duration {
        self.settings.limits.total
    }

    /// Asks one engine after the other until one answers.
    pub(super) async fn find(&self, run: &RunId, wording: &Wording) -> Found {
        let mut found = Found { hits: None, missing: Vec::new(), by: None, cached: false };
        for manners in &self.engines {
            let name = manners.engine.0.name();
            if let Some(hits) = self.cached(name, wording) {
                return Found { hits: Some(hits), by: Some(name), cached: true, ..found };
            }
            if let Some(left) = manners.cooling() {
                let why = format!("left alone for {} s after it had enough", left.as_secs() + 1);
                found.missing.push((name, Missing::RateLimited(why)));
                continue;
            }
            let key = (run.clone(), name, wording.clone());
            match self.flights.share(&key, self.ask(run, manners, wording)).await {
                Ok(hits) => return Found { hits: Some(hits), by: Some(name), ..found },
                Err(missing) => {
                    let is_budget = missing == Missing::Budget;
                    found.missing.push((name, missing));
                    if is_budget {
                        return found;
                    }
                }
            }
        }
        found
    }

    async fn ask(&self, run: &RunId, manners: &Manners, wording: &Wording) -> Result<Hits, Missing> {
        let engine = manners.engine.0.as_ref();
        self.spend(run)?;
        let answer = if engine.is_public() {
            let _place = self.public.acquire().await;
            // Held only while waiting for the turn, so that slow answers don't queue up behind one another.
            {
                let mut last = manners.last.lock().await;
                if let Some(before) = *last {
                    tokio::time::sleep_until(before + self.settings.limits.pace).await;
                }
                *last = Some(Instant::now());
            }
            self.exchange(engine, wording).await
        } else {
            self.exchange(engine, wording).await
        };
        match answer {
            Ok(hits) => {
                let hits = Arc::new(hits);
                self.cache(engine.name(), wording, &hits);
                Ok(hits)
            }
            Err(missing) => {
                if matches!(missing, Missing::RateLimited(_)) {
                    *lock(&manners.cools_until) = Some(Instant::now() + self.settings.limits.cool_down);
                }
                Err(missing)
            }
        }
    }

    /// Counts a request of a run, before it is sent.
    fn spend(&self, run: &RunId) -> Result<(), Missing> {
        let mut spent = lock(&self.spent);
        if !spent.contains_key(run) && spent.len() >= RUNS_MAX {
            spent.shift_remove_index(0);
        }
        let count = spent.entry(run.clone()).or_insert(0);
        if *count >= self.settings.requests_per_run_max {
            return Err(Missing::Budget);
        }
        *count += 1;
        Ok(())
    }

    async fn exchange(&self, engine: &dyn Engine, wording: &Wording) -> Result<Vec<Hit>, Missing> {
        let limits = &self.settings.limits;
        let has_others = self.engines.len() > 1;
        let time = if has_others && !engine.is_public() { limits.local_request } else { limits.request };
        let mut request = engine.request(wording);
        request.head_timeout = time;
        request.idle_timeout = Some(time);
        request.redirects = Redirects::Return;
        let work = async {
            let response = engine.http().send(request).await?;
            let status = response.status;
            let body = response.read_bounded(limits.answer_bytes_max).await?;
            Ok::<_, HttpError>((status, body))
        };
        let (status, body) = match tokio::time::timeout(time, work).await {
            Err(_) => return Err(Missing::Unavailable(format!("no answer within {time:?}"))),
            Ok(Err(error)) => return Err(unreachable(&error)),
            Ok(Ok(done)) => done,
        };
        if body.cut {
            let why = format!("its answer is larger than {} bytes", limits.answer_bytes_max);
            return Err(Missing::Unavailable(why));
        }
        engine.read(&Answer { status, body: &body.bytes }).map_err(|error| match error {
            EngineError::RateLimited(why) => Missing::RateLimited(why),
            EngineError::Unavailable(why) => Missing::Unavailable(why),
        })
    }

    fn cached(&self, engine: &'static str, wording: &Wording) -> Option<Hits> {
        let mut cached = lock(&self.cached);
        let key = (engine, wording.clone());
        let (since, hits) = cached.get(&key)?;
        if since.elapsed() < self.settings.limits.cache {
            return Some(Arc::clone(hits));
        }
        cached.shift_remove(&key);
        None
    }

    fn cache(&self, engine: &'static str, wording: &Wording, hits: &Hits) {
        let mut cached = lock(&self.cached);
        let key = (engine, wording.clone());
        cached.shift_remove(&key);
        if cached.len() >= CACHED_MAX {
            cached.shift_remove_index(0);
        }
        cached.insert(key, (Instant::now(), Arc::clone(hits)));
    }
}

impl Manners {
    /// How long it is still left alone.
    fn cooling(&self) -> Option<Duration> {
        let until = (*lock(&self.cools_until))?;
        until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }
}

fn unreachable(error: &HttpError) -> Missing {
    match error {
        HttpError::Denied { why, .. } => Missing::Denied(why.clone()),
        HttpError::Timeout { after, .. } => Missing::Unavailable(format!("no answer within {after:?}")),
        HttpError::Connect { .. } => Missing::Unavailable("no connection".to_owned()),
        HttpError::Broken { .. } => Missing::Unavailable("the connection broke".to_owned()),
        HttpError::RedirectRefused { .. } => Missing::RateLimited("it sends to another page".to_owned()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
