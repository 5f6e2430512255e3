//! The one decision on which tools exist for a run, as a value that explains itself.
//!
//! [`create_tool_policy`] makes a [`ToolPolicy`] of the two lists, or says everything that is wrong with
//! them; [`ToolPolicy::judge`] answers for one tool and names the setting that decided. A child run gets
//! [`ToolPolicy::narrow`] of its parent's. [`ApprovalRules`] then speak on single calls of tools that exist.
//!
//! Nothing here reads a file, the environment or a clock.

mod alias;
mod approval;
mod catalogue;
mod create;
mod describe;
mod entry;
mod environment;
mod error;
mod init_review;
mod load;
mod nearest;
mod policy;
mod runtime;

pub use alias::{LEGACY_ALIASES, LegacyAlias, deprecated_names_page, legacy_alias, resolve_tool_name};
pub use approval::{Approval, ApprovalDecision, ApprovalRules, ApprovalRulesError, MisnamedArgument};
pub use catalogue::{
    CATALOGUE, Family, Gate, KnownTool, canonical_spelling, gate_of, is_app_owned_server, kebab_spelling,
    known_tool,
};
pub use create::{
    LIST_ENTRIES_MAX, ListPlace, McpToolPolicy, MissingList, PolicyInput, create_tool_policy,
    fail_closed_tool_policy,
};
pub use describe::{DescribeFacts, PolicyDescription, PolicyStatus};
pub use entry::KnownNames;
pub use environment::{
    ALLOWED_TOOLS_VARIABLE, DISALLOWED_TOOLS_VARIABLE, PlacedList, merge_list, variable_list,
};
pub use error::{PolicyFinding, ToolPolicyCode, ToolPolicyError};
pub use init_review::{InitFacts, InitReview, allow_all_review};
pub use load::{load_tool_policy_from_json_file, tool_policy_from_json_str};
pub use nearest::nearest;
pub use policy::{Judgement, Subject, ToolPolicy};
pub use runtime::{
    RuntimeCapabilities, RuntimeToolOptions, UnenforceablePolicy, tool_policy_to_runtime_options,
};
