//! Stores one fact on one thread and says what it was told: `remember_once FOLDER UNIX_MS TEXT`. The crash
//! tests kill it at every system call.
#![allow(clippy::disallowed_methods, reason = "an example for tests")]

use host_files::MemoryFolder;
use host_memory::{MemoryStore, Refusal, StoreParts, Tier};
use host_redact::Redactor;
use host_store::MemoryIndex;
use host_testkit::TestClock;
use std::path::Path;
use std::sync::Arc;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("FOLDER UNIX_MS TEXT");
    let (folder, ms, text) = (next(), next(), next());
    let files = MemoryFolder::open(Path::new(&folder)).expect("the folder opens");
    let index = MemoryIndex::new(&files.index_path());
    let store = MemoryStore::new(StoreParts {
        files: Arc::new(files),
        index: Arc::new(index),
        refusal: Refusal::new(Arc::new(Redactor::default()), [("A", "b")]),
        clock: Arc::new(TestClock::at(ms.parse().expect("Unix milliseconds"))),
        embedder: None,
        tier: Tier::Lite,
        read_only: false,
    });
    match store.remember_now(&text) {
        Ok(done) => println!("ok duplicate={} recovered={} {}", done.duplicate, done.recovered, done.source),
        Err(err) => println!("error {err}"),
    }
}
