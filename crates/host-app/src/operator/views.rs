//! What an owner may look at while the agent runs: its past, its memory, its settings.

use crate::agent::{Agent, Home};
use crate::archive::DecisionQuery;
use crate::memory::OfficeError;
use crate::standing::StandingRule;
use host_event::Fact;
use host_history::report::{By, ReportQuery};
use host_history::{HistoryError, RunListing, ScopeFilter};
use host_vocab::ConversationId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Among how many of the newest facts days are looked for.
const DAYS_FACTS_MAX: usize = 1_000;

/// One look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "view", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum View {
    /// Runs, newest first; with a query those that carry its words.
    Runs {
        /// Words.
        #[serde(default)]
        query: Option<String>,
        /// `running`, `succeeded`, `failed`, `cancelled`, `interrupted`.
        #[serde(default)]
        status: Option<String>,
        /// Only of this conversation.
        #[serde(default)]
        conversation: Option<ConversationId>,
        /// How many, 1 to 100.
        limit: usize,
        /// Where to go on.
        #[serde(default)]
        cursor: Option<String>,
    },
    /// One run, with a page of its timeline.
    Run {
        /// Which.
        run: String,
        /// How many entries, 1 to 100.
        limit: usize,
        /// Where to go on.
        #[serde(default)]
        cursor: Option<String>,
    },
    /// One call of a run, whole: arguments, result, who let it through.
    Call {
        /// The run.
        run: String,
        /// The call, as its events name it.
        call: String,
    },
    /// Rates, durations and cost.
    Report {
        /// From when, in Unix milliseconds.
        #[serde(default)]
        since_ms: Option<i64>,
        /// Up to when.
        #[serde(default)]
        until_ms: Option<i64>,
        /// `model`, `channel` or `failureKind`.
        #[serde(default)]
        by: Option<String>,
    },
    /// The gate's decisions, newest first.
    Decisions {
        /// Only of this run.
        #[serde(default)]
        run: Option<String>,
        /// Only about this tool.
        #[serde(default)]
        tool: Option<String>,
        /// How many, 1 to 100.
        limit: usize,
        /// Where to go on.
        #[serde(default)]
        cursor: Option<String>,
    },
    /// What is in the log, and what of it is odd. Reads all of it.
    AuditRuns,
    /// The notes of one day; none = today's.
    MemoryDay {
        /// `YYYY-MM-DD`.
        #[serde(default)]
        date: Option<String>,
    },
    /// The days that have facts, among the newest 1,000.
    MemoryDays,
    /// The newest facts.
    MemoryTop {
        /// How many.
        limit: usize,
    },
    /// Facts that fit words.
    MemorySearch {
        /// The words.
        query: String,
        /// How many.
        limit: usize,
    },
    /// How much there is.
    MemoryStats,
    /// Every setting with its value and where it comes from; secrets as set or unset.
    Settings,
    /// What people allowed from now on (TOO-9).
    Approvals,
    /// Takes one of them back.
    RevokeApproval {
        /// Which.
        id: String,
    },
    /// Where this agent's published files are.
    ReplyFolder,
    /// The declared servers: states, those that can't be used, those that are switched off.
    Servers,
}

/// Why a look gave nothing: a code, and words for people.
pub(crate) type NoView = (String, String);

impl Agent {
    /// Shows something to the owner.
    pub(crate) async fn look(&self, view: View) -> Result<Value, NoView> {
        let no_home = || ("no_folder".to_owned(), "this agent lives in no folder".to_owned());
        if self.inner.home.is_none() {
            return Err(no_home());
        }
        match view {
            View::MemorySearch { query, limit } => {
                let home = self.inner.home.as_ref().ok_or_else(no_home)?;
                let found = home.office.search(&query, limit).await.map_err(office)?;
                Ok(json!({"untrusted": true, "hits": found.hits, "degraded": found.degraded}))
            }
            view => {
                let inner = Arc::clone(&self.inner);
                let looked = tokio::task::spawn_blocking(move || {
                    inner.home.as_ref().map_or_else(|| Err(no_home()), |home| look(&inner, home, view))
                });
                looked
                    .await
                    .unwrap_or_else(|_| Err(("internal_error".to_owned(), "the view broke".to_owned())))
            }
        }
    }
}

