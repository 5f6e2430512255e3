//! The questions over generated history (RUN-11, HIS-10): each at a small and a large size, searches beside `rg` over
//! the same records as JSON lines.

use crate::row::{Row, median};
use host_event::NewEvent;
use host_history::{
    CallArguments, CallViews, HistoryScope, HistoryStore, RunArguments, RunViews, View, sample,
};
use host_ports::log::Log;
use host_store::{EventLog, OpenOptions, RetentionPolicy};
use host_vocab::{ConversationId, RunId};
use serde_json::{Value, json};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// Calls of each generated run; each leaves two records.
const CALLS: u64 = 5;
/// Runs of the small set: 1,000 records.
const SMALL: u64 = 100;
/// Runs of the large set, unless `HOST_BENCH_RUNS` says otherwise: 100,000 records.
const LARGE: u64 = 10_000;
/// How often each question is asked.
const TIMES: usize = 300;

/// One generated history.
struct Past {
    log: Arc<EventLog>,
    runtime: tokio::runtime::Runtime,
    runs: u64,
    write_us: f64,
    index_us: f64,
}

/// Writes generated runs into a log below a folder; gives the microseconds of an event's writing and indexing.
pub fn generate(dir: &Path, runs: u64, calls: u64, conversations: u64) -> (f64, f64) {
    let past = Past::generate(dir, runs, calls, conversations);
    export(&past.log, &dir.join("records.jsonl"));
    let figures = (past.write_us, past.index_us);
    past.log.close().expect("it closes");
    figures
}

/// Every event as a JSON line, as somebody would keep them who had no index.
fn export(log: &EventLog, path: &Path) {
    let mut out = BufWriter::new(std::fs::File::create(path).expect("a fresh file"));
    let mut after = 0;
    loop {
        let events = log.events_after(after, 10_000).expect("a sound log");
        let Some(last) = events.last() else { break };
        after = last.seq;
        for event in &events {
            let line =
                json!({"seq": event.seq, "kind": event.kind, "run": event.scope.run, "body": event.body});
            writeln!(out, "{line}").expect("room");
        }
    }
    out.flush().expect("room");
}

impl Past {
    fn generate(dir: &Path, runs: u64, calls: u64, conversations: u64) -> Self {
        let options = OpenOptions { search: false, ..OpenOptions::new(dir) };
        let log = Arc::new(EventLog::open(options).expect("a fresh folder"));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a thread");
        let (mut events, began) = (0, Instant::now());
        for part in 0..runs.div_ceil(100) {
            let batch: Vec<NewEvent> = (part * 100..((part + 1) * 100).min(runs))
                .flat_map(|n| sample::run(n, calls, conversations))
                .collect();
            events += batch.len();
            runtime.block_on(log.append(batch)).expect("room");
        }
        let write_us = began.elapsed().as_secs_f64() * 1e6 / events as f64;
        let began = Instant::now();
        log.catch_up().expect("room");
        let index_us = began.elapsed().as_secs_f64() * 1e6 / events as f64;
        Past { log, runtime, runs, write_us, index_us }
    }

    fn scope(&self) -> HistoryScope {
        HistoryScope {
            conversation: ConversationId::parse("web:sample-0").expect("a valid id"),
            rollover: false,
            current: RunId::parse("run-now").expect("a valid id"),
        }
    }

    fn store(&self) -> Arc<dyn HistoryStore> {
        Arc::clone(&self.log) as Arc<dyn HistoryStore>
    }

    fn runs(&self, asked: &RunArguments) -> Value {
        RunViews::new(self.store(), View::default(), true).answer(&self.scope(), asked).expect("an answer")
    }

    fn calls(&self, asked: &CallArguments) -> Value {
        CallViews::new(self.store(), View::default(), None).answer(&self.scope(), asked).expect("an answer")
    }
}

