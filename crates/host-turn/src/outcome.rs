//! What became of a reply's parts, for machines (OUT-1).
//!
//! A record holds nothing that a producer wrote but its place, kind and code, each from a closed list.

use crate::part::{PARTS_MAX, PartCode, PartKind};
use serde::Serialize;
use serde_json::Value;

/// The words of the record that stands for all beyond the bound.
const OVERFLOW: &str = "Additional reply parts exceeded the bounded delivery outcome limit.";

/// One part that was not delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartOutcome {
    /// Its place among the records, from 0.
    pub part_index: usize,
    /// What it was.
    pub part_type: PartKind,
    /// Always `failed`.
    pub status: &'static str,
    /// Why.
    pub code: PartCode,
    /// The same in words.
    pub message: String,
    /// In the last record of too many alone: how many parts it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affected_part_count: Option<u64>,
}

impl PartOutcome {
    /// A part of a kind that was not delivered.
    pub fn failed(part_index: usize, part_type: PartKind, code: PartCode) -> Self {
        let message = code.message(part_type);
        PartOutcome { part_index, part_type, status: "failed", code, message, affected_part_count: None }
    }

    fn overflow(affected: u64) -> Self {
        PartOutcome {
            message: OVERFLOW.to_owned(),
            affected_part_count: Some(affected),
            ..PartOutcome::failed(PARTS_MAX - 1, PartKind::Unknown, PartCode::ReplyPartTooLarge)
        }
    }
}

/// Records of anything that claims to be some. `None` = the field is left out: no list, or an empty one. Doing it twice
/// changes nothing.
pub fn sanitise(claimed: &Value) -> Option<Vec<PartOutcome>> {
    let entries = claimed.as_array().filter(|entries| !entries.is_empty())?;
    if entries.len() > PARTS_MAX {
        let mut records: Vec<PartOutcome> =
            entries.iter().take(PARTS_MAX - 1).enumerate().map(|(at, entry)| one(at, entry)).collect();
        records.push(PartOutcome::overflow((entries.len() - (PARTS_MAX - 1)) as u64));
        return Some(records);
    }
    Some(entries.iter().enumerate().map(|(at, entry)| one(at, entry)).collect())
}

fn one(at: usize, entry: &Value) -> PartOutcome {
    if at == PARTS_MAX - 1
        && let Some(affected) = overflow_of(entry)
    {
        return PartOutcome::overflow(affected);
    }
    let word = |key: &str| entry.get(key).and_then(Value::as_str);
    let known = word("partType").and_then(PartKind::parse).zip(word("code").and_then(PartCode::parse));
    match known.filter(|_| word("status") == Some("failed")) {
        Some((kind, code)) => PartOutcome::failed(at, kind, code),
        None => PartOutcome::failed(at, PartKind::Unknown, PartCode::UnsupportedDestination),
    }
}

/// How many parts a record of this very form stands for.
fn overflow_of(entry: &Value) -> Option<u64> {
    let affected = entry.get("affectedPartCount")?.as_u64().filter(|count| *count > 1)?;
    let own = serde_json::to_value(PartOutcome::overflow(affected)).ok()?;
    (*entry == own).then_some(affected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn again(records: &[PartOutcome]) -> Option<Vec<PartOutcome>> {
        sanitise(&serde_json::to_value(records).unwrap())
    }

    // OUT-1
    #[test]
    fn records_are_rebuilt_from_closed_lists() {
        let claimed = json!([
            {"partIndex": 7, "partType": "attachment", "status": "failed", "code": "unsupported_destination",
             "message": "/home/me/secret", "id": "x", "affectedPartCount": 9},
            null, 3, "x", {}, {"partType": "attachment", "status": "ok", "code": "artifact_missing"},
            {"partType": "pdf", "status": "failed", "code": "artifact_missing"},
        ]);
        let records = sanitise(&claimed).unwrap();
        assert_eq!(
            serde_json::to_value(&records[0]).unwrap(),
            json!({"partIndex": 0, "partType": "attachment", "status": "failed", "code": "unsupported_destination",
                "message": "Attachment reply parts are unsupported on this destination."})
        );
        let malformed = &records[1..];
        assert!(
            malformed
                .iter()
                .all(|it| it.part_type == PartKind::Unknown && it.code == PartCode::UnsupportedDestination)
        );
        assert_eq!(records.len(), 7);
        for none in [json!([]), json!(null), json!({"0": 1}), json!("[]")] {
            assert_eq!(sanitise(&none), None);
        }
    }

    // OUT-1
    #[test]
    fn beyond_twenty_one_record_stands_for_the_rest() {
        let one = json!({"partType": "attachment", "status": "failed", "code": "artifact_missing"});
        assert_eq!(sanitise(&json!(vec![one.clone(); 20])).unwrap()[19].affected_part_count, None);
        let records = sanitise(&json!(vec![one; 31])).unwrap();
        assert_eq!(records.len(), 20);
        assert_eq!(
            serde_json::to_value(&records[19]).unwrap(),
            json!({"partIndex": 19, "partType": "unknown", "status": "failed", "code": "reply_part_too_large",
                "message": OVERFLOW, "affectedPartCount": 12})
        );
        assert_eq!(again(&records).unwrap(), records);
    }

    proptest! {
        // OUT-1: sanitising twice changes nothing, and there are never more than twenty.
        #[test]
        fn sanitising_twice_changes_nothing(picks in prop::collection::vec((0usize..8, 0usize..12, any::<bool>()), 0..45)) {
            let entries: Vec<Value> = picks.iter().map(|(kind, code, good)| {
                let kind = PartKind::ALL.get(*kind).map_or("odd", |it| it.as_str());
                let code = PartCode::ALL.get(*code).map_or("odd", |it| it.as_str());
                json!({"partType": kind, "code": code, "status": if *good { "failed" } else { "done" },
                    "affectedPartCount": 5, "message": "m"})
            }).collect();
            let once = sanitise(&json!(entries));
            prop_assert_eq!(once.is_some(), !entries.is_empty());
            if let Some(once) = once {
                prop_assert!(once.len() <= PARTS_MAX);
                prop_assert!(once.iter().enumerate().all(|(at, it)| it.part_index == at));
                prop_assert_eq!(again(&once).unwrap(), once);
            }
        }
    }
}