fn look(inner: &crate::agent::Inner, home: &Home, view: View) -> Result<Value, NoView> {
    let archive = &home.archive;
    match view {
        View::Runs { query, status, conversation, limit, cursor } => {
            archive.catch_up().map_err(|error| history(error.into()))?;
            let scope = conversation.map(|id| archive.scope_of(&id));
            let listing = RunListing { scope, status, limit, cursor };
            let page = match query.filter(|query| !query.trim().is_empty()) {
                Some(query) => archive.views().search(&query, &listing),
                None => archive.views().list(&listing),
            };
            let mut told = json!(page.map_err(history)?);
            mark_stale(home, &mut told["runs"]);
            Ok(told)
        }
        View::Run { run, limit, cursor } => {
            archive.catch_up().map_err(|error| history(error.into()))?;
            let mut told = json!(archive.views().show(&run, cursor.as_deref(), limit).map_err(history)?);
            mark_stale(home, &mut told["run"]);
            Ok(told)
        }
        View::Call { run, call } => one_call(home, &run, &call),
        View::Report { since_ms, until_ms, by } => {
            let by = match by.as_deref() {
                None => None,
                Some(word) => Some(By::parse(word).ok_or_else(|| {
                    ("invalid_arguments".to_owned(), "by: one of model, channel, failureKind".to_owned())
                })?),
            };
            let scope = ScopeFilter::Everything;
            let query = ReportQuery { scope, since_ms, until_ms, by, memory: false };
            Ok(json!(archive.report(&query).map_err(|error| history(error.into()))?))
        }
        View::Decisions { run, tool, limit, cursor } => {
            Ok(json!(archive.decisions(&DecisionQuery { run, tool, limit, cursor }).map_err(history)?))
        }
        View::AuditRuns => Ok(json!(archive.audit_runs().map_err(|error| history(error.into()))?)),
        View::MemoryDay { date } => {
            let day = home.office.day(date.as_deref()).map_err(office)?;
            Ok(json!({"untrusted": true, "date": day.date, "facts": day.facts, "leftOut": day.left_out}))
        }
        View::MemoryDays => {
            let mut days: BTreeMap<String, u64> = BTreeMap::new();
            for fact in home.office.top(DAYS_FACTS_MAX).map_err(office)? {
                *days.entry(fact.created_at.chars().take(10).collect()).or_default() += 1;
            }
            let days = days.into_iter().rev().map(|(date, facts)| json!({"date": date, "facts": facts}));
            Ok(json!({"days": days.collect::<Vec<_>>()}))
        }
        View::MemoryTop { limit } => {
            Ok(json!({"untrusted": true, "facts": home.office.top(limit).map_err(office)?}))
        }
        View::MemoryStats => Ok(json!(home.office.stats().map_err(office)?)),
        View::MemorySearch { .. } => Ok(Value::Null),
        View::Approvals => {
            let rules = inner.standing.as_ref().map(|it| it.list()).unwrap_or_default();
            let shown = |it: &StandingRule| {
                let mut shown = json!(it);
                shown["rule"] = it.rule.to_string().into();
                shown
            };
            Ok(json!({"rules": rules.iter().map(shown).collect::<Vec<_>>()}))
        }
        View::RevokeApproval { id } => {
            let gone = inner.standing.as_ref().map(|it| it.revoke(&id)).transpose();
            match gone.map_err(|error| ("not_kept".to_owned(), error.to_string()))? {
                Some(true) => Ok(json!({"revoked": id})),
                _ => Err(("not_found".to_owned(), "there is no such approval".to_owned())),
            }
        }
        View::ReplyFolder => Ok(json!({"folder": crate::replies::folder(home.state.artifacts())})),
        View::Settings => Ok(home.shown_settings.clone()),
        View::Servers => {
            let servers = inner.servers.as_ref();
            let broken = servers.map(|it| {
                let of = |it: &crate::parts::servers::Broken| json!({"name": it.name, "why": it.why});
                it.broken.iter().map(of).collect::<Vec<_>>()
            });
            let disabled =
                home.spec.mcp.servers.iter().filter(|it| it.disabled).map(|it| it.name.to_string());
            Ok(json!({
                "servers": servers.map(|it| it.pool.status()).unwrap_or_default(),
                "broken": broken.unwrap_or_default(),
                "disabled": disabled.collect::<Vec<_>>(),
            }))
        }
    }
}

