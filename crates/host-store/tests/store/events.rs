//! Appending and reading; and what the other tests make events with.

use host_event::{Fact, NewEvent, Scope};
use host_ports::log::{Log, LogError};
use host_redact::Redactor;
use host_store::{Durability, EventLog, OpenOptions};
use host_turn::{Ending, Usage};
use host_vocab::{Block, CallId, ConversationId, RunId};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

pub fn conversation(id: &str) -> ConversationId {
    ConversationId::parse(id).unwrap()
}

pub fn run(id: &str) -> RunId {
    RunId::parse(id).unwrap()
}

pub fn event(fact: &Fact, scope: Scope, at: i64) -> NewEvent {
    NewEvent::of(fact, scope, at, &Redactor::default())
}

pub fn started(incarnation: &str, input: &str, isolated: bool) -> Fact {
    Fact::RunStarted {
        incarnation: incarnation.to_owned(),
        source: "terminal".to_owned(),
        source_detail: None,
        user_input: input.to_owned(),
        attachments: Vec::new(),
        model: "scripted:a".to_owned(),
        effort: None,
        isolated,
        offered: Vec::new(),
        withheld: Vec::new(),
    }
}

pub fn settled(ending: Ending, text: &str) -> Fact {
    Fact::RunSettled {
        ending,
        text: text.to_owned(),
        usage: Usage::default(),
        duration_ms: 5,
        failover_history: Vec::new(),
    }
}

pub fn warning(message: &str) -> Fact {
    Fact::Warning { code: "test".to_owned(), message: message.to_owned() }
}

pub fn note(message: &str) -> NewEvent {
    event(&warning(message), Scope::default(), 1)
}

pub fn open(dir: &Path) -> EventLog {
    EventLog::open(OpenOptions::new(dir)).unwrap()
}

pub fn append(log: &EventLog, events: Vec<NewEvent>) -> Result<u64, LogError> {
    block_on(log.append(events))
}

/// A whole turn.
pub fn turn(log: &EventLog, conversation_id: &str, run_id: &str, user: &str, assistant: &str) {
    let scope = Scope::of_run(&conversation(conversation_id), &run(run_id));
    append(log, vec![event(&started("i", user, false), scope.clone(), 10)]).unwrap();
    append(log, vec![event(&settled(Ending::Succeeded, assistant), scope, 20)]).unwrap();
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// The messages of all warnings of the log, in order, and the chain checked on the way.
pub fn messages(dir: &Path) -> Vec<String> {
    let log = open(dir);
    let check = log.check_full().unwrap();
    assert!(check.is_sound(), "{check:?}");
    log.close().unwrap();
    let conn = rusqlite::Connection::open(dir.join("log.sqlite")).unwrap();
    let mut all = conn
        .prepare("SELECT json_extract(body, '$.message') FROM events WHERE kind = 'warning' ORDER BY seq")
        .unwrap();
    all.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_library_has_no_known_corruption_bug() {
    let version: Vec<u32> =
        host_store::sqlite_version().split('.').map(|part| part.parse().unwrap()).collect();
    assert!(version >= vec![3, 51, 3], "{version:?}");
}

#[test]
fn what_is_appended_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let scope = Scope::of_run(&conversation("tui:a"), &run("run-1"));
    let call = scope.call(&CallId::parse("call/1 ä").unwrap());
    let facts = [
        (started("i", "hello", false), scope.clone()),
        (
            Fact::CallSettled {
                tool: "Read".into(),
                settled: "done".into(),
                code: "ok".into(),
                content: vec![Block::text("x")],
                structured: Some(serde_json::json!({"a": [1, null]})),
                outcome: None,
                duration_ms: 1,
                original_bytes: 1,
                truncated: false,
                kept: Vec::new(),
            },
            call,
        ),
        (settled(Ending::Succeeded, "bye"), scope),
    ];
    let events = facts.iter().map(|(fact, scope)| event(fact, scope.clone(), 42)).collect();
    assert_eq!(append(&log, events).unwrap(), 3);
    assert_eq!(append(&log, vec![note("of no run")]).unwrap(), 4);
    assert_eq!(append(&log, Vec::new()).unwrap(), 4);
    let read = block_on(log.run_events(&run("run-1"), 0, 100)).unwrap();
    assert_eq!(read.len(), 3);
    for (stored, (fact, scope)) in read.iter().zip(&facts) {
        assert_eq!((stored.fact.as_ref(), &stored.scope, stored.at), (Some(fact), scope, 42));
    }
    let page = block_on(log.run_events(&run("run-1"), 1, 1)).unwrap();
    assert_eq!(page.iter().map(|event| event.seq).collect::<Vec<_>>(), [2]);
    assert!(block_on(log.run_events(&run("run-2"), 0, 100)).unwrap().is_empty());
}

#[test]
fn a_run_is_found_whole_on_both_sides_of_the_lookup_mark() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let mut wanted = Vec::new();
    for n in 0..300_u64 {
        let id = run(&format!("run-{}", n % 3));
        let scope = Scope::of_run(&conversation("tui:a"), &id);
        let seq = append(&log, vec![event(&warning(&n.to_string()), scope, 1)]).unwrap();
        assert_eq!(seq, n + 1);
        if n % 3 == 1 {
            wanted.push(seq);
        }
        if matches!(n, 10 | 62 | 63 | 64 | 65 | 130 | 299) {
            let seqs = |after, max| {
                let events = block_on(log.run_events(&run("run-1"), after, max)).unwrap();
                events.iter().map(|event| event.seq).collect::<Vec<_>>()
            };
            assert_eq!(seqs(0, 1000), wanted, "after {n}");
            assert_eq!(seqs(0, 2), wanted[..2.min(wanted.len())]);
            assert_eq!(seqs(wanted[0], 1000), wanted[1..]);
        }
    }
    log.rebuild_projections().unwrap();
    assert_eq!(block_on(log.run_events(&run("run-1"), 0, 1000)).unwrap().len(), wanted.len());
}

