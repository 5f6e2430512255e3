//! Fakes of the ports, and a surface with one tool, for the tests of every crate.

mod ask;
mod clock;
mod log;
mod model;
mod sessions;
mod surface;

pub use ask::Answers;
pub use clock::TestClock;
pub use log::MemoryLog;
pub use model::{Script, Step};
pub use sessions::MemorySessions;
pub use surface::{OneSource, TestSurface, facts};
