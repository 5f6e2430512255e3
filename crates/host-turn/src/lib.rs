//! What comes in (a [`Turn`]), what goes out (a [`Reply`]), and how a run ends.
//!
//! A channel turns an outside message into one `Turn`; the engine answers with one `Reply`.

mod ending;
mod ledger;
pub mod outcome;
mod part;
mod plan;
mod reply;
mod turn;

pub use ending::{Ending, FailureKind, Usage};
pub use ledger::{Admission, PartLedger};
pub use part::{PARTS_MAX, Part, PartCode, PartKind};
pub use plan::{Delivery, Destination, Plan, matrix, plan};
pub use reply::Reply;
pub use turn::{Attachment, AttachmentKind, Channel, Trigger, Turn};
