//! Words as searches find them.

use crate::past::*;
use host_history::HistoryError;
use serde_json::json;

fn web() -> host_history::HistoryScope {
    asks("web:a", false)
}

// RUN-5
#[test]
fn all_terms_win_outright_and_partial_ones_are_ranked() {
    let past = Past::new();
    past.turn("web:a", "r1", "unsubscribe me from group A newsletters", "x");
    past.turn("web:a", "r2", "book flights to north Spain", "x");
    past.turn("web:a", "r3", "flights again", "north");
    let page = past.runs(&web(), json!({"query": "NORTH  spain flights"})).unwrap();
    assert_eq!((ids(&page), &page["matchedAllTerms"]), (vec!["r2".to_owned()], &json!(true)));
    let page = past.runs(&web(), json!({"query": "flights to Italy north"})).unwrap();
    assert_eq!(ids(&page), ["r2", "r3"]);
    assert_eq!(page["matchedAllTerms"], false);
    let guidance = page["navigation"]["guidance"].as_str().unwrap();
    assert!(guidance.contains("flights, to, north") && !guidance.contains("italy"), "{guidance}");
    assert_eq!(page["navigation"]["nextActions"][0]["arguments"], json!({"runId": "r2"}));
    // A lone letter is not scored beside words.
    assert_eq!(ids(&past.runs(&web(), json!({"query": "unsubscribe a"})).unwrap()), ["r1"]);
    let none = past.runs(&web(), json!({"query": "zebra"})).unwrap();
    assert!(ids(&none).is_empty() && none["matchedAllTerms"] == false);
}

// RUN-5: dates, status, kind, source, model and effort are fields; answers and results are not.
#[test]
fn only_safe_fields_are_searched() {
    let past = Past::new();
    past.turn("web:a", "r1", "say something", "ANSWERWORD");
    let run = scope("web:a", "r2");
    past.begin(&run, "read /home/alice/vault/plan.txt", false);
    past.call(&run, "c1", "Read", "ok", "RESULTWORD");
    past.end(&run, failed(), "");
    for (query, found) in [
        ("timeout", vec!["r2"]),
        ("failed", vec!["r2"]),
        ("console", vec!["r2", "r1"]),
        ("scripted:alpha", vec!["r2", "r1"]),
        ("high", vec!["r2", "r1"]),
        ("2026-09", vec!["r2", "r1"]),
        ("r2", vec!["r2"]),
        ("plan.txt", vec!["r2"]),
        ("ANSWERWORD", vec![]),
        ("RESULTWORD", vec![]),
        ("alice", vec![]),
        ("/home", vec![]),
    ] {
        assert_eq!(ids(&past.runs(&web(), json!({"query": query})).unwrap()), found, "{query}");
    }
}

// RUN-6
#[test]
fn one_hit_brings_its_overview() {
    let past = Past::new();
    let run = scope("web:a", "r1");
    past.begin(&run, "the needle", false);
    past.call(&run, "c1", "Read", "ok", "x");
    past.end(&run, host_turn::Ending::Cancelled, "half");
    past.turn("web:a", "r2", "hay", "x");
    let page = past.runs(&web(), json!({"query": "needle"})).unwrap();
    assert_eq!(page["overview"]["output"], "half");
    let action = page["navigation"]["nextActions"][0].clone();
    assert_eq!(action["arguments"]["cursor"], page["timelineCursor"]);
    assert_eq!(action["status"], "cancelled");
    assert!(page["navigation"]["relatedTools"].is_array());
    assert!(
        past.runs(&web(), action["arguments"].clone()).unwrap()["entries"].as_array().unwrap().len() >= 3
    );
    let two = past.runs(&web(), json!({"query": "web"})).unwrap();
    assert!(two["overview"].is_null());
}

