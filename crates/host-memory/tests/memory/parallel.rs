//! Many writers at once.

use crate::fixture::{NOON, World, facts};
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub fn example() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.push("examples/remember_once");
    assert!(path.exists(), "cargo builds {} before it runs the tests", path.display());
    path
}

// T10-01
#[test]
fn fifty_writers_from_two_conversations_and_other_processes_lose_nothing() {
    let it = World::new();
    let wanted: Vec<String> = (0..50).map(|n| format!("fact number {n} of fifty")).collect();
    std::thread::scope(|scope| {
        for (n, text) in wanted.iter().enumerate() {
            // Two stores in this process, and every fifth fact comes from a process of its own.
            let store = if n % 2 == 0 { it.store.clone() } else { it.again() };
            let root = it.root();
            scope.spawn(move || {
                if n % 5 == 0 {
                    let out = Command::new(example())
                        .args([root.as_os_str(), NOON.to_string().as_ref(), text.as_ref()])
                        .output()
                        .unwrap();
                    let said = String::from_utf8_lossy(&out.stdout).into_owned();
                    assert!(said.starts_with("ok duplicate=false"), "{said}");
                } else {
                    assert!(!store.remember_now(text).unwrap().duplicate);
                }
            });
        }
    });
    let mut sorted = wanted.clone();
    sorted.sort();
    assert_eq!(it.facts(), sorted);
    let counts = it.again().stats().unwrap();
    assert_eq!((counts.index.memories, counts.index.live, counts.index.repeated_ids), (50, 50, 0));
    assert!(wanted.iter().all(|text| it.store.remember_now(text).unwrap().duplicate));
}

// T10-03
#[test]
fn the_same_fact_twice_at_once_is_stored_once() {
    let it = World::new();
    let done: Vec<_> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|n| {
                let store = if n % 2 == 0 { it.store.clone() } else { it.again() };
                scope.spawn(move || store.remember_now("Bob lives in Lyon").unwrap())
            })
            .collect();
        writers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(done.iter().filter(|it| !it.duplicate).count(), 1);
    assert_eq!(it.facts(), ["Bob lives in Lyon"]);
}

// T10-01: killed in the middle, acknowledged facts are there, each once, and no others half.
#[test]
fn killed_writers_leave_whole_facts() {
    let it = World::new();
    let mut acknowledged = Vec::new();
    for round in 0..6_u64 {
        let children: Vec<_> = (0..5)
            .map(|n| {
                let text = format!("round {round} fact {n}");
                let child = Command::new(example())
                    .args([it.root().as_os_str(), NOON.to_string().as_ref(), text.as_ref()])
                    .stdout(Stdio::piped())
                    .spawn()
                    .unwrap();
                (text, child)
            })
            .collect();
        std::thread::sleep(std::time::Duration::from_millis(3 * round));
        for (n, (text, mut child)) in children.into_iter().enumerate() {
            if n % 2 == 0 {
                let _ = child.kill();
            }
            let out = child.wait_with_output().unwrap();
            if out.stdout.starts_with(b"ok") {
                acknowledged.push(text);
            }
        }
    }
    let there = facts(&it.root());
    for text in &acknowledged {
        assert_eq!(there.iter().filter(|it| *it == text).count(), 1, "{text}");
    }
    for text in &there {
        assert!(text.starts_with("round ") && text.contains(" fact "), "half a fact: {text}");
        assert!(it.store.remember_now(text).unwrap().bytes_written == 0);
    }
}

// T10-01, REM-3: what the index holds is remembered between questions; another process's writes, an edit by hand and a
// file that is gone are seen all the same, by a store that has asked before.
#[test]
fn a_store_that_has_asked_before_sees_what_others_changed() {
    let it = World::new();
    it.store.remember_now("the first fact").unwrap();
    let other = it.again();
    assert!(other.remember_now("the first fact").unwrap().duplicate);
    other.remember_now("a second one from elsewhere").unwrap();
    assert!(it.store.remember_now("a second one from elsewhere").unwrap().duplicate);
    it.next_day();
    it.store.remember_now("a third one, a day later").unwrap();
    assert!(other.remember_now("a third one, a day later").unwrap().duplicate);
    // By hand: the first day is gone, so its facts are new again.
    std::fs::remove_file(it.path("daily/2026-09-03.md")).unwrap();
    assert!(!it.store.remember_now("the first fact").unwrap().duplicate);
    assert!(other.remember_now("the first fact").unwrap().duplicate);
    assert!(!other.remember_now("a second one from elsewhere").unwrap().duplicate);
    assert_eq!(it.facts(), ["a second one from elsewhere", "a third one, a day later", "the first fact"]);
}
