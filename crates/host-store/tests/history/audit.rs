//! The audit: the chain, its checkpoint, its anchors.

use crate::past::*;
use host_history::audit::decision;
use host_store::RetentionPolicy;
use serde_json::json;

fn edit(dir: &std::path::Path, sql: &str) {
    rusqlite::Connection::open(dir.join("log.sqlite")).unwrap().execute_batch(sql).unwrap();
}

fn filled() -> Past {
    let past = Past::new();
    for n in 0..5 {
        let run = scope("web:a", &format!("r{n}"));
        past.begin(&run, "x", false);
        past.call(&run, "c", "Bash", "ok", "y");
        past.end(&run, host_turn::Ending::Succeeded, "z");
    }
    past
}

// AUD-1: what is detected, and where.
#[test]
fn the_place_of_a_break_is_named() {
    for (sql, seq, what) in [
        (
            "UPDATE events SET body = replace(body, 'Bash', 'Evil') WHERE seq = 6",
            6,
            "is not what was written",
        ),
        ("DELETE FROM events WHERE seq = 7", 8, "an event before it is missing"),
        ("DELETE FROM events WHERE seq < 4", 4, "an event before it is missing"),
        (
            "DELETE FROM events WHERE seq < 4; INSERT INTO checkpoint VALUES(3, zeroblob(32), zeroblob(32))",
            4,
            "missing",
        ),
    ] {
        let past = filled();
        assert!(past.log.audit_verify(&[]).unwrap().is_sound());
        edit(past.dir.path(), sql);
        let broken = past.log.audit_verify(&[]).unwrap().chain.broken.unwrap();
        assert_eq!(broken.seq, seq, "{sql}");
        assert!(broken.to_string().contains(what), "{broken}");
    }
}

// AUD-1: whatever was done to it, the check ends, and says where or what.
#[test]
fn a_log_that_was_bent_out_of_shape_is_described() {
    for (sql, what) in [
        ("UPDATE events SET seq = 9223372036854775807 WHERE seq = 18", "an event before it is missing"),
        ("UPDATE events SET seq = -5 WHERE seq = 1", "event 5"),
        ("INSERT INTO checkpoint VALUES(3, x'00', x'00')", "or the checkpoint can't be read"),
        (
            "UPDATE runs SET settled_seq = NULL, ended_at = NULL, status = NULL WHERE started_seq = 1",
            "the row of r0",
        ),
        ("UPDATE runs SET settled_seq = 5 WHERE started_seq = 1", "the row of r0"),
    ] {
        let past = filled();
        edit(past.dir.path(), sql);
        let report = past.log.audit_verify(&[]).unwrap();
        let said: Vec<String> =
            report.chain.broken.iter().map(ToString::to_string).chain(report.database.clone()).collect();
        assert!(!report.is_sound() && said.join("; ").contains(what), "{sql}: {said:?}");
    }
}

