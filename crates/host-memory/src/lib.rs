//! Long-term memory.
//!
//! Notes in plain Markdown are the truth (`daily/YYYY-MM-DD.md`, one bullet a fact); an index beside them
//! answers quickly and can be built anew from them at any time. This crate holds the rules; it opens no file
//! and keeps no row itself: [`NoteFiles`] is answered by `host-files`, [`Index`] by `host-store`.
//!
//! [`MemoryStore`] is the door: it remembers, recalls, reads by date, and is what the command line works on.
//!
//! Read `bullet.rs` next (the format), then `store.rs`.

mod bullet;
mod files;
mod index;
mod normal;
mod refusal;
mod terms;

pub use bullet::{Bullet, BulletError, Kind, Parsed, Status, parse, render};
pub use files::{Appended, FENCE, Fingerprint, Listed, NoteError, NoteFiles, NoteWriter, SourceName};
pub use index::{Fact, FactRow, Index, IndexCounts, IndexError, IndexedSource, SourceUpdate, VectorIdentity};
pub use normal::{content_hash, normal};
pub use refusal::{Refusal, Refused};
pub use terms::{Terms, terms};
