//! Prints how long one append of a 1 KB event takes:
//! `cargo run --release -p host-store --example append_time [FOLDER [no-search]]`.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a measurement, not part of the host")]

use host_event::{Fact, NewEvent, Scope};
use host_ports::log::Log;
use host_redact::Redactor;
use host_store::{Durability, EventLog, OpenOptions};
use host_vocab::{CallId, ConversationId, RunId};
use std::time::{Duration, Instant};

fn main() {
    let folder = std::env::args().nth(1);
    let search = std::env::args().nth(2).is_none();
    let dir = match &folder {
        Some(path) => tempfile::tempdir_in(path).unwrap(),
        None => tempfile::tempdir().unwrap(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let opening = Instant::now();
    let vault = host_store::PromptVault::open(&dir.path().join("process"), Durability::Process).unwrap();
    println!("prompts: opened new in {:?}", opening.elapsed());
    vault.close();
    for (name, durability, count) in
        [("process", Durability::Process, 50_000), ("full", Durability::Full, 500)]
    {
        let opening = Instant::now();
        let options =
            OpenOptions { search, ..OpenOptions::new(dir.path().join(name)).durability(durability) };
        let log = EventLog::open(options).unwrap();
        println!("{name}: opened new in {:?}", opening.elapsed());
        let mut times: Vec<Duration> = (0..count).map(|n| runtime.block_on(one(&log, n))).collect();
        times.sort();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        println!(
            "{name}: {count} appends, p50 {:?}, p90 {:?}, p99 {:?}, p99.9 {:?}, worst {:?}",
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            at(1.0)
        );
        println!("{name}: {} events behind in the search index", log.search_behind().unwrap());
        let closing = Instant::now();
        log.close().unwrap();
        println!("{name}: closed in {:?}", closing.elapsed());
        let opening = Instant::now();
        let log = EventLog::open(OpenOptions::new(dir.path().join(name)).durability(durability)).unwrap();
        println!("{name}: opened again in {:?}", opening.elapsed());
        let checking = Instant::now();
        let check = log.check_full().unwrap();
        println!("{name}: full check of {} events in {:?}", check.chain.checked, checking.elapsed());
    }
}

async fn one(log: &EventLog, n: u64) -> Duration {
    let run = RunId::parse(format!("run-{:032x}", n / 20)).unwrap();
    let conversation = ConversationId::parse(format!("web:thread-{}", n / 400)).unwrap();
    let scope = Scope::of_run(&conversation, &run).call(&CallId::parse(format!("call-{n:032x}")).unwrap());
    let fact = Fact::CallStarted {
        tool: "Read".to_owned(),
        source: "built-in".to_owned(),
        arguments: serde_json::json!({"path": "src/main.rs", "text": format!("{n} {}", "lorem ipsum dolor ".repeat(44))}),
        arguments_digest: "0".repeat(64),
        rule: "allow-all".to_owned(),
    };
    let event = NewEvent::of(&fact, scope, 1_700_000_000_000 + n as i64, &Redactor::default());
    let started = Instant::now();
    log.append(vec![event]).await.unwrap();
    started.elapsed()
}
