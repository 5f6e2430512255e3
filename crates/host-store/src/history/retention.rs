//! How long the log is kept. One horizon moves over it: everything before it goes, oldest first, at a cost of
//! what is removed; what stays is not touched.

use super::checkpoint;
use crate::append;
use crate::connection;
use crate::failure::Failure;
use crate::log::EventLog;
use crate::store_core::Core;
use host_history::{Phase, Removal, ScopeFilter, Tombstone, record_id};
use host_ports::log::LogError;
use host_vocab::RunId;
use rusqlite::{Connection, OptionalExtension, named_params, params};

/// How many events one transaction removes, so that appends never wait long.
const BATCH: u64 = 500;

/// What is kept (`artifacts.retention` and the bounds of tool records).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Runs that ended longer ago go, in milliseconds; `artifacts.retention.maxAgeDays`, 365 days.
    pub age_ms_max: i64,
    /// At most so many runs stay; `artifacts.retention.maxCount`, 50,000.
    pub runs_max: u64,
    /// At most so many calls stay, 100,000.
    pub calls_max: u64,
    /// At most so many bytes of calls stay, 256 MiB.
    pub call_bytes_max: u64,
    /// At most so many tombstones stay, 10,000.
    pub tombstones_max: u64,
    /// Tombstones go after so long, in milliseconds; 30 days.
    pub tombstone_age_ms_max: i64,
    /// Only say what would go (`dryRun`).
    pub dry_run: bool,
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        let day = 24 * 60 * 60 * 1000;
        RetentionPolicy {
            age_ms_max: 365 * day,
            runs_max: 50_000,
            calls_max: 100_000,
            call_bytes_max: 256 * 1024 * 1024,
            tombstones_max: 10_000,
            tombstone_age_ms_max: 30 * day,
            dry_run: false,
        }
    }
}

/// What went, or would go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RetentionReport {
    /// How many events.
    pub events: u64,
    /// Which runs; their kept output can go too.
    pub runs: Vec<RunId>,
    /// How many calls, each with a tombstone for each of its records.
    pub calls: u64,
    /// Why, where anything went.
    pub reason: Option<Removal>,
    /// The event that the log begins behind now; 0 = at its first.
    pub horizon: u64,
}

impl EventLog {
    /// Removes what is kept no longer. A running run, and everything since it began, stays. The chain goes on
    /// from a signed checkpoint. Blocks, for about 50 µs a removed event; appends go on meanwhile.
    ///
    /// # Errors
    /// What went before the failure is gone, in order, and the log is sound; the next call goes on.
    pub fn retain(&self, policy: &RetentionPolicy, now_ms: i64) -> Result<RetentionReport, LogError> {
        // Tombstones are made from the index, so it comes first.
        while self.index_more()? {}
        let Some((horizon, reason)) = self.horizon(policy, now_ms)? else {
            self.sweep_tombstones(policy, now_ms)?;
            let horizon = self.core().read(|conn| Ok(checkpoint::start(conn, &self.core().chain)?.0))?;
            return Ok(RetentionReport { horizon, ..RetentionReport::default() });
        };
        let mut report = self.would_go(horizon, reason)?;
        if policy.dry_run {
            return Ok(report);
        }
        self.bury(horizon, reason, policy, now_ms)?;
        report.events = 0;
        loop {
            let removed = self
                .core()
                .write(|conn| append::in_transaction(conn, || remove_batch(conn, self.core(), horizon)))?;
            if removed == 0 {
                break;
            }
            report.events += removed;
            // What was freed goes back to the file system, a part at a time.
            self.core().write(|conn| Ok(connection::pragma(conn, "PRAGMA incremental_vacuum(256)")?))?;
        }
        // The index follows the log's horizon by itself.
        while self.index_more()? {}
        self.sweep_tombstones(policy, now_ms)?;
        Ok(report)
    }

