//! A fresh process: how soon it answers, and how much it takes.

use crate::row::{Row, median};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The release binary beside this program.
pub fn binary() -> PathBuf {
    let me = std::env::current_exe().expect("this program has a path");
    let path = me.with_file_name("mono-agent");
    assert!(path.exists(), "build it first: cargo build --release -p mono-agent");
    path
}

fn time(command: &mut Command) -> f64 {
    let begun = Instant::now();
    let status =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it starts");
    assert!(status.success(), "{command:?} failed");
    begun.elapsed().as_secs_f64() * 1e3
}

fn middle(times: usize, mut command: impl FnMut() -> Command) -> f64 {
    for _ in 0..3 {
        time(&mut command());
    }
    median((0..times).map(|_| time(&mut command())).collect())
}

/// An agent whose model is a script with one answer.
fn agent(folder: &Path) {
    std::fs::write(folder.join("answers.jsonl"), "{\"text\": \"forty-two\"}\n").expect("room");
    std::fs::write(folder.join("IDENTITY.md"), "You answer.\n").expect("room");
    let config = "{\"runtime\": {\"model\": \"scripted:answers.jsonl\"}, \"context\": {\"identityPath\": \"IDENTITY.md\"}}";
    std::fs::write(folder.join("mono-agent.config.json"), config).expect("room");
}

/// A figure of this process's memory, in MB.
pub fn own_memory(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    let kb = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kb.map_or(f64::NAN, |kb| kb / 1024.0)
}

/// Peak resident memory of one run, in MB, as the kernel counts it for an ended child.
fn peak_rss(mut command: Command) -> f64 {
    let out =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let pid = out.id();
    let mut peak = 0.0_f64;
    let mut child = out;
    while child.try_wait().expect("it can be waited for").is_none() {
        if let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status"))
            && let Some(line) = status.lines().find(|line| line.starts_with("VmHWM:"))
            && let Some(kb) = line.split_whitespace().nth(1).and_then(|it| it.parse::<f64>().ok())
        {
            peak = peak.max(kb / 1024.0);
        }
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    peak
}

pub fn run() -> Vec<Row> {
    let binary = binary();
    let folder = tempfile::tempdir_in(".").expect("a folder here");
    agent(folder.path());
    let ours = |args: &[&str]| {
        let mut command = Command::new(&binary);
        command
            .args(args)
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", folder.path());
        command
    };
    let raw = middle(30, || Command::new("true"));
    let python = middle(15, || {
        let mut command = Command::new("python3");
        command.args(["-c", "print(42)"]);
        command
    });
    let help = middle(30, || ours(&["--help"]));
    let answer = middle(30, || ours(&["run", "--local", "What is it?"]));
    let rss = peak_rss(ours(&["run", "--local", "What is it?"]));
    let python_rss = peak_rss({
        let mut command = Command::new("python3");
        command.args(["-c", "import json, sqlite3, asyncio, time; time.sleep(0.05)"]);
        command
    });
    let size = std::fs::metadata(&binary).map_or(f64::NAN, |it| it.len() as f64 / 1e6);
    let specs = ours(&["tools", "--json"]).output().expect("it starts").stdout;
    let prompt = serde_json::from_slice::<serde_json::Value>(&specs)
        .ok()
        .and_then(|it| it["promptBytes"].as_u64())
        .map_or(f64::NAN, |bytes| bytes as f64 / 1e3);
    vec![
        Row::beside("process", "--help, p50", help, "ms", "true", raw).bound("≤ 10 ms"),
        Row::beside("process", "first scripted answer, p50", answer, "ms", "python3 -c print", python)
            .bound("≤ 60 ms"),
        Row::beside(
            "process",
            "its peak memory",
            rss,
            "MB",
            "python3 with json, sqlite3, asyncio",
            python_rss,
        )
        .bound("≤ 25 MB"),
        Row::beside("process", "prompt of a default agent", prompt, "kB", "the bound", 12.0).bound("≤ 12 kB"),
        Row::beside("process", "release binary, stripped", size, "MB", "the bound", 30.0).bound("≤ 30 MB"),
    ]
}
