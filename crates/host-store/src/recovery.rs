//! What a start does about the running turns of processes that are dead (ENG-7).

use crate::failure::Failure;
use crate::incarnation::{is_id, lock_path, locks};
use crate::lock::LockFile;
use crate::store_core::Core;
use crate::{append, folder};
use host_event::{Fact, NewEvent, Scope};
use host_ports::log::LogError;
use host_redact::Redactor;
use host_turn::{Ending, FailureKind, Usage};
use host_vocab::{ConversationId, RunId};
use rusqlite::Connection;

/// A run that was found dead and is interrupted now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The run.
    pub run: RunId,
    /// Its conversation.
    pub conversation: Option<ConversationId>,
    /// The process that ran it.
    pub incarnation: String,
}

/// Ends every run whose process is dead, once, and runs nothing again. A run whose process lives is left
/// alone, and so is one of which that can't be told. Its calls without an end stay as they are: they are
/// interrupted by definition.
pub(crate) fn recover(core: &Core, now_ms: i64) -> Result<Vec<Recovered>, LogError> {
    folder::private_folder(&locks(&core.dir))
        .map_err(|_| LogError::Failed("the folder of incarnations can't be used".to_owned()))?;
    let incarnations: Vec<String> = core.read(|conn| {
        let mut open = conn.prepare("SELECT DISTINCT incarnation FROM runs WHERE status IS NULL")?;
        Ok(open.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    })?;
    let mut recovered = Vec::new();
    for incarnation in incarnations {
        // The lock is held until its runs are settled. What no process of ours can have taken has no lock.
        let lock = if is_id(&incarnation) {
            match LockFile::take(&lock_path(&core.dir, &incarnation)) {
                Ok(Some(lock)) => Some(lock),
                Ok(None) => continue,
                Err(_) => {
                    return Err(LogError::Failed("the lock of an incarnation can't be read".to_owned()));
                }
            }
        } else {
            None
        };
        let events =
            core.write(|conn| append::in_transaction(conn, || settle(core, conn, &incarnation, now_ms)))?;
        recovered.extend(events);
        drop(lock);
    }
    sweep(core);
    Ok(recovered)
}

/// The open runs whose process is gone, looked at without taking anything.
pub(crate) fn dead(core: &Core) -> Result<Vec<RunId>, LogError> {
    let open: Vec<(String, String)> = core.read(|conn| {
        let mut open = conn.prepare("SELECT run, incarnation FROM runs WHERE status IS NULL")?;
        Ok(open.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
    })?;
    let gone =
        |incarnation: &str| !is_id(incarnation) || !crate::lock::is_held(&lock_path(&core.dir, incarnation));
    let dead = open.into_iter().filter(|(_, incarnation)| gone(incarnation));
    Ok(dead.filter_map(|(run, _)| RunId::parse(run).ok()).collect())
}

/// Settles the open runs of one dead incarnation. They are looked up under the write lock, so of two
/// recoveries at once only one finds them.
fn settle(core: &Core, conn: &Connection, incarnation: &str, now_ms: i64) -> Result<Vec<Recovered>, Failure> {
    let mut open = conn.prepare(
        "SELECT run, conversation, started_at FROM runs
         WHERE status IS NULL AND incarnation = ?1 ORDER BY started_seq",
    )?;
    let mut rows = open.query([incarnation])?;
    let (mut recovered, mut events) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let damaged = |_| LogError::Damaged("a run has an id that can't be".to_owned());
        let run = RunId::parse(row.get::<_, String>(0)?).map_err(damaged)?;
        let conversation: String = row.get(1)?;
        let conversation = if conversation.is_empty() {
            None
        } else {
            Some(ConversationId::parse(conversation).map_err(damaged)?)
        };
        let started_at: i64 = row.get(2)?;
        let fact = Fact::RunSettled {
            ending: Ending::Interrupted { kind: FailureKind::ProcessDeath },
            text: String::new(),
            usage: Usage::default(),
            duration_ms: u64::try_from(now_ms.saturating_sub(started_at)).unwrap_or(0),
            failover_history: Vec::new(),
        };
        let scope = Scope { conversation: conversation.clone(), run: Some(run.clone()), call: None };
        events.push(NewEvent::of(&fact, scope, now_ms, &Redactor::default()));
        recovered.push(Recovered { run, conversation, incarnation: incarnation.to_owned() });
    }
    append::append_within(conn, &core.chain, &events)?;
    Ok(recovered)
}

/// Removes what dead processes left that had no run open.
fn sweep(core: &Core) {
    let Ok(entries) = std::fs::read_dir(locks(&core.dir)) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|end| end == "lock") {
            drop(LockFile::take(&path));
        }
    }
}
