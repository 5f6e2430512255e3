//! One record, chunk by chunk (HIS-3, HIS-7, HIS-8).

use super::arguments::{Get, Wanted};
use super::record::{self, Payload};
use super::{CallViews, TOOL};
use crate::cursor::{self, Kind};
use crate::error::HistoryError;
use crate::kept;
use crate::limits::CHUNK_BYTES_MAX;
use crate::navigation::{Navigation, NextAction};
use crate::scope::HistoryScope;
use crate::store::{CallRow, Phase, Record, Tombstone};
use crate::time::rfc3339;
use host_redact::Omission;
use host_vocab::text;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Where a reader stands. A cursor carries it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Place {
    /// The record.
    r: String,
    /// The kept output, where that is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    a: Option<String>,
    /// The next byte of the shown text (of the piece, for kept output).
    o: usize,
    /// Where the piece begins in the kept file.
    #[serde(default)]
    p: u64,
    /// How long the shown text was; another length means that it is shown otherwise now.
    n: usize,
    /// How many bytes a chunk has.
    c: usize,
}

/// A piece of text that can be given in chunks.
struct Source {
    text: String,
    /// Where the next piece begins, where there is one.
    following: Option<u64>,
}

impl CallViews {
    pub(super) fn get(&self, scope: &HistoryScope, get: &Get) -> Result<Value, HistoryError> {
        let chunk = get.chunk_bytes;
        let (place, started) = match &get.wanted {
            Wanted::Cursor(cursor) => {
                let mut place: Place =
                    cursor::open(self.store.as_ref(), scope.binding(), Kind::Record, &Value::Null, cursor)?;
                place.c = chunk.unwrap_or(place.c);
                (place, true)
            }
            Wanted::Record { id, artifact } => {
                let c = chunk.unwrap_or(CHUNK_BYTES_MAX);
                (Place { r: id.clone(), a: artifact.clone(), o: 0, p: 0, n: 0, c }, false)
            }
            Wanted::Call(call) => {
                let without = (Some(scope.conversation.clone()), scope.current.clone());
                let found = self.store.find_call(&scope.filter(), call, get.isolated, &without)?;
                let found = found.ok_or(HistoryError::NotFound)?;
                let r = found.result.unwrap_or(found.invocation);
                (Place { r, a: None, o: 0, p: 0, n: 0, c: chunk.unwrap_or(CHUNK_BYTES_MAX) }, false)
            }
        };
        let gone = if started { HistoryError::Cursor } else { HistoryError::NotFound };
        let found = self.store.find_record(&scope.filter(), &place.r)?;
        let record = match found {
            Some(record) if Self::is_seen(scope, &record.call, get.isolated) => record,
            Some(_) => return Err(gone),
            None if started => return Err(gone),
            None => return self.tombstone(scope, get, &place.r),
        };
        self.chunk(scope, get, record, place, started)
    }

    /// What is left of a record that retention removed.
    fn tombstone(&self, scope: &HistoryScope, get: &Get, id: &str) -> Result<Value, HistoryError> {
        let left = self.store.find_tombstone(&scope.filter(), id)?.ok_or(HistoryError::NotFound)?;
        let Tombstone { phase, reason, removed_at, isolated } = left;
        if isolated && !get.isolated {
            return Err(HistoryError::NotFound);
        }
        let navigation = Navigation {
            guidance: format!(
                "This record was kept once and was removed by {} retention; its payload is gone.",
                reason.as_str()
            ),
            ..Navigation::default()
        };
        self.fitting(&[0], |_| {
            json!({"kind": "tombstone", "recordId": id, "phase": phase, "removedBy": reason,
                "removedAt": rfc3339(removed_at), "navigation": navigation})
        })
    }

    fn chunk(
        &self,
        scope: &HistoryScope,
        get: &Get,
        record: Record,
        place: Place,
        started: bool,
    ) -> Result<Value, HistoryError> {
        let Record { call, phase } = record;
        let payload =
            record::read(self.store.as_ref(), &self.view, &call, phase)?.ok_or(HistoryError::NotFound)?;
        let source = match &place.a {
            None => Source { text: payload.text.clone(), following: None },
            Some(id) => self.kept_piece(&call, &payload, id, place.p)?,
        };
        let stale = started && place.n != source.text.len();
        if stale || place.o > source.text.len() || !source.text.is_char_boundary(place.o) {
            return Err(HistoryError::Cursor);
        }
        let rest = &source.text[place.o..];
        let rooms: Vec<usize> = (0..12).map(|n| (place.c * 3_usize.pow(n) / 4_usize.pow(n)).max(1)).collect();
        self.fitting(&rooms, |room| {
            let shown = at_least_one(rest, room);
            let end = place.o + shown.len();
            let next = if end < source.text.len() {
                Some(Place { o: end, n: source.text.len(), ..place.clone() })
            } else {
                source.following.map(|p| Place { o: 0, p, n: 0, ..place.clone() })
            };
            let next = next.map(|mut next| {
                if next.o == 0 && next.a.is_some() {
                    // The length of the next piece is not known before it is read.
                    next.n = self.piece_length(&call, &payload, &next);
                }
                cursor::seal(self.store.as_ref(), scope.binding(), Kind::Record, &Value::Null, &next)
            });
            self.page(get, &call, phase, &payload, &place, source.text.len(), shown, next)
        })
    }

