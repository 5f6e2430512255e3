//! Search over titles and messages.

use crate::console::Console;
use crate::error::Refused;
use crate::paths::parameter;
use crate::routes::{Routed, ok};
use crate::shapes::Thread;
use crate::web::WebRequest;
use serde_json::{Value, json};

/// The most conversations of an answer.
const THREADS_MAX: usize = 50;
/// The most passages of one conversation.
const PASSAGES_MAX: usize = 3;
/// How many rows are looked at.
const ROWS_MAX: usize = 300;

impl Console {
    pub(crate) fn search(&self, request: &WebRequest) -> Routed {
        let query = parameter(&request.query, "q").unwrap_or_default();
        let words = query.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.chars().count() < 2 || words.chars().count() > 200 {
            return Err(Refused::field("q", "Search for 2 to 200 characters."));
        }
        let agent = parameter(&request.query, "agent").filter(|it| !it.is_empty());
        let rows = self.store.search(agent.as_deref(), &words, ROWS_MAX)?;
        let mut truncated = rows.len() >= ROWS_MAX;
        let mut hits: Vec<(Thread, Vec<Value>)> = Vec::new();
        for row in rows {
            let at = match hits.iter().position(|(thread, _)| thread.id == row.thread.id) {
                Some(at) => at,
                None if hits.len() == THREADS_MAX => {
                    truncated = true;
                    continue;
                }
                None => {
                    hits.push((row.thread, Vec::new()));
                    hits.len() - 1
                }
            };
            if let Some((id, created_at, role)) = row.message.filter(|_| hits[at].1.len() < PASSAGES_MAX) {
                let snippet = pieces(&row.passage);
                let hit = json!({"messageId": id, "createdAt": created_at, "role": role, "snippet": snippet});
                hits[at].1.push(hit);
            }
        }
        let (archived, threads): (Vec<_>, Vec<_>) = hits.into_iter().partition(|(thread, _)| thread.archived);
        let told = |hits: Vec<(Thread, Vec<Value>)>| {
            hits.into_iter()
                .map(|(thread, messages)| json!({"thread": thread, "messages": messages}))
                .collect::<Vec<_>>()
        };
        ok(&json!({"threads": told(threads), "archived": told(archived), "truncated": truncated}))
    }
}

/// A passage as pieces that match and pieces that don't.
fn pieces(passage: &str) -> Vec<Value> {
    let mut out = Vec::new();
    let mut push = |text: &str, matches: bool| {
        if !text.is_empty() {
            out.push(json!({"text": text, "match": matches}));
        }
    };
    for (n, piece) in passage.split('\u{1}').enumerate() {
        match piece.split_once('\u{2}') {
            Some((hit, rest)) if n > 0 => {
                push(hit, true);
                push(rest, false);
            }
            _ => push(&piece.replace('\u{2}', ""), false),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_has_pieces() {
        let found = pieces("a \u{1}word\u{2} and \u{1}other\u{2}");
        assert_eq!(
            Value::from(found),
            json!([{"text": "a ", "match": false}, {"text": "word", "match": true},
                {"text": " and ", "match": false}, {"text": "other", "match": true}])
        );
    }
}
