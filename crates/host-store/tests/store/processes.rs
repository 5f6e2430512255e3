//! Several processes on one log, and what `kill -9` leaves.
//!
//! A child is this test program again, with [`child_entry`] alone and a role in its environment.

use crate::events::*;
use host_event::Scope;
use host_history::{HistoryStore, RunListQuery, ScopeFilter};
use host_store::{BackgroundCheck, EventLog, Incarnation, OpenOptions, RetentionPolicy, RunQuery};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROLE: &str = "HOST_STORE_TEST_ROLE";
const DIR: &str = "HOST_STORE_TEST_DIR";

fn child(role: &str, dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child_entry", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(DIR, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The lines that a child says about its work, from now on.
fn said(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let stdout = BufReader::new(child.stdout.take().unwrap());
    // The harness prints the test's name without a line break before what the child says first.
    stdout
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.split_once("@ ").map(|(_, said)| said.to_owned()))
}

fn say(text: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "@ {text}").unwrap();
    out.flush().unwrap();
}

/// Not a test of its own: what the children do. Without a role it has nothing to do.
#[test]
fn child_entry() {
    let (Ok(role), Ok(dir)) = (std::env::var(ROLE), std::env::var(DIR)) else { return };
    let dir = Path::new(&dir);
    let (role, tag) = role.split_once(' ').unwrap();
    match role {
        "write" => write_large(dir, tag),
        "live" => live(dir, tag),
        "recover" => recover(dir),
        "retain" => retain(dir),
        other => panic!("no role {other}"),
    }
}

/// Appends 200 records of 200 kB, and says each one that was acknowledged.
fn write_large(dir: &Path, tag: &str) {
    let log = open(dir);
    say("open");
    let filler = "x".repeat(200_000);
    for n in 0..200 {
        append(&log, vec![note(&format!("{tag}.{n} {filler}"))]).unwrap();
        say(&format!("{tag}.{n}"));
    }
    log.close().unwrap();
}

