//! The facts of a run, and the form in which they last.
//!
//! A [`Fact`] is what happened. It becomes a [`NewEvent`] only through the redactor
//! ([`NewEvent::of`]), so nothing unredacted can reach the log (QUA-5).

mod canonical;
mod fact;
mod scope;
mod stored;
mod upcast;

pub use canonical::CanonicalRow;
pub use fact::{Fact, ModelCall, OfferedTool, WithheldTool};
pub use scope::Scope;
pub use stored::{NewEvent, StoredEvent};
pub use upcast::upcast;
