//! What operators see: transcripts, conversations, reports.

use crate::past::*;
use host_history::report::{By, ReportQuery, report};
use host_history::transcript::transcript;
use host_history::{HistoryStore, ScopeFilter, View};
use host_turn::Ending;

#[test]
fn a_transcript_has_the_turns_oldest_first() {
    let past = Past::new();
    for n in 0..3 {
        let run = scope("web:a", &format!("r{n}"));
        past.begin(&run, &format!("say {n}"), false);
        past.call(&run, "c", "Read", "ok", "x");
        past.end(&run, Ending::Succeeded, &format!("said {n} in /home/alice/a/b"));
    }
    let scope = ScopeFilter::Exact(conversation("web:a"));
    let page = transcript(past.log.as_ref(), &View::default(), &scope, None, 2).unwrap();
    let said: Vec<_> =
        page.turns.iter().map(|it| (it.user.as_str(), it.assistant.as_str(), it.calls.len())).collect();
    assert_eq!(said, [("say 1", "said 1 in [host-path]/a/b", 1), ("say 2", "said 2 in [host-path]/a/b", 1)]);
    assert_eq!(page.turns[0].calls[0].settled, "done");
    let older = transcript(past.log.as_ref(), &View::default(), &scope, page.before, 2).unwrap();
    assert_eq!((older.turns.len(), older.before), (1, None));
}

#[test]
fn conversations_by_their_newest_run() {
    let past = Past::new();
    for (id, run) in [("web:a", "r1"), ("web:b", "r2"), ("web:a", "r3")] {
        past.turn(id, run, "x", "y");
    }
    let rows = past.log.list_conversations(None, 10).unwrap();
    let named: Vec<_> = rows.iter().map(|it| (it.conversation.as_str(), it.runs)).collect();
    assert_eq!(named, [("web:a", 2), ("web:b", 1)]);
    assert_eq!(past.log.list_conversations(Some(rows[0].last_seq), 10).unwrap().len(), 1);
}

// OBS-1
#[test]
fn a_report_has_rates_durations_and_cost() {
    let past = Past::new();
    for (n, ending) in [Ending::Succeeded, failed(), died(), Ending::Succeeded].into_iter().enumerate() {
        let run = scope("web:a", &format!("r{n}"));
        past.begin(&run, "x", false);
        past.end(&run, ending, "");
    }
    past.begin(&scope("web:b", "open"), "x", false);
    let query = ReportQuery {
        scope: ScopeFilter::Everything,
        since_ms: None,
        until_ms: None,
        by: Some(By::FailureKind),
        memory: false,
    };
    let report = report(past.log.as_ref(), &query).unwrap();
    let total = &report.total;
    assert_eq!((total.runs, total.success_rate, total.failure_rate), (5, Some(0.5), Some(0.25)));
    assert_eq!((total.cost_usd, total.unpriced_runs, total.input_tokens), (Some(2.0), 0, 40));
    assert_eq!(total.duration_ms.map(|it| (it.p50, it.max)), Some((1500.0, 1500.0)));
    assert_eq!(report.groups.keys().collect::<Vec<_>>(), ["(none)", "process_death", "timeout"]);
    let late = ReportQuery { since_ms: Some(AT + 3000), by: None, ..query };
    assert_eq!(host_history::report::report(past.log.as_ref(), &late).unwrap().total.runs, 4);
}
