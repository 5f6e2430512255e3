//! Logs of earlier programs, which every later one opens. `tests/corpus/*.sql` hold them as SQL; their key is
//! 32 times the byte 7. A file there is never changed; a new schema or a new form of a body adds one: the dump
//! of a log that the program of that day wrote.

use crate::events::*;
use host_event::Fact;
use host_ports::log::Log;
use host_store::RunQuery;
use host_vocab::blocks_text;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn restore(sql: &str, dir: &Path) {
    std::fs::create_dir(dir.join("keys")).unwrap();
    std::fs::write(dir.join("keys/log.key"), [7u8; 32]).unwrap();
    let conn = rusqlite::Connection::open(dir.join("log.sqlite")).unwrap();
    conn.execute_batch(sql).unwrap();
    conn.close().unwrap();
    for (name, mode) in [("keys", 0o700), ("keys/log.key", 0o600), ("log.sqlite", 0o600)] {
        std::fs::set_permissions(dir.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn every_old_log_opens_verifies_and_goes_on() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut seen = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        let sql = std::fs::read_to_string(&path).unwrap();
        let dir = tempfile::tempdir().unwrap();
        restore(&sql, dir.path());
        let log = open(dir.path());
        let before = log.report().last_seq;
        assert!(before > 0, "{path:?}");
        assert_eq!(append(&log, vec![note("a newer event")]).unwrap(), before + 1);
        assert!(log.check_full().unwrap().is_sound(), "{path:?}");
        for run in log.runs(&RunQuery { limit: 100, ..RunQuery::default() }).unwrap() {
            for event in block_on(log.run_events(&run.run, 0, 1000)).unwrap() {
                assert!(event.fact.is_some(), "{path:?}: {event:?}");
            }
        }
        log.close().unwrap();
        open(dir.path());
        seen += 1;
    }
    assert!(seen >= 1, "the corpus is gone");
}

#[test]
fn schema_1_with_bodies_of_version_0() {
    let dir = tempfile::tempdir().unwrap();
    restore(include_str!("../corpus/schema1_bodies0.sql"), dir.path());
    let log = open(dir.path());
    let runs = log.runs(&RunQuery { limit: 10, ..RunQuery::default() }).unwrap();
    let told: Vec<String> =
        runs.iter().map(|run| format!("{} {} {}", run.run, run.status, run.user_input)).collect();
    assert_eq!(told, ["run-b interrupted and then?", "run-a succeeded what is in a.txt?"]);
    let events = block_on(log.run_events(&run("run-a"), 0, 10)).unwrap();
    let Some(Fact::CallSettled { content, original_bytes, truncated, .. }) = &events[2].fact else {
        panic!("{events:?}")
    };
    assert_eq!((blocks_text(content).as_str(), *original_bytes, *truncated), ("héllo", 6, false));
    let turns = block_on(log.past_turns(&conversation("tui:default"), true, 10)).unwrap();
    assert_eq!((turns.len(), turns[0].assistant.as_str()), (2, "It says héllo."));
}