// AUD-1: no row beside the events can hide one, or tell of what was not.
#[test]
fn rows_that_dont_say_what_the_events_say_are_named() {
    let looked_up = "UPDATE looked_up SET upto = (SELECT max(seq) FROM events)";
    for (sql, what) in [
        (
            "DELETE FROM run_events WHERE run = 'r2' AND seq = 11",
            "run r2 are not what the events say: 1 missing, the first is event 11",
        ),
        ("DELETE FROM run_events", "run r4"),
        ("INSERT INTO run_events VALUES('r2', 3)", "run r2 are not what the events say: 1 too many"),
        ("INSERT INTO run_events VALUES('r9', 900)", "run r9 are not what the events say: 1 too many"),
        ("DELETE FROM call_events WHERE seq = 7", "call c of run r1 are not what the events say: 1 missing"),
        (
            "INSERT INTO call_events VALUES('c9', 7)",
            "call c9 of run r1 are not what the events say: 1 too many",
        ),
        (looked_up, "run r0 are not what the events say"),
        ("UPDATE looked_up SET upto = 99999", "the mark"),
        ("DELETE FROM looked_up", "the mark"),
        ("DELETE FROM runs WHERE run = 'r3'", "the row of r3 is missing"),
        ("UPDATE runs SET run = 'r3x' WHERE run = 'r3'", "there is a row of r3x"),
        ("UPDATE runs SET started_at = started_at - 1 WHERE run = 'r3'", "the row of r3 is not"),
        ("UPDATE runs SET status = 'failed' WHERE run = 'r3'", "the row of r3 is not"),
        ("UPDATE runs SET logical = 'other' WHERE run = 'r3'", "the row of r3 is not"),
        ("UPDATE runs SET isolated = 1 WHERE run = 'r3'", "the row of r3 is not"),
        ("UPDATE runs SET ended_at = ended_at + 1 WHERE run = 'r3'", "the row of r3 is not"),
        ("UPDATE runs SET input_preview = 'y' WHERE run = 'r3'", "the row of r3 is not"),
        ("UPDATE runs SET usage = '{}' WHERE run = 'r3'", "the row of r3 is not"),
    ] {
        let past = filled();
        // So that they are looked up, all but where the mark alone is moved.
        if sql != looked_up {
            past.log.rebuild_projections().unwrap();
        }
        past.turn("web:b", "behind-the-mark", "x", "y");
        let sound = past.log.audit_verify(&[]).unwrap();
        assert!(sound.is_sound(), "{sql}: {sound:?}");
        edit(past.dir.path(), sql);
        let report = past.log.audit_verify(&[]).unwrap();
        assert!(report.chain.broken.is_none() && !report.is_sound(), "{sql}");
        assert!(report.database.join("; ").contains(what), "{sql}: {:?}", report.database);
    }
}

// AUD-1: what the host and retention write by themselves is no finding; the marks of schema and retention move along.
#[test]
fn the_rows_of_a_used_log_are_sound() {
    let past = Past::new();
    for n in 0..60 {
        let run = scope(if n % 3 == 0 { "web:a#2026-11-30" } else { "web:a" }, &format!("r{n}"));
        past.begin(&run, "x", n % 2 == 0);
        past.call(&run, "c", "Bash", "ok", "y");
        if n != 59 {
            past.end(&run, host_turn::Ending::Succeeded, "z");
        }
    }
    assert!(past.log.audit_verify(&[]).unwrap().is_sound());
    for runs_max in [40, 17, 1] {
        past.log.retain(&RetentionPolicy { runs_max, ..RetentionPolicy::default() }, past.at()).unwrap();
        let report = past.log.audit_verify(&[]).unwrap();
        assert!(report.is_sound() && report.horizon.is_some(), "{report:?}");
    }
}

// HIS-7: a young log loses nothing, not even what stands before its first run.
#[test]
fn nothing_goes_before_its_time() {
    let past = filled();
    past.log.retain(&RetentionPolicy::default(), past.at()).unwrap();
    let report = past.log.retain(&RetentionPolicy::default(), past.at()).unwrap();
    assert_eq!((report.events, report.horizon), (0, 0), "{report:?}");
}

// AUD-1: a tail that was cut off shows against an anchor, in the file or kept elsewhere; without one it can't.
#[test]
fn a_lost_tail_shows_against_an_anchor() {
    let past = filled();
    let anchor = past.log.anchor_head(past.at()).unwrap().unwrap();
    assert_eq!(anchor.seq, 20);
    past.turn("web:a", "later", "x", "y");
    let sound = past.log.audit_verify(std::slice::from_ref(&anchor)).unwrap();
    assert!(sound.is_sound() && sound.head.confirmed == 2, "{sound:?}");
    edit(past.dir.path(), "DELETE FROM events WHERE seq > 21");
    let report = past.log.audit_verify(&[]).unwrap();
    assert!(report.database.join("; ").contains("the row of later"), "the rows still know of it: {report:?}");
    past.log.rebuild_projections().unwrap();
    assert!(past.log.audit_verify(&[]).unwrap().is_sound(), "a tail behind the last anchor can't be told");
    edit(past.dir.path(), "DELETE FROM events WHERE seq > 18");
    past.log.rebuild_projections().unwrap();
    let report = past.log.audit_verify(&[]).unwrap();
    assert!(report.chain.broken.is_none() && report.head.broken == Some(anchor.clone()), "{report:?}");
    std::fs::remove_file(past.dir.path().join("audit.head")).unwrap();
    assert!(past.log.audit_verify(&[]).unwrap().is_sound());
    assert!(!past.log.audit_verify(&[anchor]).unwrap().is_sound());
}

