//! Cursors: base64url, signed with the log's key, bound to who asks and what was asked (HIS-4).

use crate::error::HistoryError;
use crate::limits::CURSOR_BYTES_MAX;
use crate::store::HistoryStore;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use subtle::ConstantTimeEq as _;

/// How much of the signature a cursor carries, in hex digits: 128 bits.
const SIGNATURE_DIGITS: usize = 32;

/// What a cursor is for; one of another kind is no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Runs,
    RunSearch,
    Timeline,
    Calls,
    Record,
    Conversations,
    Transcript,
    Decisions,
}

/// Who asks: the logical and the exact conversation, and the run ([`crate::HistoryScope::binding`]); or the owner.
pub(crate) type Who<'a> = [&'a str; 3];

/// Makes a cursor. `question` is what must be asked again for it to count (filters, a run …).
pub(crate) fn seal(
    store: &dyn HistoryStore,
    who: Who<'_>,
    kind: Kind,
    question: &impl Serialize,
    anchor: &impl Serialize,
) -> String {
    // An anchor is plain data; it always becomes JSON.
    let body = serde_json::to_string(anchor).unwrap_or_default();
    let signature = sign(store, who, kind, question, &body);
    URL_SAFE_NO_PAD.encode(format!("{signature}{body}"))
}

/// Opens a cursor.
///
/// # Errors
/// [`HistoryError::Cursor`], whatever is wrong with it.
pub(crate) fn open<T: DeserializeOwned>(
    store: &dyn HistoryStore,
    who: Who<'_>,
    kind: Kind,
    question: &impl Serialize,
    cursor: &str,
) -> Result<T, HistoryError> {
    if cursor.len() > CURSOR_BYTES_MAX {
        return Err(HistoryError::Cursor);
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor.trim()).map_err(|_| HistoryError::Cursor)?;
    let whole = String::from_utf8(bytes).map_err(|_| HistoryError::Cursor)?;
    let (signature, body) = whole.split_at_checked(SIGNATURE_DIGITS).ok_or(HistoryError::Cursor)?;
    let expected = sign(store, who, kind, question, body);
    if !bool::from(signature.as_bytes().ct_eq(expected.as_bytes())) {
        return Err(HistoryError::Cursor);
    }
    serde_json::from_str(body).map_err(|_| HistoryError::Cursor)
}

fn sign(store: &dyn HistoryStore, who: Who<'_>, kind: Kind, question: &impl Serialize, body: &str) -> String {
    let bound = json!(["mono-agent.history.cursor.1", kind, who, question, body]).to_string();
    let mut digest = store.keyed_digest(bound.as_bytes());
    // Digests are hex; a store for tests may give a short one.
    while digest.len() < SIGNATURE_DIGITS {
        digest.push('0');
    }
    digest.truncate(SIGNATURE_DIGITS);
    digest
}
