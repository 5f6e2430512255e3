//! The one decision on which tools exist for a run, as a value that explains itself.

mod approval;
mod policy;

pub use approval::{Approval, ApprovalDecision, ApprovalRules};
pub use policy::{Judgement, Subject, ToolPolicy};