/// Starts a run and a call in it, says so and lives until its input ends.
fn live(dir: &Path, tag: &str) {
    let log = open(dir);
    let incarnation = Incarnation::take(dir).unwrap();
    let scope = Scope::of_run(&conversation("web:a#2026-11-30"), &run(tag));
    append(&log, vec![event(&started(incarnation.id(), "do it", false), scope, 5)]).unwrap();
    say("running");
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn recover(dir: &Path) {
    let log = open(dir);
    let _ = std::io::stdin().read_line(&mut String::new());
    for found in log.recover_interrupted(99).unwrap() {
        say(found.run.as_str());
    }
    log.close().unwrap();
}

/// Goes on with turns, and keeps twenty runs, an anchor behind each.
fn retain(dir: &Path) {
    let log = open(dir);
    let policy = RetentionPolicy { runs_max: 20, ..RetentionPolicy::default() };
    let mut n = log.report().last_seq;
    loop {
        n += 1;
        turn(&log, "web:a", &format!("r{n}"), "words to find", "an answer");
        say(&format!("r{n}"));
        if n.is_multiple_of(3) {
            log.retain(&policy, 30).unwrap();
            log.anchor_head(30).unwrap();
            say("retained");
        }
    }
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn two_processes_append_one_dies_and_a_third_finds_every_acknowledged_event() {
    // T9-03, ENG-7
    let dir = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (child("write a", dir.path()), child("write b", dir.path()));
    let (mut says_one, says_two) = (said(&mut one), said(&mut two));
    let mut acknowledged: Vec<String> = Vec::new();
    while acknowledged.len() < 100 {
        acknowledged.push(says_one.next().unwrap());
    }
    one.kill().unwrap();
    acknowledged.extend(says_one);
    one.wait().unwrap();
    acknowledged.extend(says_two);
    assert!(two.wait().unwrap().success());
    acknowledged.retain(|said| said != "open");
    assert!(acknowledged.iter().filter(|said| said.starts_with("b.")).count() == 200);

    let third = open(dir.path());
    assert!(third.report().unclean);
    append(&third, vec![note("third process")]).unwrap();
    third.close().unwrap();
    let messages = messages(dir.path());
    let names: Vec<&str> = messages.iter().map(|text| text.split(' ').next().unwrap()).collect();
    for wanted in &acknowledged {
        assert_eq!(names.iter().filter(|name| *name == wanted).count(), 1, "{wanted}");
    }
    // The dying process may have written one event that it could not say any more.
    let written = names.iter().filter(|name| name.contains('.')).count();
    assert!(written <= acknowledged.len() + 1, "{written} of {}", acknowledged.len());
    for text in messages.iter().filter(|text| text.contains(".")).filter(|text| text.ends_with('x')) {
        assert!(text.len() > 200_000, "a torn record");
    }
}

#[test]
fn a_retention_that_is_killed_leaves_a_whole_log_and_goes_on() {
    // QUA-2, HIS-7, AUD-1: wherever it dies, the chain is whole, the index agrees, and the newest are there.
    let dir = tempfile::tempdir().unwrap();
    for round in 0..8_u64 {
        let mut child = child(&format!("retain {round}"), dir.path());
        let mut says = said(&mut child);
        let mut told: Vec<String> = Vec::new();
        while told.iter().filter(|it| *it == "retained").count() < 3 {
            told.push(says.next().unwrap());
        }
        std::thread::sleep(Duration::from_micros(700 * round));
        child.kill().unwrap();
        told.extend(says);
        child.wait().unwrap();
        told.retain(|it| it != "retained");

        let log = open(dir.path());
        let report = log.audit_verify(&[]).unwrap();
        assert!(report.is_sound(), "{report:?}");
        let query = RunListQuery {
            scope: ScopeFilter::Everything,
            before: None,
            status: Some("any".to_owned()),
            limit: 1000,
        };
        let indexed: Vec<u64> = log.list_runs(&query).unwrap().iter().rev().map(|row| row.seq).collect();
        let events = log.events_after(0, 10_000).unwrap();
        let begun: Vec<u64> = events.iter().filter(|it| it.kind == "run_started").map(|it| it.seq).collect();
        assert_eq!(indexed, begun);
        let newest = log.list_runs(&query).unwrap();
        let kept: Vec<&str> = newest.iter().map(|row| row.run.as_str()).collect();
        for acknowledged in told.iter().rev().take(20) {
            assert!(kept.contains(&acknowledged.as_str()), "{acknowledged} of {kept:?}");
        }
        // A run that the kill left open would hold the horizon; every start of a host settles it first.
        log.recover_interrupted(30).unwrap();
        log.retain(&RetentionPolicy { runs_max: 20, ..RetentionPolicy::default() }, 30).unwrap();
        assert!(log.list_runs(&query).unwrap().len() <= 21);
        log.close().unwrap();
    }
}

#[test]
fn a_reader_sees_what_is_there_and_touches_nothing() {
    // T9-03, QUA-2: beside a writer, and behind one that was killed.
    let dir = tempfile::tempdir().unwrap();
    assert!(EventLog::open_to_read(dir.path()).unwrap().is_none());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "looking makes nothing");
    let mut writer = child("live r1", dir.path());
    assert_eq!(said(&mut writer).next().unwrap(), "running");
    let reader = EventLog::open_to_read(dir.path()).unwrap().unwrap();
    assert_eq!(reader.runs(&RunQuery { limit: 9, ..RunQuery::default() }).unwrap().len(), 1);
    assert!(reader.dead_runs().unwrap().is_empty());
    assert!(append(&reader, vec![note("no")]).is_err());
    assert!(reader.retain(&RetentionPolicy::default(), 1).is_err());
    kill(writer);
    assert_eq!(reader.dead_runs().unwrap(), [run("r1")]);
    let wal = std::fs::read(dir.path().join("log.sqlite-wal")).unwrap();
    reader.close().unwrap();
    let again = EventLog::open_to_read(dir.path()).unwrap().unwrap();
    assert_eq!(again.events_after(0, 9).unwrap().len(), 1);
    drop(again);
    assert_eq!(
        std::fs::read(dir.path().join("log.sqlite-wal")).unwrap(),
        wal,
        "what was left stays for the next start"
    );
    let log = open(dir.path());
    assert!(log.report().unclean, "a reader hides no unclean stop");
    assert_eq!(log.recover_interrupted(99).unwrap().len(), 1);
}

#[test]
fn an_unclean_stop_is_known_recorded_and_checked_in_the_background() {
    // ENG-7, T9-01
    let dir = tempfile::tempdir().unwrap();
    let mut writer = child("live r1", dir.path());
    assert_eq!(said(&mut writer).next().unwrap(), "running");
    let beside = open(dir.path());
    assert!(!beside.report().unclean, "the other process lives");
    assert_eq!(beside.background_check(), BackgroundCheck::NotNeeded);
    beside.close().unwrap();
    kill(writer);
    let log = open(dir.path());
    assert!(log.report().unclean);
    let began = Instant::now();
    while log.background_check() == BackgroundCheck::Running && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let BackgroundCheck::Done(check) = log.background_check() else { panic!("{:?}", log.background_check()) };
    assert!(check.is_sound() && check.chain.last >= 1, "{check:?}");
    log.close().unwrap();
    assert!(!open(dir.path()).report().unclean, "said once");
    let told = messages(dir.path());
    assert!(told.iter().any(|text| text.contains("1 events are there")), "{told:?}");
}

#[test]
fn only_the_runs_of_dead_processes_become_interrupted_and_each_once() {
    // ENG-7
    let dir = tempfile::tempdir().unwrap();
    let (mut dead, mut alive) = (child("live dead", dir.path()), child("live alive", dir.path()));
    let (mut says_dead, mut says_alive) = (said(&mut dead), said(&mut alive));
    assert_eq!((says_dead.next().unwrap(), says_alive.next().unwrap()), ("running".into(), "running".into()));
    kill(dead);

    // Two recoveries at the same time.
    let mut recoveries = [child("recover 1", dir.path()), child("recover 2", dir.path())];
    for recovery in &mut recoveries {
        recovery.stdin.take().unwrap().write_all(b"now\n").unwrap();
    }
    let found: Vec<String> =
        recoveries.iter_mut().flat_map(|recovery| said(recovery).collect::<Vec<_>>()).collect();
    for mut recovery in recoveries {
        assert!(recovery.wait().unwrap().success());
    }
    assert_eq!(found, ["dead"]);

    let log = open(dir.path());
    assert!(log.recover_interrupted(100).unwrap().is_empty());
    let state = |name: &str| {
        let runs = log.runs(&RunQuery { limit: 9, ..RunQuery::default() }).unwrap();
        let run = runs.iter().find(|found| found.run.as_str() == name).unwrap();
        (run.status.clone(), run.failure_kind.clone())
    };
    assert_eq!(state("dead"), ("interrupted".to_owned(), Some("process_death".to_owned())));
    assert_eq!(state("alive"), ("running".to_owned(), None));
    let ends = block_on(host_ports::log::Log::run_events(&log, &run("dead"), 0, 99)).unwrap();
    assert_eq!(ends.iter().filter(|event| event.kind == "run_settled").count(), 1);

    kill(alive);
    let found = log.recover_interrupted(101).unwrap();
    assert_eq!(found.iter().map(|found| found.run.as_str()).collect::<Vec<_>>(), ["alive"]);
    assert_eq!(
        std::fs::read_dir(dir.path().join("incarnations")).unwrap().count(),
        0,
        "dead locks are removed"
    );
}

#[test]
fn opening_at_once_makes_one_log() {
    // T9-03: a new folder, and two processes that start together.
    let dir = tempfile::tempdir().unwrap();
    let threads: Vec<_> = (0..6)
        .map(|n| {
            let dir = dir.path().to_owned();
            std::thread::spawn(move || {
                let log = EventLog::open(OpenOptions::new(&dir)).unwrap();
                append(&log, vec![note(&n.to_string())]).unwrap();
                log.report().created
            })
        })
        .collect();
    let created = threads.into_iter().map(|thread| thread.join().unwrap()).filter(|created| *created).count();
    assert_eq!(created, 1);
    assert_eq!(messages(dir.path()).len(), 6);
}

/// Whether this process holds a POSIX lock on a file, by the kernel's own list.
#[cfg(target_os = "linux")]
fn is_locked_here(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (pid, inode) = (std::process::id().to_string(), std::fs::metadata(path).unwrap().ino().to_string());
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    locks.lines().filter(|line| line.contains("POSIX")).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.contains(&pid.as_str()) && fields.iter().any(|field| field.rsplit(':').next() == Some(&inode))
    })
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_opening_in_one_process_takes_no_lock_from_the_first() {
    // T9-03: POSIX locks go when any descriptor of the file is closed in the process, and then another
    // process may believe to be the last one.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.sqlite");
    let first = open(dir.path());
    append(&first, vec![note("one")]).unwrap();
    assert!(is_locked_here(&path));
    let second = open(dir.path());
    assert!(is_locked_here(&path), "looking at the file's header let go of the lock");
    append(&second, vec![note("two")]).unwrap();
    let mut other = child("recover x", dir.path());
    other.stdin.take().unwrap().write_all(b"now\n").unwrap();
    assert!(other.wait().unwrap().success());
    assert!(dir.path().join("log.sqlite-wal").exists(), "the other process took it away");
    append(&first, vec![note("three")]).unwrap();
    second.close().unwrap();
    first.close().unwrap();
    assert_eq!(messages(dir.path()), ["one", "two", "three"]);
}
