//! Killed at every system call of a write.

use crate::fixture::{NOON, World, facts};
use crate::parallel::example;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// What a run did, call by call.
fn calls(trace: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(trace).unwrap();
    let name = |line: &str| {
        let line = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        line.split_once('(').map(|(name, _)| name.to_owned())
    };
    let names = text.lines().filter_map(name);
    names.filter(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')).collect()
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

// REM-7: the fact is there once or not at all, and the tool said the truth.
#[test]
fn killed_at_every_system_call_the_fact_is_there_once_or_not_at_all() {
    const TEXT: &str = "Bob lives in Lyon";
    for prepared in [false, true] {
        let fresh = || {
            let it = World::new();
            if prepared {
                it.store.remember_now("Eve lives in Nice").unwrap();
            }
            it
        };
        let sample = fresh();
        let trace = sample.folder.path().join("trace");
        let said = run(&sample.root(), &["-o", trace.to_str().unwrap()], NOON, TEXT);
        assert!(said.starts_with("ok duplicate=false recovered=false"), "{said}");
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        // From the store's first look at its folder on; before that the process only starts.
        for name in calls(&trace) {
            *counts.entry(name).or_default() += 1;
        }
        let writes = ["fsync", "write", "openat", "mkdir", "mkdirat", "pwrite64", "ftruncate", "flock", "fchmod", "statx", "newfstatat", "fstat", "lseek", "pread64", "fcntl", "close", "unlink", "getdents64", "read", "mmap", "munmap", "exit_group", "lstat", "stat", "access", "unlinkat", "rename", "renameat"];
        let mut kills = 0;
        let mut seen = (0, 0);
        for (name, count) in counts.iter().filter(|(name, _)| writes.contains(&name.as_str())) {
            for when in 1..=*count {
                let it = fresh();
                let inject = format!("inject={name}:signal=KILL:when={when}");
                let said = run(&it.root(), &["-e", "trace=none", "-e", &inject], NOON, TEXT);
                kills += 1;
                let there = facts(&it.root()).iter().filter(|it| *it == TEXT).count();
                assert!(there <= 1, "{inject}: {there} times");
                if said.starts_with("ok") {
                    assert_eq!(there, 1, "{inject}: it said {said}");
                }
                // The next day, in a new process: completed or stored, and never twice.
                let again = run(&it.root(), &["-e", "trace=none"], NOON + 86_400_000, TEXT);
                assert!(again.starts_with("ok "), "{inject}: {again}");
                assert_eq!(again.contains("daily/2026-09-03.md"), there == 1, "{inject}: {again}");
                assert_eq!(facts(&it.root()).iter().filter(|it| *it == TEXT).count(), 1, "{inject}");
                assert_eq!(it.store.stats().unwrap().index.memories, 1 + u64::from(prepared), "{inject}");
                if there == 1 { seen.1 += 1 } else { seen.0 += 1 }
            }
        }
        println!("{kills} kills: {} before the fact was there, {} after", seen.0, seen.1);
        assert!(seen.0 > 20 && seen.1 > 10, "{seen:?}");
    }
}
