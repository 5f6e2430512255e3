//! How long the questions take over generated history. Printed, not asserted but for a wide bound: figures are
//! `host-bench`'s. `HISTORY_RUNS=100000 cargo test --release -p host-store --test history measure -- --nocapture`

use crate::past::*;
use host_history::sample;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The processor's time of this thread, which other work on the machine doesn't touch.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}

fn quantiles(what: &str, runs: usize, mut one: impl FnMut(usize)) -> Duration {
    let (mut times, mut busy): (Vec<Duration>, Vec<Duration>) = (0..runs)
        .map(|n| {
            let (began, at) = (Instant::now(), cpu());
            one(n);
            (began.elapsed(), cpu() - at)
        })
        .unzip();
    times.sort();
    busy.sort();
    println!(
        "  {what}: p50 {:?}, p99 {:?}; of the processor p50 {:?}, p99 {:?}",
        times[runs / 2],
        times[runs * 99 / 100],
        busy[runs / 2],
        busy[runs * 99 / 100]
    );
    times[runs / 2]
}

fn measure(runs: u64, calls: u64) {
    let past = Past::new();
    let began = Instant::now();
    for part in 0..runs.div_ceil(100) {
        let events =
            (part * 100..((part + 1) * 100).min(runs)).flat_map(|n| sample::run(n, calls, 1)).collect();
        past.append(events);
    }
    let written = began.elapsed();
    let (began, at) = (Instant::now(), cpu());
    while past.log.search_behind().unwrap() > 0 {
        past.runs(&asks("web:sample-0", false), json!({"limit": 1})).unwrap();
    }
    println!(
        "{runs} runs, {} calls: written in {written:?}, indexed in {:?} ({:?} of the processor)",
        runs * calls,
        began.elapsed(),
        cpu() - at
    );
    let web = asks("web:sample-0", false);
    let ask = |arguments: Value| past.runs(&web, arguments).unwrap();
    quantiles("list", 200, |_| drop(ask(json!({}))));
    quantiles("overview", 200, |n| {
        drop(ask(json!({"runId": format!("run-sample-{:08}", n as u64 * 7919 % runs)})));
    });
    let cursor = ask(json!({"runId": "run-sample-00000000"}))["timelineCursor"].clone();
    quantiles("timeline", 200, |_| drop(ask(json!({"runId": "run-sample-00000000", "cursor": cursor}))));
    let words = [
        "invoice budget",
        "评审 quota",
        "needle-0",
        "flight zzzz",
        "deploy",
        "会議 預算",
        "kernel socket thread",
        "password-reset",
    ];
    quantiles("run search", 200, |n| drop(ask(json!({"query": words[n % words.len()]}))));
    let calls_of = |arguments: Value| past.calls(&web, arguments).unwrap();
    quantiles("call list", 200, |_| drop(calls_of(json!({}))));
    let words = [
        "pin-0-0",
        "invoice budget quota",
        "评审",
        "zz",
        "garden -x",
        "ขาว",
        "tic ket",
        "shard lexer parser",
    ];
    quantiles("call search", 200, |n| {
        drop(calls_of(json!({"query": words[n % words.len()], "includeIsolated": true})))
    });
    quantiles("call search by lists", 200, |_| {
        drop(calls_of(json!({"tools": ["WebFetch"], "states": ["error"]})))
    });
    let record = calls_of(json!({"query": "pin-0-0"}))["calls"][0]["resultRecordId"].clone();
    quantiles("get", 200, |_| drop(calls_of(json!({"action": "get", "recordId": record}))));
}

// RUN-11, HIS-10
#[test]
fn measure_the_questions() {
    let runs = std::env::var("HISTORY_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    measure(runs.min(1000), 3);
    if runs > 1000 {
        measure(runs, 3);
    }
}
