//! A memory in a folder of its own.

use host_files::MemoryFolder;
use host_memory::{Embedder, MemoryStore, NoteFiles, Refusal, StoreParts, Tier, parse};
use host_redact::Redactor;
use host_store::MemoryIndex;
use host_testkit::TestClock;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// 2026-09-03T10:00:00Z.
pub const NOON: i64 = 1_788_429_600_000;

pub struct World {
    pub folder: TempDir,
    pub clock: Arc<TestClock>,
    pub store: MemoryStore,
    tier: Tier,
}

impl World {
    pub fn new() -> Self {
        Self::of(Tier::Lite, None)
    }

    pub fn of(tier: Tier, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = Arc::new(TestClock::at(NOON));
        let store = open(&folder.path().join("memory"), Arc::clone(&clock), tier, embedder);
        World { folder, clock, store, tier }
    }

    /// The same memory as another process would open it.
    pub fn again(&self) -> MemoryStore {
        open(&self.root(), Arc::clone(&self.clock), self.tier, None)
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("memory")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// All facts of the notes.
    pub fn facts(&self) -> Vec<String> {
        facts(&self.root())
    }

    pub fn next_day(&self) {
        self.clock.advance(Duration::from_secs(86_400));
    }

    pub async fn recalled(&self, query: &str) -> Vec<String> {
        use host_ports::memory::Recall as _;
        self.store.recall(query, 10).await.unwrap().hits.into_iter().map(|hit| hit.text).collect()
    }
}

pub fn facts(root: &Path) -> Vec<String> {
    let files = MemoryFolder::open(root).unwrap();
    let sources = files.list().unwrap();
    let texts = sources.iter().map(|it| files.read(&it.name).unwrap().0);
    let mut facts: Vec<String> = texts.flat_map(|text| parse(&text).0).map(|it| it.bullet.text).collect();
    facts.sort();
    facts
}

pub fn open(
    root: &Path,
    clock: Arc<TestClock>,
    tier: Tier,
    embedder: Option<Arc<dyn Embedder>>,
) -> MemoryStore {
    let files = MemoryFolder::open(root).unwrap();
    let index = MemoryIndex::new(&files.index_path());
    MemoryStore::new(StoreParts {
        files: Arc::new(files),
        index: Arc::new(index),
        refusal: Refusal::new(
            Arc::new(Redactor::default()),
            [("DB_PASSWORD", "Tr0ub4dor"), ("HOME", "/home/ada")],
        ),
        clock,
        embedder,
        tier,
        read_only: false,
    })
}
