//! The whole check of an audit, and the anchors of the head in `audit.head` (AUD-1).

use super::checkpoint;
use crate::chain::ChainReport;
use crate::log::EventLog;
use crate::{FullCheck, connection, folder};
use host_history::audit::Anchor;
use host_ports::log::LogError;
use rusqlite::OptionalExtension;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The file of anchors, below the store's folder.
const FILE: &str = "audit.head";
/// How many of the newest anchors are looked at.
const ANCHORS_MAX: usize = 10_000;
/// The longest line that is one.
const LINE_BYTES_MAX: usize = 512;

/// What became of the anchored heads.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeadCheck {
    /// How many anchors there are (of the newest 10,000).
    pub anchors: usize,
    /// How many of them name an event that is there with the same hash.
    pub confirmed: usize,
    /// How many lie before the horizon of retention, so that nothing can be said of them.
    pub before_horizon: usize,
    /// The first anchor whose event is another one now, or is gone from the end.
    pub broken: Option<Anchor>,
    /// Lines that are no anchors.
    pub unreadable: usize,
}

/// What a check of the whole audit found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditReport {
    /// The chain from the checkpoint or the first event on: how many events were checked, and where it breaks.
    pub chain: ChainReport,
    /// The signed checkpoint that stands for what retention removed: the last removed event.
    pub horizon: Option<u64>,
    /// The anchored heads.
    pub head: HeadCheck,
    /// What SQLite's own check of the file complains of.
    pub database: Vec<String>,
}

impl AuditReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.chain.broken.is_none() && self.head.broken.is_none() && self.database.is_empty()
    }
}

/// Whether a file is empty or ends behind a whole line; so does one that isn't there.
fn ends_in_a_line(path: &Path) -> bool {
    let Ok(Some(mut file)) = folder::open_private(path) else { return true };
    let mut last = [b'\n'];
    let read = file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last));
    read.is_err() || last == *b"\n"
}

impl EventLog {
    /// The head of the chain, for keeping elsewhere. Nothing in an empty log.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn head_anchor(&self, now_ms: i64) -> Result<Option<Anchor>, LogError> {
        let head = self.head()?;
        Ok(head.map(|(seq, hash)| Anchor { at_ms: now_ms, seq, hash: host_vocab::text::hex(&hash) }))
    }

    /// Appends the head of the chain to `audit.head`, and gives it. Nothing in an empty log, and nothing where the
    /// newest anchor names the same head. What is anchored is on the disk, so that a power cut takes nothing that an
    /// anchor names. Call it now and then, and at the end. Blocks, for as long as the disk takes.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn anchor_head(&self, now_ms: i64) -> Result<Option<Anchor>, LogError> {
        let Some(anchor) = self.head_anchor(now_ms)? else { return Ok(None) };
        let before = self.anchors(&mut HeadCheck::default())?;
        if before.last().is_some_and(|last| (last.seq, &last.hash) == (anchor.seq, &anchor.hash)) {
            return Ok(None);
        }
        // A checkpoint syncs what the log acknowledged.
        self.core().write(|conn| Ok(connection::pragma(conn, "PRAGMA wal_checkpoint(PASSIVE)")?))?;
        let path = self.dir().join(FILE);
        if before.len() >= ANCHORS_MAX {
            self.thin(&path, &before[before.len() - ANCHORS_MAX / 2..])?;
        }
        let failed = |_| LogError::Failed("audit.head could not be written".to_owned());
        let mut file = match folder::open_private_append(&path) {
            Ok(file) => file,
            Err(_) => return Err(LogError::Failed("audit.head can't be opened".to_owned())),
        };
        // A line that a crash or a full disk cut off must not swallow this one.
        let fresh_line = if ends_in_a_line(&path) { "" } else { "\n" };
        file.write_all(format!("{fresh_line}{}\n", anchor.line()).as_bytes()).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        Ok(Some(anchor))
    }

    /// Leaves only these anchors in the file.
    fn thin(&self, path: &Path, keep: &[Anchor]) -> Result<(), LogError> {
        let failed = |_| LogError::Failed("audit.head could not be shortened".to_owned());
        let fresh = crate::schema::suffixed(path, ".new");
        let _ = std::fs::remove_file(&fresh);
        let Ok(mut file) = folder::create_private(&fresh) else {
            return Err(LogError::Failed("audit.head could not be shortened".to_owned()));
        };
        for anchor in keep {
            file.write_all(format!("{}\n", anchor.line()).as_bytes()).map_err(failed)?;
        }
        file.sync_all().map_err(failed)?;
        std::fs::rename(&fresh, path).map_err(failed)
    }

    fn head(&self) -> Result<Option<(u64, [u8; 32])>, LogError> {
        self.core().read(|conn| {
            let mut last = conn.prepare_cached("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")?;
            Ok(last.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
        })
    }

    /// Checks the whole chain and every anchor (`audit verify`). `elsewhere` are anchors that were kept outside
    /// the folder; they are looked at as well. Blocks, for as long as reading it all takes.
    ///
    /// # Errors
    /// Where it can't be read at all. What is wrong is in the value.
    pub fn audit_verify(&self, elsewhere: &[Anchor]) -> Result<AuditReport, LogError> {
        let FullCheck { chain, database } = self.check_full()?;
        let read = self.core().read(|conn| Ok(checkpoint::read(conn, &self.core().chain)?));
        // One that can't be read is among the complaints.
        let horizon = match read {
            Err(_) if !database.is_empty() => None,
            read => read?.map(|it| it.0),
        };
        let mut head = HeadCheck::default();
        let mut anchors = self.anchors(&mut head)?;
        anchors.extend_from_slice(elsewhere);
        head.anchors = anchors.len();
        for anchor in anchors {
            if horizon.is_some_and(|horizon| anchor.seq <= horizon) {
                head.before_horizon += 1;
                continue;
            }
            let found: Option<[u8; 32]> = self.core().read(|conn| {
                let mut hash = conn.prepare_cached("SELECT hash FROM events WHERE seq = ?1")?;
                Ok(hash.query_row([anchor.seq], |row| row.get(0)).optional()?)
            })?;
            if found.is_some_and(|hash| host_vocab::text::hex(&hash) == anchor.hash) {
                head.confirmed += 1;
            } else if head.broken.is_none() {
                head.broken = Some(anchor);
            }
        }
        Ok(AuditReport { chain, horizon, head, database })
    }

    fn anchors(&self, check: &mut HeadCheck) -> Result<Vec<Anchor>, LogError> {
        let path = self.dir().join(FILE);
        let file = folder::open_private(&path)
            .map_err(|_| LogError::Failed("audit.head can't be opened".to_owned()))?;
        let Some(file) = file else { return Ok(Vec::new()) };
        let mut anchors = std::collections::VecDeque::new();
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(|_| LogError::Failed("audit.head can't be read".to_owned()))?;
            if line.is_empty() {
                continue;
            }
            let text = std::str::from_utf8(&line).ok().filter(|line| line.len() <= LINE_BYTES_MAX);
            match text.and_then(Anchor::parse) {
                Some(anchor) => anchors.push_back(anchor),
                None => check.unreadable += 1,
            }
            if anchors.len() > ANCHORS_MAX {
                anchors.pop_front();
            }
        }
        Ok(anchors.into())
    }
}
