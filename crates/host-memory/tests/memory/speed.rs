//! Figures. What they must be (REM-8) is asserted where `MEMORY_SPEED_STRICT` is set, on a quiet machine and in a
//! release build.

use crate::fixture::World;
use host_ports::memory::Recall as _;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

const WORDS: [&str; 48] = [
    "budget",
    "server",
    "invoice",
    "meeting",
    "Ada",
    "Bob",
    "Carla",
    "Lisbon",
    "Oslo",
    "report",
    "backup",
    "deploy",
    "parser",
    "database",
    "review",
    "release",
    "printer",
    "router",
    "contract",
    "license",
    "holiday",
    "dentist",
    "piano",
    "novel",
    "wedding",
    "customer",
    "ticket",
    "incident",
    "certificate",
    "pipeline",
    "test",
    "keyboard",
    "coffee",
    "garden",
    "train",
    "hotel",
    "salary",
    "training",
    "workshop",
    "design",
    "logo",
    "font",
    "camera",
    "battery",
    "weather",
    "market",
    "price",
    "order",
];

/// Facts of ordinary shape: a dozen words, some common and some rare.
pub fn fact(n: usize) -> String {
    let mut seed = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |of: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % of as u64).unwrap_or(0)
    };
    let mut text = format!("Note {n} about");
    for _ in 0..6 {
        let _ = write!(text, " {}", WORDS[next(WORDS.len())]);
    }
    let _ = write!(text, " in room r{} for project p{}", next(5000), next(2000));
    text
}

fn fill(it: &World, facts: usize) {
    let mut day = String::new();
    let mut date = jiff::civil::date(2020, 1, 1);
    for n in 0..facts {
        let _ = write!(
            day,
            "- – {}\n  <!--mem id=RM-{n:064x} type=note status=open salience=0.5 isInsight=0 created={date}T08:00:00.000Z refs= -->\n",
            fact(n)
        );
        if n % 100 == 99 || n + 1 == facts {
            it.write(&format!("daily/{date}.md"), &day);
            day.clear();
            date = date.tomorrow().unwrap();
        }
    }
}

// REM-8
#[tokio::test]
async fn speed_of_remember_recall_and_rebuild() {
    let strict = !cfg!(debug_assertions);
    let facts = if strict { 100_000 } else { 5_000 };
    let it = World::new();
    fill(&it, facts);
    let begun = Instant::now();
    let rebuilt = it.store.rebuild().unwrap();
    let took = begun.elapsed();
    assert_eq!(rebuilt.index.live, facts as u64);
    let rate = facts as f64 / took.as_secs_f64();
    println!("rebuild: {facts} facts in {took:?}, {rate:.0} facts/s");

    let mut times = Vec::new();
    for n in 0..60 {
        let query = match n % 3 {
            0 => fact(n * 37 % facts),
            1 => format!("which room has the {} for {}", WORDS[n % 48], WORDS[(n + 7) % 48]),
            _ => format!("project p{}", n * 31 % 2000),
        };
        let begun = Instant::now();
        it.store.recall(&query, 8).await.unwrap();
        times.push(begun.elapsed());
    }
    let recall = median(times);
    println!("recall, lexical, {facts} facts: p50 {recall:?}");

    let mut times = Vec::new();
    for n in 0..41 {
        let begun = Instant::now();
        it.store.remember_now(&format!("a new fact of today, number {n}")).unwrap();
        times.push(begun.elapsed());
    }
    let remember = median(times);
    let fsync = fsync(&it);
    let multiple = remember.as_secs_f64() / fsync.as_secs_f64();
    println!("remember among {facts} facts: p50 {remember:?}, {multiple:.1} × one fsync ({fsync:?})");
    if std::env::var_os("MEMORY_SPEED_STRICT").is_some() {
        assert!(
            rate >= 50_000.0 && recall < Duration::from_millis(10) && remember < Duration::from_millis(5)
        );
    }
}

/// One append to a file with its fsync.
fn fsync(it: &World) -> Duration {
    use std::io::Write as _;
    let mut file = std::fs::File::create(it.path("probe")).unwrap();
    let times = (0..41).map(|_| {
        let begun = Instant::now();
        file.write_all(&[b'x'; 200]).unwrap();
        file.sync_all().unwrap();
        begun.elapsed()
    });
    median(times.collect())
}

// REM-8: with vectors, where the table is at hand.
#[tokio::test]
async fn speed_of_hybrid_recall() {
    let Some(table) = crate::labelled::wordllama() else {
        println!("WORDLLAMA_DIR is not set: hybrid recall is not measured");
        return;
    };
    let strict = !cfg!(debug_assertions);
    let facts = if strict { 100_000 } else { 2_000 };
    let begun = Instant::now();
    for n in 0..200 {
        std::hint::black_box(table.vector(&fact(n)));
    }
    println!("wordllama: {:?} a text", begun.elapsed() / 200);
    let it = World::of(host_memory::Tier::Journal, Some(std::sync::Arc::new(table)));
    fill(&it, facts);
    it.store.rebuild().unwrap();
    let begun = Instant::now();
    it.store.embed_missing(facts).await.unwrap();
    println!("vectors: {facts} in {:?}", begun.elapsed());
    let mut times = Vec::new();
    for n in 0..40 {
        let begun = Instant::now();
        it.store.recall(&fact(n * 101 % facts), 8).await.unwrap();
        times.push(begun.elapsed());
    }
    let recall = median(times);
    println!("recall, hybrid, {facts} facts: p50 {recall:?}; resident {} MB", resident_mb());
    if std::env::var_os("MEMORY_SPEED_STRICT").is_some() {
        assert!(recall < Duration::from_millis(30));
    }
}

fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}
