//! Killed at every system call of a write.

use crate::fixture::{NOON, World, facts};
use crate::parallel::example;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a run did, call by call.
fn calls(trace: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(trace).unwrap();
    let name = |line: &str| {
        let line = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        line.split_once('(').map(|(name, _)| name.to_owned())
    };
    let names = text.lines().filter_map(name);
    names
        .filter(|it| {
            !it.is_empty() && it.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        })
        .collect()
}

fn run(root: &Path, strace: &[&str], day_ms: i64, text: &str) -> String {
    let out = Command::new("strace")
        .args(["-f", "-qq"])
        .args(strace)
        .arg(example())
        .args([root.as_os_str(), day_ms.to_string().as_ref(), text.as_ref()])
        .output()
        .expect("strace is installed (make test does it)");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

fn once(root: &Path, day_ms: i64, text: &str) -> String {
    let out = Command::new(example())
        .args([root.as_os_str(), day_ms.to_string().as_ref(), text.as_ref()])
        .output()
        .expect("the example runs");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

const TEXT: &str = "Bob lives in Lyon";

fn world(prepared: bool) -> World {
    let it = World::new();
    if prepared {
        it.store.remember_now("Eve lives in Nice").unwrap();
    }
    it
}

/// Kills one run at one call, looks, and runs again a day later. Says whether the fact was there.
fn kill(prepared: bool, name: &str, when: usize) -> bool {
    let it = world(prepared);
    let (trace, inject) = (format!("trace={name}"), format!("inject={name}:signal=KILL:when={when}"));
    let said = run(&it.root(), &["-o", "/dev/null", "-e", &trace, "-e", &inject], NOON, TEXT);
    let there = facts(&it.root()).iter().filter(|it| *it == TEXT).count();
    assert!(there <= 1, "{inject}: {there} times");
    if said.starts_with("ok") {
        assert_eq!(there, 1, "{inject}: it said {said}");
    }
    // The next day, in a new process: completed or stored, and never twice.
    let again = once(&it.root(), NOON + 86_400_000, TEXT);
    assert!(again.starts_with("ok "), "{inject}: {again}");
    assert_eq!(again.contains("daily/2026-09-03.md"), there == 1, "{inject}: {again}");
    assert_eq!(facts(&it.root()).iter().filter(|it| *it == TEXT).count(), 1, "{inject}");
    assert_eq!(it.store.stats().unwrap().index.memories, 1 + u64::from(prepared), "{inject}");
    there == 1
}

// REM-7: the fact is there once or not at all, and the tool said the truth.
#[test]
fn killed_at_every_system_call_the_fact_is_there_once_or_not_at_all() {
    for prepared in [false, true] {
        let sample = world(prepared);
        let trace = sample.folder.path().join("trace");
        let said = run(&sample.root(), &["-o", trace.to_str().unwrap()], NOON, TEXT);
        assert!(said.starts_with("ok duplicate=false recovered=false"), "{said}");
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for name in calls(&trace) {
            *counts.entry(name).or_default() += 1;
        }
        let kills: Vec<(&str, usize)> =
            counts.iter().flat_map(|(name, count)| (1..=*count).map(|when| (name.as_str(), when))).collect();
        let next = AtomicUsize::new(0);
        let after = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let Some((name, when)) = kills.get(next.fetch_add(1, Ordering::Relaxed)) {
                        after.fetch_add(usize::from(kill(prepared, name, *when)), Ordering::Relaxed);
                    }
                });
            }
        });
        let (kills, after) = (kills.len(), after.into_inner());
        println!("{kills} kills: {} before the fact was there, {after} after", kills - after);
        assert!(kills - after > 50 && after > 20);
    }
}
