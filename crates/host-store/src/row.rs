//! Events as rows.

use crate::chain;
use host_event::{CanonicalRow, Scope, StoredEvent};
use host_ports::log::LogError;
use host_vocab::{CallId, ConversationId, RunId};
use rusqlite::Row;
use rusqlite::types::{FromSqlError, FromSqlResult};

/// The columns that [`canonical`] and [`stored`] read, in their order.
pub(crate) const COLUMNS: &str = "seq, at, kind, version, conversation, run, call, body, checksum";

/// The row's canonical form, borrowed from it, and its checksum as stored.
pub(crate) fn canonical<'a>(row: &'a Row<'_>) -> FromSqlResult<(CanonicalRow<'a>, [u8; 32])> {
    let cell = |i: usize| row.get_ref(i).map_err(|_| FromSqlError::InvalidType);
    let canonical = CanonicalRow {
        seq: u64::try_from(cell(0)?.as_i64()?).map_err(|_| FromSqlError::InvalidType)?,
        at: cell(1)?.as_i64()?,
        kind: cell(2)?.as_str()?,
        version: u16::try_from(cell(3)?.as_i64()?).map_err(|_| FromSqlError::InvalidType)?,
        conversation: cell(4)?.as_str_or_null()?,
        run: cell(5)?.as_str_or_null()?,
        call: cell(6)?.as_str_or_null()?,
        body: cell(7)?.as_str()?,
    };
    let checksum = cell(8)?.as_blob()?.try_into().map_err(|_| FromSqlError::InvalidType)?;
    Ok((canonical, checksum))
}

/// The event of a row, checked against its checksum and brought up to the present version.
pub(crate) fn stored(row: &Row<'_>) -> Result<StoredEvent, LogError> {
    let (canonical, checksum) = canonical(row)
        .map_err(|_| LogError::Damaged("an event holds a value of the wrong type".to_owned()))?;
    let damaged =
        |what: &str| LogError::Damaged(format!("event {} {what}; run `mono-agent doctor`", canonical.seq));
    if chain::checksum(&canonical) != checksum {
        return Err(damaged("is not what was written"));
    }
    let body = serde_json::from_str(canonical.body).map_err(|_| damaged("holds no JSON"))?;
    let scope = scope(&canonical).ok_or_else(|| damaged("belongs to an id that can't be"))?;
    let (seq, at, version) = (canonical.seq, canonical.at, canonical.version);
    Ok(StoredEvent::of_version(seq, at, scope, canonical.kind.to_owned(), version, body))
}

fn scope(row: &CanonicalRow<'_>) -> Option<Scope> {
    Some(Scope {
        conversation: row.conversation.map(ConversationId::parse).transpose().ok()?,
        run: row.run.map(RunId::parse).transpose().ok()?,
        call: row.call.map(CallId::parse).transpose().ok()?,
    })
}

/// A conversation's id without its daily bucket, as the `logical` column holds it. Whether it is asked for
/// depends on the rollover setting (RUN-7).
pub(crate) fn without_bucket(conversation: &str) -> &str {
    let is_date = |text: &str| {
        text.len() == 10
            && text
                .bytes()
                .enumerate()
                .all(|(i, b)| if matches!(i, 4 | 7) { b == b'-' } else { b.is_ascii_digit() })
    };
    match conversation.rsplit_once('#') {
        Some((head, bucket)) if !head.is_empty() && is_date(bucket) => head,
        _ => conversation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cut_as_the_vocabulary_cuts_them() {
        // RUN-7
        for id in
            ["web:a#2026-11-30", "web:a", "#2026-11-30", "a#b#2026-01-01", "a#2026-1-01", "ä#2026-01-01x"]
        {
            assert_eq!(without_bucket(id), ConversationId::parse(id).unwrap().without_bucket(), "{id}");
        }
    }
}
