//! What the gate costs: lookup, schema, approval, record, bound, settle.

use crate::row::{Row, median};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::kept::KeepNothing;
use host_ports::log::{Log, Recorder};
use host_redact::Redactor;
use host_store::{Durability, EventLog, OpenOptions};
use host_surface::{
    Admitted, Belongs, CallRequest, Decl, GatePorts, Offer, Surface, Tool, ToolError, ToolOutput, ToolSource,
    seal,
};
use host_testkit::{Answers, OneSource, TestClock, facts};
use host_vocab::{Effect, Secret};
use serde_json::json;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Nothing;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct NothingInput {
    /// A path.
    file_path: String,
    /// A number.
    #[serde(default)]
    limit: Option<u32>,
}

impl Tool for Nothing {
    const DECL: Decl = Decl {
        name: "Read",
        about: "Does nothing.",
        effects: &[Effect::ReadsWorkspace],
        belongs: Belongs::Lists,
        codes: &[],
    };
    type Input = NothingInput;
    async fn run(&self, call: Admitted<NothingInput>) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(format!("{} {:?}", call.input.file_path, call.input.limit)))
    }
}

async fn surface(recorder: Option<Recorder>) -> Surface {
    let sources: Vec<Arc<dyn ToolSource>> =
        vec![Arc::new(OneSource::new("builtin", vec![Offer::ready(Nothing)]))];
    let ports = GatePorts {
        recorder,
        ask: Arc::new(Answers::default()),
        keep: Arc::new(KeepNothing),
        deadline: Duration::from_secs(60),
    };
    seal(&sources, &ToolPolicy::allow_all(), Arc::new(ApprovalRules::default()), facts(), ports)
        .await
        .expect("one tool has one name")
}

async fn per_call(surface: &Surface, calls: usize) -> f64 {
    let mut figures = Vec::with_capacity(calls);
    for n in 0..calls + 100 {
        let request = CallRequest::new("Read", json!({"file_path": "src/main.rs", "limit": n}));
        let begun = Instant::now();
        let settled = surface.call(request).await;
        let took = begun.elapsed().as_secs_f64() * 1e6;
        assert!(settled.recorded && !settled.is_error());
        if n >= 100 {
            figures.push(took);
        }
    }
    median(figures)
}

fn recorder(folder: &std::path::Path, durability: Durability) -> (Arc<EventLog>, Recorder) {
    let log =
        Arc::new(EventLog::open(OpenOptions::new(folder).durability(durability)).expect("a fresh folder"));
    let redactor =
        Redactor::new([Secret::new("a-configured-value-1"), Secret::new("another-configured-value")]);
    let recorder =
        Recorder::new(Arc::clone(&log) as Arc<dyn Log>, Arc::new(redactor), Arc::new(TestClock::default()));
    (log, recorder)
}

/// Two rows of about the size of our two events, each its own transaction, on a WAL database without sync.
fn raw_sqlite(folder: &std::path::Path, calls: usize) -> f64 {
    let db = rusqlite::Connection::open(folder.join("raw.sqlite")).expect("a fresh file");
    db.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);",
    )
    .expect("plain statements");
    let mut insert = db.prepare("INSERT INTO t(b) VALUES (?1)").expect("a plain statement");
    let body = "x".repeat(420);
    let figures = (0..calls)
        .map(|_| {
            let begun = Instant::now();
            insert.execute([&body]).expect("room");
            insert.execute([&body]).expect("room");
            begun.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    median(figures)
}

fn one_fsync(folder: &std::path::Path, times: usize) -> f64 {
    let mut file = std::fs::File::create(folder.join("sync")).expect("a fresh file");
    let figures = (0..times)
        .map(|_| {
            file.write_all(&[0; 4096]).expect("room");
            let begun = Instant::now();
            file.sync_data().expect("a disk");
            begun.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    median(figures)
}

pub fn run() -> Vec<Row> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    // On the disk that the workspace is on: a memory file system would make fsync free.
    let folder = tempfile::tempdir_in(".").expect("a folder here");
    let raw = raw_sqlite(folder.path(), 5_000);
    let bare = runtime.block_on(async { per_call(&surface(None).await, 20_000).await });
    let (log, it) = recorder(&folder.path().join("default"), Durability::Process);
    let recorded = runtime.block_on(async { per_call(&surface(Some(it)).await, 20_000).await });
    log.close().expect("it closes");
    let (log, it) = recorder(&folder.path().join("full"), Durability::Full);
    let full = runtime.block_on(async { per_call(&surface(Some(it)).await, 300).await });
    log.close().expect("it closes");
    let fsync = one_fsync(folder.path(), 300);
    vec![
        Row::beside("gate", "a call without the record, p50", bare, "µs", "raw SQLite: two inserts", raw)
            .bound("≤ 10 µs"),
        Row::beside(
            "gate",
            "a call with validation and record, p50",
            recorded,
            "µs",
            "raw SQLite: two inserts",
            raw,
        )
        .bound("≤ 60 µs"),
        Row::beside("gate", "the same under durability full, p50", full, "µs", "one fsync of 4 KiB", fsync),
    ]
}