#[test]
fn a_call_and_a_single_event_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let (call, other) = (CallId::parse("toolu_1").unwrap(), CallId::parse("toolu_2").unwrap());
    for n in 0..100 {
        let scope = Scope::of_run(&conversation("tui:a"), &run("r"));
        let scope = scope.call(if n % 50 == 7 { &call } else { &other });
        append(&log, vec![event(&warning(&n.to_string()), scope, n)]).unwrap();
    }
    let seqs = |after, max| {
        let events = log.call_events(&call, after, max).unwrap();
        events.iter().map(|event| event.seq).collect::<Vec<_>>()
    };
    assert_eq!((seqs(0, 9), seqs(0, 1), seqs(8, 9)), (vec![8, 58], vec![8], vec![58]));
    assert_eq!(log.event(58).unwrap().and_then(|event| event.scope.call), Some(call));
    assert_eq!(
        (log.event(0).unwrap(), log.event(101).unwrap(), log.event(u64::MAX).unwrap()),
        (None, None, None)
    );
}

#[test]
fn the_file_is_set_up_before_its_first_table_and_is_the_owners_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("new").join("store");
    let log = open(&store);
    append(&log, vec![note("a")]).unwrap();
    for (path, mode) in [
        ("", 0o700),
        ("keys", 0o700),
        ("log.sqlite", 0o600),
        ("log.sqlite-wal", 0o600),
        ("keys/log.key", 0o600),
    ] {
        let found = std::fs::metadata(store.join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{path}");
    }
    log.close().unwrap();
    assert!(!store.join("log.sqlite-wal").exists(), "a clean close leaves one file");
    assert_eq!(std::fs::read_dir(store.join("openers")).unwrap().count(), 0);
    assert_eq!(std::fs::read(store.join("keys/log.key")).unwrap().len(), 32);
    let conn = rusqlite::Connection::open(store.join("log.sqlite")).unwrap();
    let pragma =
        |name: &str| conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(pragma("application_id"), 0x6d6f_6e4c);
    assert_eq!((pragma("page_size"), pragma("auto_vacuum"), pragma("user_version")), (4096, 2, 3));
}

#[test]
fn a_digest_is_the_same_for_ever_and_another_under_another_key() {
    // AUD-1
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = open(one.path());
    let digest = log.keyed_digest(b"arguments");
    assert_eq!(digest.len(), 64);
    assert_ne!(digest, log.keyed_digest(b"argument"));
    log.close().unwrap();
    drop(log);
    assert_eq!(open(one.path()).keyed_digest(b"arguments"), digest);
    assert_ne!(open(two.path()).keyed_digest(b"arguments"), digest);
}

#[test]
fn a_closed_log_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    log.close().unwrap();
    log.close().unwrap();
    assert_eq!(append(&log, vec![note("a")]), Err(LogError::Closed));
    assert_eq!(block_on(log.run_events(&run("a"), 0, 1)), Err(LogError::Closed));
    assert_eq!(log.check_full(), Err(LogError::Closed));
}

#[test]
fn an_event_without_bound_is_refused_and_nothing_of_its_batch_stays() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let huge = note(&"x".repeat(17 * 1024 * 1024));
    let refused = append(&log, vec![note("first"), huge]).unwrap_err();
    assert!(refused.to_string().contains("limit"), "{refused}");
    assert_eq!(append(&log, vec![note("second")]).unwrap(), 1);
    drop(log);
    assert_eq!(messages(dir.path()), ["second"]);
}

#[test]
fn many_tasks_append_at_once_and_the_chain_holds() {
    // T9-03, within one process
    for durability in [Durability::Process, Durability::Full] {
        let dir = tempfile::tempdir().unwrap();
        let log = EventLog::open(OpenOptions::new(dir.path()).durability(durability)).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
        let log = std::sync::Arc::new(log);
        let tasks: Vec<_> = (0..8)
            .map(|task| {
                let log = log.clone();
                runtime.spawn(async move {
                    for n in 0..10 {
                        log.append(vec![note(&format!("{task}.{n}")), note("b")]).await.unwrap();
                    }
                })
            })
            .collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        let check = log.check_full().unwrap();
        assert!(check.is_sound() && check.chain.checked == 160, "{check:?}");
    }
}