/// The middle and the 99th of a hundred, in milliseconds.
fn times(mut one: impl FnMut(usize)) -> (f64, f64) {
    let mut figures: Vec<f64> = (0..TIMES + 10)
        .map(|n| {
            let began = Instant::now();
            one(n);
            began.elapsed().as_secs_f64() * 1e3
        })
        .skip(10)
        .collect();
    figures.sort_by(f64::total_cmp);
    (figures[TIMES / 2], figures[TIMES * 99 / 100])
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn run_named(past: &Past, n: usize) -> String {
    format!("run-sample-{:08}", n as u64 * 7919 % past.runs)
}

/// Every question that must cost the same at any size.
fn flat(past: &Past) -> Vec<(&'static str, (f64, f64))> {
    let cursor = past.runs(&RunArguments { run_id: text("run-sample-00000000"), ..RunArguments::default() });
    let cursor = cursor["timelineCursor"].as_str().map(str::to_owned);
    let pin = CallArguments { query: text("pin-0-0"), ..CallArguments::default() };
    let record = past.calls(&pin)["calls"][0]["resultRecordId"].as_str().map(str::to_owned);
    let timeline = RunArguments { run_id: text("run-sample-00000000"), cursor, ..RunArguments::default() };
    let get = CallArguments { action: text("get"), record_id: record, ..CallArguments::default() };
    vec![
        ("list of runs", times(|_| drop(past.runs(&RunArguments::default())))),
        (
            "overview of a run",
            times(|n| {
                let asked = RunArguments { run_id: Some(run_named(past, n)), ..RunArguments::default() };
                drop(past.runs(&asked));
            }),
        ),
        ("page of a timeline", times(|_| drop(past.runs(&timeline)))),
        ("list of calls", times(|_| drop(past.calls(&CallArguments::default())))),
        ("get of a record", times(|_| drop(past.calls(&get)))),
    ]
}

/// Words of every sort: common and rare, short ones, scripts without spaces, none that is there.
const RUN_WORDS: [&str; 8] = [
    "invoice budget",
    "评审 quota",
    "needle-0",
    "flight zzzz",
    "deploy",
    "会議 预算",
    "kernel socket thread",
    "password-reset",
];
const CALL_WORDS: [&str; 8] =
    ["pin-0-0", "invoice budget quota", "评审", "zz", "garden -x", "ข้าว", "tic ket", "shard lexer parser"];

fn searches(past: &Past) -> [(&'static str, (f64, f64)); 2] {
    [
        (
            "search of runs",
            times(|n| {
                let query = text(RUN_WORDS[n % RUN_WORDS.len()]);
                drop(past.runs(&RunArguments { query, ..RunArguments::default() }));
            }),
        ),
        (
            "search of calls",
            times(|n| {
                let query = text(CALL_WORDS[n % CALL_WORDS.len()]);
                drop(past.calls(&CallArguments {
                    query,
                    include_isolated: Some(true),
                    ..CallArguments::default()
                }));
            }),
        ),
    ]
}

/// `rg` for all words of each query over the same records, in milliseconds; the first word by `rg`, the others by
/// `rg` behind it.
fn rg(file: &Path, queries: &[&str]) -> Option<f64> {
    let one = |query: &str| -> Option<f64> {
        let began = Instant::now();
        let mut words = query.split(' ');
        let find = |word: &str| {
            let mut command = Command::new("rg");
            command.args(["-F", "-i", "--", word]).stdout(Stdio::piped());
            command
        };
        let mut child = find(words.next()?).arg(file).spawn().ok()?;
        let mut before = Vec::new();
        for word in words {
            let input = child.stdout.take()?;
            before.push(std::mem::replace(&mut child, find(word).arg("-").stdin(input).spawn().ok()?));
        }
        child.wait_with_output().ok()?;
        for mut one in before {
            one.wait().ok()?;
        }
        Some(began.elapsed().as_secs_f64() * 1e3)
    };
    let figures: Option<Vec<f64>> = queries.iter().chain(queries).map(|query| one(query)).collect();
    figures.map(median)
}

/// What recording adds to one call: its start and its end, each durable against the death of the process.
fn write_path(past: &Past) -> f64 {
    let mut figures = Vec::new();
    for n in 0..500 {
        let events = sample::run(past.runs + n, 1, 1);
        let mut events = events.into_iter();
        let (begun, start, end) = (events.next(), events.next(), events.next());
        let append = |event: Option<NewEvent>| {
            past.runtime.block_on(past.log.append(event.into_iter().collect())).expect("room");
        };
        append(begun);
        let began = Instant::now();
        append(start);
        append(end);
        figures.push(began.elapsed().as_secs_f64() * 1e6);
        past.runtime.block_on(past.log.append(events.collect())).expect("room");
    }
    median(figures)
}

/// Removing the oldest fifty runs, in microseconds an event.
fn retention(past: &Past) -> f64 {
    past.log.catch_up().expect("room");
    let policy = RetentionPolicy {
        runs_max: past.runs + 450,
        age_ms_max: i64::MAX / 4,
        calls_max: u64::MAX / 4,
        call_bytes_max: u64::MAX / 4,
        ..RetentionPolicy::default()
    };
    let began = Instant::now();
    let report = past.log.retain(&policy, sample::EPOCH_MS).expect("a sound log");
    began.elapsed().as_secs_f64() * 1e6 / report.events.max(1) as f64
}

pub fn run() -> Vec<Row> {
    let runs = std::env::var("HOST_BENCH_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(LARGE);
    let folder = tempfile::tempdir_in(".").expect("a folder here");
    let small = Past::generate(&folder.path().join("small"), SMALL, CALLS, 1);
    let large = Past::generate(&folder.path().join("large"), runs, CALLS, 1);
    let records = runs * CALLS * 2;
    let beside = format!("the same at {} records", SMALL * CALLS * 2);
    let mut rows = Vec::new();
    for ((what, (p50, p99)), (_, (small_p50, _))) in flat(&large).into_iter().zip(flat(&small)) {
        let what = format!("{what}, {records} records, p50");
        let row = Row::beside("history", &what, p50, "ms", &beside, small_p50);
        rows.push(row.bound(&format!("≤ 2×, runs < 10 ms; p99 {p99:.2} ms")));
    }
    let lines = folder.path().join("records.jsonl");
    export(&large.log, &lines);
    let queries: [&[&str]; 2] = [&RUN_WORDS, &CALL_WORDS];
    let bounds = ["p50 < 10 ms", "p50 < 20 ms, p99 < 100 ms"];
    let both = searches(&large).into_iter().zip(searches(&small)).zip(queries).zip(bounds);
    for ((((what, (p50, p99)), (_, (small_p50, _))), queries), bound) in both {
        let peer = rg(&lines, queries).unwrap_or(f64::NAN);
        let named = format!("{what}, {records} records, p50");
        rows.push(
            Row::beside("history", &named, p50, "ms", "rg over the same as JSON lines", peer).bound(bound),
        );
        rows.push(Row::beside("history", &format!("{what}, p99"), p99, "ms", "its p50", p50).bound(bound));
        let grown = Row::beside("history", &format!("{what}, growth"), p50, "ms", &beside, small_p50);
        rows.push(grown.bound("printed"));
    }
    rows.push(
        Row::beside(
            "history",
            "recording a call's start and end, p50",
            write_path(&large),
            "µs",
            &beside,
            write_path(&small),
        )
        .bound("≤ 100 µs"),
    );
    rows.push(
        Row::beside(
            "history",
            "retention, an event removed",
            retention(&large),
            "µs",
            &beside,
            retention(&small),
        )
        .bound("the same"),
    );
    rows.push(Row::beside(
        "history",
        "writing, an event of a batch",
        large.write_us,
        "µs",
        &beside,
        small.write_us,
    ));
    rows.push(Row::beside("history", "indexing, an event", large.index_us, "µs", &beside, small.index_us));
    rows
}
