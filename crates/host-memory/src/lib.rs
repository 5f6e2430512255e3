//! Long-term memory.
//!
//! Notes in plain Markdown are the truth (`daily/YYYY-MM-DD.md`, one bullet a fact); an index beside them
//! answers quickly and can be built anew from them at any time. This crate holds the rules; it opens no file
//! and keeps no row itself: [`NoteFiles`] is answered by `host-files`, [`Index`] by `host-store`.
//!
//! [`MemoryStore`] is the door: it remembers, recalls, reads by date, and is what the command line works on.
//!
//! Read `bullet.rs` next (the format), then `store.rs`.

mod audit;
mod bullet;
mod capture;
mod consolidate;
mod embed;
mod files;
mod forget;
mod graph;
mod index;
mod inject;
mod intake;
mod journal;
mod maintenance;
mod normal;
mod rank;
mod recall;
mod refusal;
mod remember;
mod store;
mod supermemory;
mod sync;
mod terms;
mod upkeep;

pub use bullet::{Bullet, BulletError, Kind, Parsed, Status, parse, render};
pub use capture::{Capture, CaptureConfig, CaptureStep};
pub use consolidate::Consolidated;
pub use embed::{
    Breaker, BreakerConfig, CosineScale, EmbedError, Embedder, KnownFile, LOCAL_MODEL, LocalModel, Purpose,
    RemoteConfig, RemoteEmbedder, RemoteKind, StaticTable, TableError, unpacked,
};
pub use files::{Appended, FENCE, Fingerprint, Listed, NoteError, NoteFiles, NoteWriter, SourceName};
pub use forget::{ForgetError, ForgetPlan, Forgotten};
pub use index::{Fact, FactRow, Index, IndexCounts, IndexError, IndexedSource, SourceUpdate, VectorIdentity};
pub use intake::{
    Admission, CompletedTurn, FailureCategory, IntakeCounts, IntakeError, IntakeItem, IntakeReport, Retried,
    Speaker,
};
pub use journal::JournalDesk;
pub use maintenance::{DayNotes, Health, HealthCounts, MaintenanceError, Rebuilt, Stats};
pub(crate) use normal::content_hash_of;
pub use normal::{content_hash, normal};
pub use refusal::{Refusal, Refused};
pub use store::{MemoryStore, StoreParts, Tier};
pub use supermemory::{Supermemory, SupermemoryConfig};
pub use sync::SyncError;
pub use terms::{Terms, terms};
pub use upkeep::{Notes, Upkeep};
