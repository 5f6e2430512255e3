//! The tool contract, sealing, and the gate that every call passes.
//!
//! A [`ToolSource`] makes [`Offer`]s for one run; [`seal`] judges them by the policy and gives a
//! [`Surface`]: all that this run may do, made once and never widened. [`Surface::call`] is the only way
//! to run a tool, because a tool takes an [`Admitted`] input and only this crate can make one.
//!
//! Read `gate.rs` next: it is all of governance.

mod admitted;
mod bound;
mod explain;
mod gate;
mod lazy;
mod schema;
mod seal;
mod settled;
mod source;
mod surface;
mod tool;

pub use admitted::{Admitted, CallContext, Progress, ProgressSink};
pub use explain::{ExplainRow, Explanation};
pub use gate::{Arguments, CallRequest, GatePorts, codes};
pub use lazy::{SHOWN_BYTES_MAX, SHOWN_TOOLS_MAX, TOOL_SEARCH};
pub use schema::{InputSchema, SchemaProblem};
pub use seal::{SealError, seal};
pub use settled::{How, Settled};
pub use source::{Offer, RunFacts, ToolSource, Withheld, WithheldBy};
pub use surface::Surface;
pub use tool::{AnyTool, Belongs, Decl, EffectState, Retry, Tool, ToolError, ToolInfo, ToolOutput};