    /// The last event that goes, and why; `None` where nothing does.
    fn horizon(&self, policy: &RetentionPolicy, now_ms: i64) -> Result<Option<(u64, Removal)>, LogError> {
        let calls = self.on_index(|index| {
            let counted = |name: &str| {
                index.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get::<_, u64>(0))
            };
            excess(index, policy, counted("calls")?, counted("call_bytes")?)
        })?;
        self.core().read(|conn| {
            let mut cuts = vec![
                (by_age(conn, policy, now_ms)?, Removal::Age),
                (by_count(conn, policy)?, Removal::Count),
            ];
            cuts.extend(calls);
            let Some((mut cut, reason)) = cuts.into_iter().max_by_key(|(cut, _)| *cut) else {
                return Ok(None);
            };
            let running: Option<u64> =
                conn.query_row("SELECT min(started_seq) FROM runs WHERE status IS NULL", [], |row| {
                    row.get(0)
                })?;
            let last: u64 =
                conn.query_row("SELECT coalesce(max(seq), 0) FROM events", [], |row| row.get(0))?;
            // The last event stays: the chain goes on from it.
            cut = cut.min(running.map_or(u64::MAX, |seq| seq - 1)).min(last.saturating_sub(1));
            let first: u64 =
                conn.query_row("SELECT coalesce(min(seq), 0) FROM events", [], |row| row.get(0))?;
            Ok((cut >= first && first > 0 && cut > 0).then_some((cut, reason)))
        })
    }

    fn would_go(&self, horizon: u64, reason: Removal) -> Result<RetentionReport, LogError> {
        let (runs, calls) = self.on_index(|index| {
            let mut runs = index.prepare("SELECT run FROM h_runs WHERE seq <= ?1")?;
            let runs: Vec<String> = runs.query_map([horizon], |row| row.get(0))?.collect::<Result<_, _>>()?;
            let calls =
                index
                    .query_row("SELECT count(*) FROM h_calls WHERE seq <= ?1", [horizon], |row| row.get(0))?;
            Ok((runs, calls))
        })?;
        let events = self.core().read(|conn| {
            Ok(conn.query_row("SELECT count(*) FROM events WHERE seq <= ?1", [horizon], |row| row.get(0))?)
        })?;
        let runs = runs.into_iter().filter_map(|run| RunId::parse(run).ok()).collect();
        Ok(RetentionReport { events, runs, calls, reason: Some(reason), horizon })
    }

    /// Makes the tombstones of what goes, before it goes.
    fn bury(
        &self,
        horizon: u64,
        reason: Removal,
        policy: &RetentionPolicy,
        now_ms: i64,
    ) -> Result<(), LogError> {
        let newest = i64::try_from(policy.tombstones_max).unwrap_or(i64::MAX);
        let mut gone: Vec<(String, String, String, u32, bool, bool)> = self.on_index(|index| {
            let mut calls = index.prepare(
                "SELECT s.name, c.run, c.call, c.nth, c.isolated, c.end_seq IS NOT NULL
                 FROM h_calls c JOIN h_scopes s ON s.id = c.conversation
                 WHERE c.seq <= ?1 AND c.state IS NOT NULL ORDER BY c.seq DESC LIMIT ?2",
            )?;
            let read = |row: &rusqlite::Row<'_>| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
            };
            calls.query_map(params![horizon, newest], read)?.collect()
        })?;
        // Oldest first, so that the newest stones stay where there are too many.
        gone.reverse();
        for part in gone.chunks(256) {
            self.core().write(|conn| {
                append::in_transaction(conn, || {
                    let mut insert = conn.prepare_cached(
                        "INSERT OR REPLACE INTO tombstones(record, conversation, logical, isolated, phase, reason, removed_at)
                         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    )?;
                    for (conversation, run, call, nth, isolated, has_result) in part {
                        let logical = crate::row::without_bucket(conversation);
                        for phase in [Phase::Invocation, Phase::Result] {
                            if phase == Phase::Result && !has_result {
                                continue;
                            }
                            let of = (!conversation.is_empty()).then_some(conversation.as_str());
                            let record = record_id(of, run, call, phase.as_str(), *nth);
                            let values =
                                params![record, conversation, logical, isolated, phase.as_str(), reason.as_str(), now_ms];
                            insert.execute(values)?;
                        }
                    }
                    Ok(())
                })
            })?;
        }
        Ok(())
    }

    fn sweep_tombstones(&self, policy: &RetentionPolicy, now_ms: i64) -> Result<(), LogError> {
        if policy.dry_run {
            return Ok(());
        }
        let keep = i64::try_from(policy.tombstones_max).unwrap_or(i64::MAX);
        self.core().write(|conn| {
            append::in_transaction(conn, || {
                conn.execute("DELETE FROM tombstones WHERE removed_at < ?1", [now_ms.saturating_sub(policy.tombstone_age_ms_max)])?;
                conn.execute(
                    "DELETE FROM tombstones WHERE record IN
                       (SELECT record FROM tombstones ORDER BY removed_at DESC, rowid DESC LIMIT -1 OFFSET ?1)",
                    [keep],
                )?;
                Ok(())
            })
        })
    }
}

