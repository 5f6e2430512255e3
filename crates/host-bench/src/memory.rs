//! Long-term memory over 100,000 facts: rebuild, recall, `Remember`, resident memory (REM-8). The vectors are made
//! from words by a hash, so that no model's time is in the figures.

use crate::row::{Row, median};
use host_app::SystemClock;
use host_files::MemoryFolder;
use host_memory::{
    CosineScale, EmbedError, Embedder, MemoryStore, Purpose, Refusal, StoreParts, Tier, VectorIdentity,
};
use host_ports::BoxFuture;
use host_ports::memory::Recall as _;
use host_redact::Redactor;
use host_store::MemoryIndex;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const FACTS: usize = 100_000;
const DIM: usize = 256;
const WORDS: &str = "budget server invoice meeting Ada Bob Carla Lisbon Oslo report backup deploy parser database \
review release printer router contract license holiday dentist piano novel wedding customer ticket incident \
certificate pipeline test keyboard coffee garden train hotel salary training workshop design logo font camera \
battery weather market price order";

/// The hidden argument of the process whose memory is looked at.
pub const CHILD: &str = "__memory-resident";

/// A small generator: the same facts in every run.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// A fact of ordinary shape: a dozen words, some common and some rare.
fn fact(n: usize) -> String {
    let words: Vec<&str> = WORDS.split(' ').collect();
    let mut seed = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut pick = |of: usize| usize::try_from(next(&mut seed) % of as u64).unwrap_or(0);
    let mut text = format!("Note {n} about");
    for _ in 0..6 {
        let _infallible = write!(text, " {}", words[pick(words.len())]);
    }
    let _infallible = write!(text, " in room r{} for project p{}", pick(5000), pick(2000));
    text
}

/// A vector of a text: the sum of one for each word.
struct Hashed;

impl Embedder for Hashed {
    fn identity(&self) -> VectorIdentity {
        VectorIdentity { provider: "bench".to_owned(), model: "hashed".to_owned(), dim: DIM }
    }

    fn scale(&self) -> CosineScale {
        CosineScale { floor: 0.38, same: 0.75 }
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        _: Purpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        #[allow(clippy::cast_precision_loss, reason = "any direction will do")]
        let vector = |text: &String| {
            let mut sum = vec![0.0_f32; DIM];
            for word in text.split(' ') {
                let mut seed = word.bytes().fold(0xcbf2_9ce4_8422_2325, |sum: u64, b| {
                    (sum ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
                }) | 1;
                sum.iter_mut().for_each(|place| *place += (next(&mut seed) % 2001) as f32 - 1000.0);
            }
            sum
        };
        Box::pin(async move { Ok(texts.iter().map(vector).collect()) })
    }
}

fn store(root: &Path, vectors: bool) -> MemoryStore {
    let folder = MemoryFolder::open(root).expect("a folder");
    let index = MemoryIndex::new(&folder.index_path());
    let none: [(&str, &str); 0] = [];
    MemoryStore::new(StoreParts {
        files: Arc::new(folder),
        index: Arc::new(index),
        refusal: Refusal::new(Arc::new(Redactor::default()), none),
        clock: Arc::new(SystemClock),
        embedder: vectors.then(|| Arc::new(Hashed) as Arc<dyn Embedder>),
        tier: if vectors { Tier::Journal } else { Tier::Lite },
        read_only: false,
    })
}

fn fill(root: &Path) {
    let daily = root.join("daily");
    std::fs::create_dir_all(&daily).expect("a folder");
    let mut text = String::new();
    for n in 0..FACTS {
        let day = n / 100;
        let date = format!("{}-{:02}-{:02}", 2000 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
        let _infallible = write!(
            text,
            "- – {}\n  <!--mem id=RM-{n:064x} type=note status=open salience=0.5 isInsight=0 created={date}T08:00:00.000Z refs= -->\n",
            fact(n)
        );
        if n % 100 == 99 {
            std::fs::write(daily.join(format!("{date}.md")), &text).expect("room");
            text.clear();
        }
    }
}

fn query(n: usize) -> String {
    let words: Vec<&str> = WORDS.split(' ').collect();
    match n % 3 {
        0 => fact(n * 101 % FACTS),
        1 => format!("which room has the {} for {}", words[n % words.len()], words[(n + 7) % words.len()]),
        _ => format!("project p{}", n * 31 % 2000),
    }
}

async fn recall_ms(store: &MemoryStore) -> f64 {
    store.recall("warm up", 8).await.expect("it recalls");
    let mut times = Vec::new();
    for n in 0..60 {
        let query = query(n);
        let begun = Instant::now();
        store.recall(&query, 8).await.expect("it recalls");
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    median(times)
}

/// One append of a fact's size to a file, with its fsync.
fn fsync_ms(root: &Path) -> f64 {
    let mut file = std::fs::File::create(root.join("probe")).expect("a fresh file");
    let times = (0..61).map(|_| {
        let begun = Instant::now();
        file.write_all(&[b'x'; 220]).and_then(|()| file.sync_all()).expect("a disk");
        begun.elapsed().as_secs_f64() * 1e3
    });
    median(times.collect())
}

fn remember_ms(store: &MemoryStore) -> f64 {
    let times = (0..61).map(|n| {
        let text = format!("a new fact of today, number {n}");
        let begun = Instant::now();
        store.remember_now(&text).expect("it is stored");
        begun.elapsed().as_secs_f64() * 1e3
    });
    median(times.collect())
}

/// What the child says: its resident memory after some recalls, in MB, and their median in milliseconds.
pub fn child(root: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
    let took = runtime.block_on(recall_ms(&store(root, true)));
    println!("{} {took}", crate::process::own_memory("VmRSS:"));
}

pub fn run() -> Vec<Row> {
    // On the disk that the workspace is on: a memory file system would make fsync free.
    let folder = tempfile::tempdir_in(".").expect("a folder here");
    let root = folder.path().join("memory");
    std::fs::create_dir(&root).expect("a folder");
    fill(&root);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let lite = store(&root, false);
    #[allow(clippy::cast_precision_loss, reason = "a count")]
    let rates = (0..3).map(|_| {
        let begun = Instant::now();
        lite.rebuild().expect("it is built");
        FACTS as f64 / begun.elapsed().as_secs_f64() / 1e3
    });
    let rate = median(rates.collect());
    let lexical = runtime.block_on(recall_ms(&lite));
    let (remember, fsync) = (remember_ms(&lite), fsync_ms(&root));
    drop(lite);
    runtime.block_on(store(&root, true).embed_missing(FACTS * 2)).expect("vectors");
    let program = std::env::current_exe().expect("this program");
    let output = std::process::Command::new(program).arg(CHILD).arg(&root).output().expect("a child");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let figures: Vec<f64> = said.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    let figure = |at: usize| figures.get(at).copied().unwrap_or(f64::NAN);
    vec![
        Row::beside("memory", "rebuild, lexical, thousand facts/s", rate, "k/s", "the bound", 50.0)
            .bound("≥ 50"),
        Row::beside("memory", "recall, lexical, 100,000 facts, p50", lexical, "ms", "the bound", 10.0)
            .bound("< 10 ms"),
        Row::beside("memory", "recall, hybrid, 100,000 facts, p50", figure(1), "ms", "the bound", 30.0)
            .bound("< 30 ms"),
        Row::beside("memory", "Remember with fsync, p50", remember, "ms", "one append with fsync", fsync)
            .bound("≤ 3×, < 5 ms"),
        Row::beside("memory", "resident, int8 vectors of 100,000 facts", figure(0), "MB", "the bound", 100.0)
            .bound("≤ 100 MB"),
    ]
}