/// Says of each run whether it has no end and its process is gone.
fn mark_stale(home: &Home, runs: &mut Value) {
    let all = runs.as_array().map_or(std::slice::from_ref(&*runs), Vec::as_slice);
    let statuses = all.iter().filter_map(|run| run["status"].as_str());
    let dead = home.archive.dead_among(statuses).unwrap_or_default();
    let mark = |run: &mut Value| {
        let stale = run["status"] == "running" && run["runId"].as_str().is_some_and(|id| dead.contains(id));
        run["stale"] = stale.into();
    };
    match runs.as_array_mut() {
        Some(all) => all.iter_mut().for_each(mark),
        None => mark(runs),
    }
}

/// A call as the log has it, redacted again.
fn one_call(home: &Home, run: &str, call: &str) -> Result<Value, NoView> {
    let events = home.archive.events(run).map_err(history)?;
    let mut shown = json!({"runId": run, "callId": call});
    let mut found = false;
    for event in events {
        if event.scope.call.as_ref().is_none_or(|it| it.as_str() != call) {
            continue;
        }
        match event.fact {
            Some(Fact::CallStarted { tool, source, arguments, rule, .. }) => {
                (shown["tool"], shown["source"], shown["rule"]) = (tool.into(), source.into(), rule.into());
                shown["arguments"] = home.archive.show(arguments);
            }
            Some(Fact::CallRefused { tool, code, by, why, arguments, .. }) => {
                (shown["tool"], shown["by"], shown["rule"]) = (tool.into(), by.into(), why.into());
                (shown["settled"], shown["code"]) = ("refused".into(), code.into());
                shown["arguments"] = home.archive.show(arguments);
            }
            Some(Fact::CallSettled {
                settled,
                code,
                content,
                structured,
                outcome,
                duration_ms,
                original_bytes,
                truncated,
                ..
            }) => {
                (shown["settled"], shown["code"]) = (settled.into(), code.into());
                shown["content"] = home.archive.show(json!(content));
                shown["structured"] = home.archive.show(json!(structured));
                shown["outcome"] = home.archive.show(json!(outcome));
                shown["durationMs"] = duration_ms.into();
                shown["originalBytes"] = original_bytes.into();
                shown["truncated"] = truncated.into();
            }
            _ => continue,
        }
        found = true;
    }
    if found { Ok(shown) } else { Err(("not_found".to_owned(), "no such call is recorded".to_owned())) }
}

fn history(error: HistoryError) -> NoView {
    (error.code().to_owned(), error.to_string())
}

fn office(error: OfficeError) -> NoView {
    let code = match &error {
        OfficeError::NotThere(fault) => fault.code.to_string(),
        OfficeError::Remote(_) => "memory_remote".to_owned(),
        OfficeError::Maintenance(_) => "memory_unusable".to_owned(),
        OfficeError::Recall(_) => "invalid_query".to_owned(),
        _ => "memory_failed".to_owned(),
    };
    (code, error.to_string())
}