/// Walks over the runs that are old enough, and no further.
fn by_age(conn: &Connection, policy: &RetentionPolicy, now_ms: i64) -> rusqlite::Result<u64> {
    let oldest = now_ms.saturating_sub(policy.age_ms_max);
    let first_kept: Option<u64> = conn
        .query_row(
            "SELECT started_seq FROM runs INDEXED BY runs_started WHERE ended_at IS NULL OR ended_at >= ?1
             ORDER BY started_seq LIMIT 1",
            [oldest],
            |row| row.get(0),
        )
        .optional()?;
    match first_kept {
        // What stands before the very first run goes with it, not before. Only events of runs that went, of which
        // a removal that was killed left some, go on going.
        Some(seq) => {
            let any: bool = conn.query_row(
                "SELECT EXISTS(SELECT 1 FROM events WHERE seq < ?1 AND run IS NOT NULL)",
                [seq],
                |row| row.get(0),
            )?;
            Ok(if any { seq - 1 } else { 0 })
        }
        None => Ok(conn
            .query_row("SELECT max(settled_seq) FROM runs", [], |row| row.get::<_, Option<u64>>(0))?
            .unwrap_or(0)),
    }
}

fn by_count(conn: &Connection, policy: &RetentionPolicy) -> rusqlite::Result<u64> {
    let skip = i64::try_from(policy.runs_max).unwrap_or(i64::MAX);
    // The newest one that goes; what it left behind the next run's beginning goes with a later horizon.
    let newest_gone: Option<u64> = conn
        .query_row(
            "SELECT started_seq FROM runs ORDER BY started_seq DESC LIMIT 1 OFFSET ?1",
            [skip],
            |row| row.get(0),
        )
        .optional()?;
    let Some(gone) = newest_gone else { return Ok(0) };
    let next: Option<u64> =
        conn.query_row("SELECT min(started_seq) FROM runs WHERE started_seq > ?1", [gone], |row| row.get(0))?;
    Ok(next.map_or(gone, |seq| seq - 1))
}

/// The call up to which there are too many, oldest first, and for which reason.
fn excess(
    index: &Connection,
    policy: &RetentionPolicy,
    calls: u64,
    bytes: u64,
) -> rusqlite::Result<Option<(u64, Removal)>> {
    let (mut too_many, mut too_large) =
        (calls.saturating_sub(policy.calls_max), bytes.saturating_sub(policy.call_bytes_max));
    let mut found = None;
    let mut oldest = index.prepare("SELECT seq, coalesce(end_seq, seq), bytes FROM h_calls ORDER BY seq")?;
    let mut rows = oldest.query([])?;
    while (too_many > 0 || too_large > 0)
        && let Some(row) = rows.next()?
    {
        let reason = if too_many > 0 { Removal::Count } else { Removal::Bytes };
        found = Some((row.get::<_, u64>(1)?, reason));
        too_many = too_many.saturating_sub(1);
        too_large = too_large.saturating_sub(row.get::<_, u64>(2)?);
    }
    Ok(found)
}

/// Removes the oldest events up to the horizon, a batch of them, and moves the checkpoint behind them.
fn remove_batch(conn: &Connection, core: &Core, horizon: u64) -> Result<u64, Failure> {
    let first: Option<u64> = conn.query_row("SELECT min(seq) FROM events", [], |row| row.get(0))?;
    let Some(first) = first.filter(|first| *first <= horizon) else { return Ok(0) };
    let upto = horizon.min(first + BATCH - 1);
    let (seq, hash): (u64, [u8; 32]) = conn
        .prepare_cached("SELECT seq, hash FROM events WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1")?
        .query_row([upto], |row| Ok((row.get(0)?, row.get(1)?)))?;
    checkpoint::write(conn, &core.chain, seq, &hash)?;
    for sql in [
        "DELETE FROM run_events WHERE (run, seq) IN (SELECT run, seq FROM events WHERE seq <= ?1 AND run IS NOT NULL)",
        "DELETE FROM call_events WHERE (call, seq) IN (SELECT call, seq FROM events WHERE seq <= ?1 AND call IS NOT NULL)",
        "DELETE FROM runs WHERE started_seq <= ?1",
    ] {
        conn.prepare_cached(sql)?.execute([upto])?;
    }
    let removed = conn.prepare_cached("DELETE FROM events WHERE seq <= ?1")?.execute([upto])?;
    Ok(removed as u64)
}

