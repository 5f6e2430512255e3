//! The forms of the answers, as models read them.

use crate::past::*;
use host_turn::Ending;
use serde_json::{Value, json};

/// The page, with a word in the place of each cursor: they are signed with a key that is new every time.
fn form(page: &Value) -> String {
    fn hide(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (key, item) in map.iter_mut() {
                    if matches!(key.as_str(), "cursor" | "nextCursor" | "timelineCursor") && item.is_string()
                    {
                        *item = "(cursor)".into();
                    } else {
                        hide(item);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(hide),
            _ => {}
        }
    }
    let mut page = page.clone();
    hide(&mut page);
    serde_json::to_string_pretty(&page).unwrap()
}

fn past() -> Past {
    let past = Past::new();
    let run = scope("web:a", "run-1");
    past.begin(&run, "book flights to north Spain", false);
    past.call(&run, "call-1", "WebFetch", "ok", "three flights on Friday");
    past.end(&run, Ending::Succeeded, "The Friday flight is booked.");
    let run = scope("web:a", "run-2");
    past.begin(&run, "unsubscribe from newsletters", false);
    past.call(&run, "call-2", "Bash", "timeout", "");
    past.start_call(&run, "call-3", "Bash", json!({"command": "unsubscribe --all"}));
    past.end(&run, Ending::Cancelled, "");
    past
}

#[test]
fn run_history() {
    let past = past();
    let web = asks("web:a", false);
    let ask = |arguments: Value| past.runs(&web, arguments).unwrap();
    insta::assert_snapshot!("runs_list", form(&ask(json!({"limit": 1}))));
    insta::assert_snapshot!("runs_search", form(&ask(json!({"query": "flights"}))));
    insta::assert_snapshot!("runs_partial", form(&ask(json!({"query": "newsletters zebra"}))));
    insta::assert_snapshot!("runs_nothing", form(&ask(json!({"query": "zebra"}))));
    let overview = ask(json!({"runId": "run-2"}));
    insta::assert_snapshot!("runs_overview", form(&overview));
    let timeline = json!({"runId": "run-2", "cursor": overview["timelineCursor"]});
    insta::assert_snapshot!("runs_timeline", form(&ask(timeline)));
}

#[test]
fn session_history() {
    let past = past();
    let web = asks("web:a", false);
    let ask = |arguments: Value| past.calls(&web, arguments).unwrap();
    let page = ask(json!({"limit": 2, "runIds": ["run-2"]}));
    insta::assert_snapshot!("calls_search", form(&page));
    insta::assert_snapshot!(
        "calls_nothing",
        form(&ask(json!({"runIds": ["run-9"], "includeIsolated": true})))
    );
    insta::assert_snapshot!(
        "calls_get",
        form(&ask(json!({"action": "get", "toolCallId": "call-1", "chunkBytes": 5})))
    );
}
