//! The policy as a runtime gets it, and whether that runtime can enforce it.

use crate::create::McpToolPolicy;
use crate::entry::Target;
use crate::policy::{Allowed, Layer, ToolPolicy};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Both lists in canonical spelling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeToolOptions {
    /// `["*"]` for every tool, else the names.
    pub allowed_tools: Vec<String>,
    /// What is taken away.
    pub disallowed_tools: Vec<String>,
    /// `open` or `gated` (POL-7).
    pub mcp_tool_policy: &'static str,
}

/// Names by their folded spelling.
type Names = BTreeMap<String, Target>;

/// Everything, or these.
#[derive(Debug, Clone)]
enum Reach {
    All,
    These(Names),
}

/// The two lists of all layers as one pair (POL-14).
pub fn tool_policy_to_runtime_options(policy: &ToolPolicy) -> RuntimeToolOptions {
    let mut ours = Reach::All;
    let mut external = Reach::All;
    let mut denied = Names::new();
    for layer in &policy.layers {
        ours = meet(ours, ours_reach(layer), |a, b| (a == b).then(|| a.clone()));
        external = meet(external, external_reach(layer), narrower);
        for rule in &layer.denied {
            denied.extend(rule.targets.iter().map(|target| (target.key(), target.clone())));
            if layer.mcp == McpToolPolicy::Gated && rule.targets == [Target::All] {
                denied.insert(Target::ExternalAll.key(), Target::ExternalAll);
            }
        }
    }
    let gated = matches!(external, Reach::These(_));
    if gated
        && !denied.contains_key(&Target::ExternalAll.key())
        && denied.remove(&Target::All.key()).is_some()
    {
        // A `*` of lists that gate no external tool must not reach those now: it empties our part instead.
        ours = Reach::These(Names::new());
    }
    let mut allowed: Vec<String> = match ours {
        Reach::All => vec!["*".into()],
        Reach::These(names) => names.values().map(Target::spelling).collect(),
    };
    if let Reach::These(names) = external {
        allowed.extend(names.values().map(Target::spelling));
    }
    RuntimeToolOptions {
        allowed_tools: allowed,
        disallowed_tools: denied.values().map(Target::spelling).collect(),
        mcp_tool_policy: if gated { McpToolPolicy::Gated } else { McpToolPolicy::Open }.as_str(),
    }
}

fn targets(layer: &Layer, keep: impl Fn(&Target) -> bool) -> Names {
    layer
        .allowed
        .rules()
        .iter()
        .flat_map(|rule| &rule.targets)
        .filter(|target| keep(target))
        .map(|target| (target.key(), target.clone()))
        .collect()
}

fn ours_reach(layer: &Layer) -> Reach {
    match &layer.allowed {
        Allowed::Unset(_) | Allowed::Star(..) => Reach::All,
        Allowed::FailClosed => Reach::These(Names::new()),
        Allowed::Names(..) => Reach::These(targets(layer, |t| matches!(t, Target::Ours(_)))),
    }
}

fn external_reach(layer: &Layer) -> Reach {
    match &layer.allowed {
        _ if layer.mcp == McpToolPolicy::Open => Reach::All,
        Allowed::Unset(_) | Allowed::Star(..) => Reach::All,
        Allowed::FailClosed => Reach::These(Names::new()),
        Allowed::Names(..) => Reach::These(targets(layer, |t| !matches!(t, Target::Ours(_) | Target::All))),
    }
}

fn meet(a: Reach, b: Reach, both: impl Fn(&Target, &Target) -> Option<Target>) -> Reach {
    match (a, b) {
        (Reach::All, other) | (other, Reach::All) => other,
        (Reach::These(a), Reach::These(b)) => {
            let mut names = Names::new();
            for left in a.values() {
                for right in b.values() {
                    if let Some(target) = both(left, right) {
                        names.insert(target.key(), target);
                    }
                }
            }
            Reach::These(names)
        }
    }
}

/// The narrower of two external targets, where one contains the other.
fn narrower(a: &Target, b: &Target) -> Option<Target> {
    let within = |inner: &Target, outer: &Target| match (inner, outer) {
        (_, Target::ExternalAll) => true,
        (Target::External(tool), Target::ExternalServer(server)) => {
            let head = format!("mcp__{server}__").to_ascii_lowercase();
            tool.as_str().to_ascii_lowercase().starts_with(&head)
        }
        _ => inner.key() == outer.key(),
    };
    if within(a, b) { Some(a.clone()) } else { within(b, a).then(|| b.clone()) }
}

/// What a runtime says of itself (POL-13).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeCapabilities {
    /// How it enforces the lists. Only `"projected"` is known; a missing or other value is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_policy: Option<String>,
}

/// The runtime can't enforce the policy, so nothing is sent to a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the runtime's tool policy capability is {found}, so it may not enforce tools.allowedTools and \
     tools.disallowedTools; use a runtime that reports \"{}\", or allow all tools",
    RuntimeCapabilities::PROJECTED
)]
pub struct UnenforceablePolicy {
    /// What the runtime reported, in words.
    pub found: String,
}

impl RuntimeCapabilities {
    /// The value of a runtime that projects the lists onto its surface. Ours always does.
    pub const PROJECTED: &'static str = "projected";

    /// The capabilities of our own runtime.
    pub fn ours() -> Self {
        RuntimeCapabilities { tool_policy: Some(Self::PROJECTED.into()) }
    }

    /// Checks before any provider call that the policy will be enforced.
    ///
    /// # Errors
    /// The policy takes something away and the runtime doesn't say that it enforces that.
    pub fn enforces(&self, policy: &ToolPolicy) -> Result<(), UnenforceablePolicy> {
        let found = match self.tool_policy.as_deref() {
            Some(Self::PROJECTED) => return Ok(()),
            Some(other) => format!("unknown ({})", crate::nearest::quoted(other)),
            None => "unknown (not reported)".into(),
        };
        if policy.is_restrictive() { Err(UnenforceablePolicy { found }) } else { Ok(()) }
    }
}