    fn kept_piece(
        &self,
        call: &CallRow,
        payload: &Payload,
        id: &str,
        from: u64,
    ) -> Result<Source, HistoryError> {
        // Only what this very record names; availability is looked at again at every read.
        let kept = self.kept.as_deref().filter(|_| payload.kept.iter().any(|known| known == id));
        let kept = kept.ok_or(HistoryError::NotFound)?;
        let size = kept.size(&call.run, id).ok_or(HistoryError::NotFound)?;
        if from > size {
            return Err(HistoryError::Cursor);
        }
        let piece = kept::piece(kept, &self.view, &call.run, id, from).map_err(|_| HistoryError::NotFound)?;
        Ok(Source { following: (piece.next < size).then_some(piece.next), text: piece.text })
    }

    fn piece_length(&self, call: &CallRow, payload: &Payload, place: &Place) -> usize {
        let id = place.a.as_deref().unwrap_or_default();
        self.kept_piece(call, payload, id, place.p).map_or(0, |source| source.text.len())
    }

    #[expect(clippy::too_many_arguments, reason = "one page is made of all of these")]
    fn page(
        &self,
        get: &Get,
        call: &CallRow,
        phase: Phase,
        payload: &Payload,
        place: &Place,
        whole_bytes: usize,
        shown: &str,
        next: Option<String>,
    ) -> Value {
        let show = |text: &str| self.view.clipped(text, Omission::Diagnostic, 200);
        let mut page = Map::new();
        let mut put = |name: &str, value: Value| {
            page.insert(name.into(), value);
        };
        put("kind", "record".into());
        put("recordId", place.r.as_str().into());
        put("phase", json!(phase));
        put("runId", call.run.as_str().into());
        put("tool", show(&call.tool).into());
        put("state", call.state.as_str().into());
        put("code", show(&call.code).into());
        put("startedAtMs", call.started_at.into());
        put("recovered", call.recovered.into());
        put("isolated", call.isolated.into());
        match &place.a {
            None => {
                put("format", payload.format.into());
                put("retainedBytes", whole_bytes.into());
                put("originalBytes", payload.original_bytes.into());
                put("truncated", payload.truncated.into());
                put("artifacts", self.artifacts(call, payload).into());
            }
            Some(id) => {
                put("format", "text".into());
                put("artifactId", id.as_str().into());
                put("fileOffset", place.p.into());
            }
        }
        put("offset", place.o.into());
        put("chunkBytes", shown.len().into());
        put("chunk", shown.into());
        put("complete", next.is_none().into());
        let navigation = self.get_navigation(get, call, phase, payload, place, next.as_deref());
        put("nextCursor", next.into());
        put("navigation", json!(navigation));
        Value::Object(page)
    }

    fn artifacts(&self, call: &CallRow, payload: &Payload) -> Vec<Value> {
        let size = |id: &str| self.kept.as_deref().and_then(|kept| kept.size(&call.run, id));
        payload
            .kept
            .iter()
            .take(8)
            .map(|id| match size(id) {
                Some(bytes) => json!({"artifactId": id, "available": true, "bytes": bytes}),
                None => json!({"artifactId": id, "available": false}),
            })
            .collect()
    }

    fn get_navigation(
        &self,
        get: &Get,
        call: &CallRow,
        phase: Phase,
        payload: &Payload,
        place: &Place,
        next: Option<&str>,
    ) -> Navigation {
        let with_isolation = |mut arguments: Value| {
            if let (Some(map), true) = (arguments.as_object_mut(), get.isolated) {
                map.insert("includeIsolated".into(), true.into());
            }
            arguments
        };
        let record = |id: &str| {
            with_isolation(json!({"action": "get", "recordId": id, "chunkBytes": CHUNK_BYTES_MAX}))
        };
        let mut navigation = Navigation::default();
        if let Some(cursor) = next {
            navigation.guidance = "The record goes on; follow the cursor until it is complete.".to_owned();
            let arguments = with_isolation(json!({"action": "get", "cursor": cursor}));
            navigation.next_actions.push(NextAction::new(TOOL, "the next chunk", arguments));
            return navigation;
        }
        navigation.guidance = match (place.a.is_some(), payload.truncated) {
            (false, true) if !payload.kept.is_empty() => {
                "This is all that the log holds; the whole output was kept apart, as long as it is available."
            }
            (false, true) => "This is all that was retained; the result was larger.",
            _ => "The record is complete. What it tells of may have changed since.",
        }
        .to_owned();
        if place.a.is_none() {
            let first = payload
                .kept
                .iter()
                .find(|id| self.kept.as_deref().is_some_and(|kept| kept.size(&call.run, id).is_some()));
            if let Some(id) = first {
                let mut arguments = record(&place.r);
                if let Some(map) = arguments.as_object_mut() {
                    map.insert("artifactId".into(), id.as_str().into());
                }
                navigation.next_actions.push(NextAction::new(
                    TOOL,
                    "read the output that was kept",
                    arguments,
                ));
            }
        }
        match (phase, &call.result) {
            (Phase::Result, _) => {
                navigation.next_actions.push(NextAction::new(
                    TOOL,
                    "read its arguments",
                    record(&call.invocation),
                ));
            }
            (Phase::Invocation, Some(result)) => {
                navigation.next_actions.push(NextAction::new(TOOL, "read what came of it", record(result)));
            }
            (Phase::Invocation, None) => {}
        }
        navigation
    }
}

/// A prefix within the bound, and at least one whole character of it.
fn at_least_one(rest: &str, bytes_max: usize) -> &str {
    let cut = text::prefix(rest, bytes_max);
    match (cut.is_empty(), rest.chars().next()) {
        (true, Some(first)) => &rest[..first.len_utf8()],
        _ => cut,
    }
}