/// Removes from the index what the log does not hold any more, within a transaction of the caller's.
pub(crate) fn follow_retention(index: &Connection, log: &Connection) -> rusqlite::Result<()> {
    let first: Option<u64> =
        log.prepare_cached("SELECT min(seq) FROM events")?.query_row([], |row| row.get(0))?;
    let purged: u64 = index
        .prepare_cached("SELECT value FROM meta WHERE name = 'purged'")?
        .query_row([], |row| row.get(0))?;
    match first {
        Some(first) if first > purged + 1 => purge(index, first - 1),
        _ => Ok(()),
    }
}

fn purge(index: &Connection, horizon: u64) -> rusqlite::Result<()> {
    let (calls, bytes): (i64, i64) = index.query_row(
        "SELECT count(*), coalesce(sum(bytes), 0) FROM h_calls WHERE seq <= ?1",
        [horizon],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let mut runs =
        index.prepare("SELECT conversation, count(*) FROM h_runs WHERE seq <= ?1 GROUP BY conversation")?;
    let runs: Vec<(i64, i64)> =
        runs.query_map([horizon], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    for (conversation, gone) in runs {
        index
            .prepare_cached("UPDATE h_conversations SET runs = runs - ?2 WHERE id = ?1")?
            .execute([conversation, gone])?;
    }
    for sql in [
        "DELETE FROM h_call_grams WHERE rowid IN (SELECT seq FROM h_calls WHERE seq <= ?1 AND state IS NOT NULL)",
        "DELETE FROM h_run_grams WHERE rowid IN (SELECT seq FROM h_runs WHERE seq <= ?1 AND status IS NOT NULL)",
        "DELETE FROM h_calls WHERE seq <= ?1",
        "DELETE FROM h_call_texts WHERE seq <= ?1",
        "DELETE FROM h_runs WHERE seq <= ?1",
        "DELETE FROM h_run_texts WHERE seq <= ?1",
        "DELETE FROM texts WHERE rowid IN (SELECT seq FROM docs WHERE seq <= ?1)",
        "DELETE FROM docs WHERE seq <= ?1",
        "UPDATE meta SET value = ?1 WHERE name = 'purged'",
    ] {
        index.prepare_cached(sql)?.execute([horizon])?;
    }
    index.execute("DELETE FROM h_conversations WHERE runs <= 0", [])?;
    index.execute("UPDATE meta SET value = value - ?1 WHERE name = 'calls'", [calls])?;
    index.execute("UPDATE meta SET value = value - ?1 WHERE name = 'call_bytes'", [bytes])?;
    Ok(())
}

pub(super) fn tombstone(
    conn: &Connection,
    scope: &ScopeFilter,
    record: &str,
) -> rusqlite::Result<Option<Tombstone>> {
    let (clause, name) = match scope {
        ScopeFilter::Everything => (":name IS NULL", None),
        ScopeFilter::Exact(id) => ("conversation = :name", Some(id.as_str())),
        ScopeFilter::Logical(name) => ("logical = :name", Some(name.as_str())),
    };
    conn.prepare_cached(&format!(
        "SELECT phase, reason, removed_at, isolated FROM tombstones WHERE record = :record AND {clause}"
    ))?
    .query_row(named_params! { ":record": record, ":name": name }, |row| {
        let (phase, reason): (String, String) = (row.get(0)?, row.get(1)?);
        Ok(Tombstone {
            phase: if phase == Phase::Result.as_str() { Phase::Result } else { Phase::Invocation },
            reason: Removal::parse(&reason).unwrap_or(Removal::Age),
            removed_at: row.get(2)?,
            isolated: row.get(3)?,
        })
    })
    .optional()
}