// T9-11, for runs and for calls.
#[test]
fn scripts_without_spaces_and_letters_glued_to_them_are_found() {
    let past = Past::new();
    let texts = [
        ("r1", "周五上午在三楼评审预算方案"),
        ("r2", "重新执行make-qzx之后完成"),
        ("r3", "明日のミーティングを予約して"),
        ("r4", "회의실을예약했습니다"),
        ("r5", "ฉันชอบกินข้าวผัด"),
        ("r6", "Straße in Zürich, Σίσυφος"),
        ("r7", "emoji 👍🏽 party"),
    ];
    for (id, text) in texts {
        let run = scope("web:a", id);
        past.begin(&run, text, false);
        past.call(&run, &format!("c-{id}"), "Read", "ok", text);
        past.end(&run, host_turn::Ending::Succeeded, "x");
    }
    for (query, id) in [
        ("评审", "r1"),
        ("审", "r1"),
        ("三楼评审", "r1"),
        ("qzx", "r2"),
        ("make", "r2"),
        ("行make", "r2"),
        ("ミーティング", "r3"),
        ("予約", "r3"),
        ("ﾐｰﾃｨﾝｸﾞ", "r3"),
        ("예약", "r4"),
        ("ข้าว", "r5"),
        ("STRASSE", "r6"),
        ("zu\u{308}rich", "r6"),
        ("ΣΊΣΥΦΟΣ", "r6"),
        ("👍", "r7"),
        ("qz", "r2"),
    ] {
        assert_eq!(ids(&past.runs(&web(), json!({"query": query})).unwrap()), [id], "{query}");
        let calls = past.calls(&web(), json!({"query": query})).unwrap();
        let found: Vec<&str> =
            calls["calls"].as_array().unwrap().iter().map(|it| it["runId"].as_str().unwrap()).collect();
        assert_eq!(found, [id], "{query}");
    }
}

// HIS-3: nothing of a query reaches the engine.
#[test]
fn nothing_in_a_query_is_an_operator() {
    let past = Past::new();
    let run = scope("web:a", "r1");
    past.begin(&run, "plain words", false);
    past.call(&run, "c1", "Read", "ok", "a \"quoted\" (strange) thing* AND more; DROP TABLE h_runs");
    past.end(&run, host_turn::Ending::Succeeded, "x");
    let found =
        |query: &str| past.calls(&web(), json!({"query": query})).unwrap()["calls"].as_array().unwrap().len();
    for query in ["\"quoted\"", "(strange)", "thing*", "AND more", "drop TABLE", "h_runs", "strange) thing"] {
        assert_eq!(found(query), 1, "{query}");
    }
    for query in ["plain OR quoted2", "NEAR(a)", "text:quoted", "^a", "a - b", "x'; --", "%", "qu_ted"] {
        assert_eq!(found(query), 0, "{query}");
    }
    for query in ["\0", "\u{1}\t\0"] {
        assert!(past.calls(&web(), json!({"query": query})).is_err(), "{query:?}: a query without a word");
        assert!(past.runs(&web(), json!({"query": query})).is_err(), "{query:?}");
    }
    for query in ["\"", "*", "a\"b", "''", "((((", "👍 OR 1=1", "- - -"] {
        let _ = found(query);
        assert!(past.runs(&web(), json!({"query": query})).is_ok(), "{query}");
    }
}

// HIS-4: limits hold on character boundaries.
#[test]
fn long_queries_are_refused_by_name() {
    let past = Past::new();
    past.turn("web:a", "r1", "x", "y");
    for query in ["é".repeat(257), "评".repeat(171), "a".repeat(513)] {
        for answer in
            [past.runs(&web(), json!({"query": query})), past.calls(&web(), json!({"query": query}))]
        {
            let Err(HistoryError::Input(why)) = answer else { panic!("{answer:?}") };
            assert!(why.contains("query") && why.contains("512"), "{why}");
        }
    }
    for query in ["é".repeat(256), "评".repeat(170), "a b c d e f g h i j k l m n o p".to_owned()] {
        assert!(past.runs(&web(), json!({"query": query})).is_ok());
        assert!(past.calls(&web(), json!({"query": query})).is_ok());
    }
}
