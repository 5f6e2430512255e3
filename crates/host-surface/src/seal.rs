//! Sealing: from offers to a surface.

use crate::gate::GatePorts;
use crate::lazy::{LazyTools, ToolSearch};
use crate::source::{Offer, RunFacts, ToolSource, Withheld, WithheldBy};
use crate::surface::{Sealed, Surface, withheld_row};
use crate::tool::{AnyTool, Belongs, ToolInfo};
use futures_util::future::join_all;
use host_policy::{Approval, ApprovalRules, Subject, ToolPolicy};
use host_vocab::ToolName;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why no surface could be sealed. Both are faults of the host, never of a config or a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// Two tools of ours have one name.
    #[error("two sources of ours offer a tool named {name}: {first} and {second}")]
    TwoOfOurs {
        /// The name.
        name: ToolName,
        /// One source.
        first: String,
        /// The other.
        second: String,
    },
}

/// Seals the surface of one run: asks every source, judges every offer, once. The result is a value; what
/// changes afterwards (a reloaded policy, a server's new list) shows in the next run's.
///
/// Order of judgement: clash of names, allow and deny lists, standing approval rules.
///
/// # Errors
/// See [`SealError`].
pub async fn seal(
    sources: &[Arc<dyn ToolSource>],
    policy: &ToolPolicy,
    approvals: Arc<ApprovalRules>,
    facts: RunFacts,
    ports: GatePorts,
) -> Result<Surface, SealError> {
    let asked = join_all(sources.iter().map(|source| source.offers(&facts))).await;
    let mut withheld: Vec<(String, Withheld)> = Vec::new();
    let mut ready: BTreeMap<ToolName, Vec<Candidate>> = BTreeMap::new();
    for (source, offers) in sources.iter().zip(asked) {
        for offer in offers {
            match offer {
                Offer::Withheld(it) => withheld.push((source.name(), it)),
                Offer::Ready(tool) => {
                    ready.entry(tool.info().name.clone()).or_default().push((source.name(), tool));
                }
            }
        }
    }
    let mut tools = BTreeMap::new();
    for (name, candidates) in ready {
        let Some((source, tool)) = without_clash(&name, candidates, &mut withheld)? else { continue };
        match judge(tool.as_ref(), policy, &approvals) {
            Verdict::Offered { why, asks } => {
                tools.insert(name, Sealed { tool, source, why, asks });
            }
            Verdict::Withheld { by, why } => withheld.push((source, withheld_row(&name, by, &why))),
        }
    }
    let lazy = add_search(&mut tools, policy, &approvals);
    Ok(Surface { tools, withheld, facts, approvals, ports, lazy })
}

/// Puts `ToolSearch` on the surface where servers have more tools than are shown at once. Where it may not be
/// there, every tool is shown.
pub(crate) fn add_search(
    tools: &mut BTreeMap<ToolName, Sealed>,
    policy: &ToolPolicy,
    approvals: &ApprovalRules,
) -> Option<Arc<LazyTools>> {
    let lazy = LazyTools::over(tools)?;
    let tool: Arc<dyn AnyTool> = Arc::new(ToolSearch::over(&lazy));
    let name = tool.info().name.clone();
    match judge(tool.as_ref(), policy, approvals) {
        Verdict::Offered { why, asks } if !tools.contains_key(&name) => {
            tools.insert(name, Sealed { tool, source: "builtin".to_owned(), why, asks });
            Some(lazy)
        }
        _ => None,
    }
}

enum Verdict {
    Offered { why: String, asks: bool },
    Withheld { by: WithheldBy, why: String },
}

fn judge(tool: &dyn AnyTool, policy: &ToolPolicy, approvals: &ApprovalRules) -> Verdict {
    let info = tool.info();
    let judged = policy.judge(subject(info));
    if !judged.allowed {
        return Verdict::Withheld { by: WithheldBy::Policy, why: judged.why };
    }
    // A server's schemas were looked at when its tools were listed; they are compiled at their first call.
    if info.server.is_none()
        && let Err(why) = info.schema.usable()
    {
        return Verdict::Withheld {
            by: WithheldBy::Source,
            why: format!("its input schema is broken: {why}"),
        };
    }
    // Seldom: there may be thousands of tools, and no rule that names an argument.
    if approvals.name_arguments() {
        let misnamed = approvals.misnamed(&info.name, info.schema.arguments().as_deref());
        if let Some(it) = misnamed.into_iter().find(|it| it.restricts) {
            return Verdict::Withheld { by: WithheldBy::Approval, why: it.finding.to_string() };
        }
    }
    let standing = approvals.standing(&info.name);
    match standing.approval {
        Approval::Deny => Verdict::Withheld { by: WithheldBy::Approval, why: standing.rule },
        Approval::Ask => Verdict::Offered { why: format!("{}; {}", judged.why, standing.rule), asks: true },
        Approval::Allow => Verdict::Offered { why: judged.why, asks: false },
    }
}

/// The lists' view of a tool.
pub(crate) fn subject(info: &ToolInfo) -> Subject<'_> {
    match info.belongs() {
        Belongs::Lists => Subject::Gated(&info.name),
        Belongs::OwnSwitch => Subject::OwnSwitch(&info.name),
        Belongs::Server(server) => Subject::External { server, local: &info.name },
    }
}

/// A ready tool and the name of its source.
type Candidate = (String, Arc<dyn AnyTool>);

/// One tool for one name: a clash withholds every external tool concerned, so that a call can never reach
/// one tool in another's place (MCP-9). Ours keeps its name against a stranger's.
fn without_clash(
    name: &ToolName,
    mut candidates: Vec<Candidate>,
    withheld: &mut Vec<(String, Withheld)>,
) -> Result<Option<Candidate>, SealError> {
    if candidates.len() == 1 {
        return Ok(candidates.pop());
    }
    let all: Vec<String> = candidates.iter().map(|(source, _)| source.clone()).collect();
    let (mut ours, strangers): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|(source, tool)| tool.info().server.is_none() && !is_plugin(source));
    if ours.len() > 1 {
        let second = ours.pop().map(|it| it.0).unwrap_or_default();
        let first = ours.pop().map(|it| it.0).unwrap_or_default();
        return Err(SealError::TwoOfOurs { name: name.clone(), first, second });
    }
    for (source, _) in strangers {
        let why = format!("the name is offered by {}; none of them but ours may have it", all.join(" and "));
        withheld.push((source, withheld_row(name, WithheldBy::Limit, &why)));
    }
    Ok(ours.pop())
}

fn is_plugin(source: &str) -> bool {
    source.starts_with("plugin:")
}
