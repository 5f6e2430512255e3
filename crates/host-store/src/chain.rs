//! The keyed chain that binds every event to the one before it (AUD-1).
//!
//! `checksum` is SHA-256 over the canonical row and tells damage. `hash` is HMAC-SHA-256 over the hash
//! before it and the checksum, under a key outside the database, and tells tampering. What it can't tell:
//! a change by whoever holds the key, and a tail that was cut off whole.

use crate::key::Key;
use hmac::{Hmac, KeyInit, Mac};
use host_event::CanonicalRow;
use rusqlite::Connection;
use sha2::{Digest, Sha256};

type HmacSha256 = Hmac<Sha256>;

/// What stands before the first event.
pub(crate) const GENESIS: [u8; 32] = [0; 32];

/// The log's key, split for its uses.
pub(crate) struct Chain {
    link: HmacSha256,
    digest: HmacSha256,
    checkpoint: HmacSha256,
    fingerprint: [u8; 16],
}

/// The checksum and the hash of one row.
pub(crate) struct Seal {
    pub(crate) checksum: [u8; 32],
    pub(crate) hash: [u8; 32],
}

impl Chain {
    pub(crate) fn new(key: &Key) -> Self {
        let subkey = |purpose: &str| {
            let mut mac = mac_of(&key[..]);
            mac.update(purpose.as_bytes());
            let bytes: [u8; 32] = mac.finalize().into_bytes().into();
            bytes
        };
        let mut fingerprint = [0; 16];
        fingerprint.copy_from_slice(&subkey("mono-agent.log.fingerprint")[..16]);
        Chain {
            link: mac_of(&subkey("mono-agent.log.chain")),
            digest: mac_of(&subkey("mono-agent.log.digest")),
            checkpoint: mac_of(&subkey("mono-agent.log.checkpoint")),
            fingerprint,
        }
    }

    /// Tells keys apart and gives nothing of them away.
    pub(crate) fn fingerprint(&self) -> [u8; 16] {
        self.fingerprint
    }

    /// The keyed digest of anything, in hex.
    pub(crate) fn digest(&self, bytes: &[u8]) -> String {
        let mut mac = self.digest.clone();
        mac.update(bytes);
        host_vocab::text::hex(&mac.finalize().into_bytes())
    }

    /// The signature of a checkpoint: the last event that retention removed, and its hash.
    pub(crate) fn sign_checkpoint(&self, seq: u64, hash: &[u8; 32]) -> [u8; 32] {
        let mut mac = self.checkpoint.clone();
        mac.update(&seq.to_be_bytes());
        mac.update(hash);
        mac.finalize().into_bytes().into()
    }

    /// Seals a row to the one before it.
    pub(crate) fn seal(&self, prev: &[u8; 32], row: &CanonicalRow<'_>) -> Seal {
        let checksum = checksum(row);
        let mut mac = self.link.clone();
        mac.update(prev);
        mac.update(&checksum);
        Seal { checksum, hash: mac.finalize().into_bytes().into() }
    }
}

fn mac_of(key: &[u8]) -> HmacSha256 {
    HmacSha256::new_from_slice(key).expect("HMAC takes a key of any length")
}

/// The checksum of a row.
pub(crate) fn checksum(row: &CanonicalRow<'_>) -> [u8; 32] {
    let mut sha = Sha256::new();
    row.feed(|piece| sha.update(piece));
    sha.finalize().into()
}

/// In which way a chain is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The row is not what was written (its checksum is wrong).
    Content,
    /// One or more events before it are missing.
    Missing,
    /// It does not follow from the event before it: that one was replaced, or this one moved.
    Link,
    /// It was sealed with another key: somebody without the key wrote it.
    Key,
}

/// Where a chain breaks, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainBreak {
    /// The first event that is wrong.
    pub seq: u64,
    /// What is wrong with it.
    pub what: Break,
}

impl std::fmt::Display for ChainBreak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.what {
            Break::Content => "is not what was written",
            Break::Missing => "is there, but an event before it is missing",
            Break::Link => "does not follow from the event before it",
            Break::Key => "was not sealed with this log's key",
        };
        write!(f, "event {} {what}", self.seq)
    }
}

/// What a look along the chain found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChainReport {
    /// How many events were checked.
    pub checked: u64,
    /// The last event that is right, 0 where there is none.
    pub last: u64,
    /// The first break; what follows it was not looked at.
    pub broken: Option<ChainBreak>,
}

/// Checks the events of `from..=to` against themselves and each other, and the first against the one
/// before it.
pub(crate) fn verify(conn: &Connection, chain: &Chain, from: u64, to: u64) -> rusqlite::Result<ChainReport> {
    let mut before = conn
        .prepare_cached("SELECT seq, hash FROM events WHERE seq < ?1 ORDER BY seq DESC LIMIT 1")?
        .query_map([from], |row| Ok((row.get::<_, u64>(0)?, row.get::<_, [u8; 32]>(1)?)))?
        .next()
        .transpose()?
        .map_or_else(|| crate::history::checkpoint::start(conn, chain), Ok)?;
    let mut rows = conn.prepare_cached(
        "SELECT seq, at, kind, version, conversation, run, call, body, checksum, prev_hash, hash, logical
         FROM events WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
    )?;
    let mut rows = rows.query([from, to])?;
    let mut report = ChainReport::default();
    while let Some(row) = rows.next()? {
        let seq = row.get::<_, i64>(0)?.unsigned_abs();
        match link(row, chain, before) {
            Ok(hash) => {
                before = (seq, hash);
                report.checked += 1;
                report.last = seq;
            }
            Err(what) => {
                report.broken = Some(ChainBreak { seq, what });
                break;
            }
        }
    }
    Ok(report)
}

/// Checks one row, given the sequence and hash before it, and gives its hash. A value of the wrong type is
/// wrong content.
fn link(row: &rusqlite::Row<'_>, chain: &Chain, before: (u64, [u8; 32])) -> Result<[u8; 32], Break> {
    let (canonical, checksum) = crate::row::canonical(row).map_err(|_| Break::Content)?;
    let prev: [u8; 32] = row.get(9).map_err(|_| Break::Content)?;
    let hash: [u8; 32] = row.get(10).map_err(|_| Break::Content)?;
    let logical: Option<&str> =
        row.get_ref(11).ok().and_then(|v| v.as_str_or_null().ok()).ok_or(Break::Content)?;
    if canonical.seq != before.0 + 1 {
        return Err(Break::Missing);
    }
    let seal = chain.seal(&prev, &canonical);
    if seal.checksum != checksum || logical != canonical.conversation.map(crate::row::without_bucket) {
        return Err(Break::Content);
    }
    if prev != before.1 {
        return Err(Break::Link);
    }
    if seal.hash != hash {
        return Err(Break::Key);
    }
    Ok(hash)
}