#[test]
fn anchors_before_the_horizon_say_nothing() {
    let past = filled();
    past.log.anchor_head(past.at()).unwrap();
    past.turn("web:a", "later", "x", "y");
    past.log.retain(&RetentionPolicy { runs_max: 1, ..RetentionPolicy::default() }, past.at()).unwrap();
    let report = past.log.audit_verify(&[]).unwrap();
    assert!(report.is_sound() && report.head.before_horizon == 1, "{report:?}");
    assert_eq!(report.horizon, Some(20));
}

// AUD-1: who, which tool, which rule, the digest, the outcome; never an argument.
#[test]
fn decisions_have_digests_and_no_arguments() {
    let past = Past::new();
    let run = scope("web:a", "r1");
    past.begin(&run, "x", false);
    past.start_call(&run, "c1", "Bash", json!({"command": "ARGUMENT-WORD"}));
    past.settle_call(&run, "c1", "Bash", "timeout", "RESULT-WORD");
    let all: Vec<_> = past.log.events_after(0, 99).unwrap().iter().filter_map(decision).collect();
    assert_eq!(all.len(), 2);
    assert_eq!(
        (all[0].what, all[0].rule.as_deref(), all[0].arguments_digest.as_deref()),
        ("started", Some("allow-all"), Some("d"))
    );
    assert_eq!(all[1].outcome.as_deref(), Some("failed: timeout"));
    let text = serde_json::to_string(&all).unwrap();
    assert!(!text.contains("WORD"), "{text}");
}

// T9-01, QUA-2: a head that was cut off by a crash takes no other with it, and none twice.
#[test]
fn a_torn_anchor_is_told_and_swallows_nothing() {
    use std::io::Write;
    let path = |past: &Past| past.dir.path().join("audit.head");
    for torn in [
        "{\"atMs\":17,\"se",
        "{\"atMs\":1,\"seq\":2,\"hash\":\"\u{e4}".get(..27).unwrap_or("{"),
        "\n\n",
        "\0\0\0\0",
    ] {
        let past = filled();
        past.log.anchor_head(past.at()).unwrap().unwrap();
        let mut file = std::fs::OpenOptions::new().append(true).open(path(&past)).unwrap();
        file.write_all(torn.as_bytes()).unwrap();
        drop(file);
        past.turn("web:a", "later", "x", "y");
        let anchor = past.log.anchor_head(past.at()).unwrap().unwrap();
        assert_eq!(past.log.anchor_head(past.at()).unwrap(), None, "the same head is anchored once");
        let report = past.log.audit_verify(&[]).unwrap();
        let odd = usize::from(!torn.trim().is_empty());
        assert_eq!((report.head.confirmed, report.head.unreadable), (2, odd), "{torn:?}");
        edit(past.dir.path(), &format!("DELETE FROM events WHERE seq >= {}", anchor.seq));
        assert_eq!(past.log.audit_verify(&[]).unwrap().head.broken, Some(anchor), "{torn:?}");
    }
}

// A file of heads is bounded.
#[test]
fn old_anchors_give_way() {
    let past = filled();
    let first = past.log.anchor_head(past.at()).unwrap().unwrap();
    let path = past.dir.path().join("audit.head");
    std::fs::write(&path, format!("{}\n", first.line()).repeat(10_000)).unwrap();
    past.turn("web:a", "later", "x", "y");
    past.log.anchor_head(past.at()).unwrap().unwrap();
    let report = past.log.audit_verify(&[]).unwrap();
    assert_eq!((report.head.anchors, report.head.confirmed), (5_001, 5_001));
}
