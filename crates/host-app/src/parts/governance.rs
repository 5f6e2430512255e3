//! The lists and the approval rules of an agent.

use crate::agent::call_facts;
use crate::parts::plugins::Plugins;
use host_config::AgentSpec;
use host_config::spec::tools::{McpToolPolicy as SpecMcpPolicy, ToolList};
use host_policy::{
    ApprovalRules, DescribeFacts, KnownNames, ListPlace, McpToolPolicy, PlacedList, PolicyDescription,
    PolicyFinding, PolicyInput, ToolPolicy, create_tool_policy,
};
use host_surface::{Offer, ToolSource};
use host_vocab::{Code, Diagnostic, Kind, Place, ServerName};
use std::sync::Arc;

/// What decides which tools exist, and which calls may run.
pub(crate) struct Governance {
    /// The names that a list may hold beside the catalogue.
    pub(crate) known: KnownNames,
    pub(crate) policy: ToolPolicy,
    pub(crate) approvals: ApprovalRules,
}

impl Governance {
    /// Makes both from the settings, or says everything that is wrong with them.
    pub(crate) fn of(spec: &AgentSpec, plugins: &Plugins) -> Result<Self, Vec<Diagnostic>> {
        let mut faults = Vec::new();
        let known = KnownNames { servers: declared(spec), plugin_tools: plugins.declared.clone() };
        let policy = policy(spec, known.clone()).map_err(|found| faults.extend(found)).ok();
        let approvals = approvals(spec, &known).map_err(|found| faults.extend(found)).ok();
        match (policy, approvals) {
            (Some(policy), Some(approvals)) if faults.is_empty() => {
                Ok(Governance { known, policy, approvals })
            }
            _ => Err(faults),
        }
    }

    /// Rules that name an argument which a tool of ours doesn't have (TOO-9).
    pub(crate) async fn misnamed(&self, spec: &AgentSpec, own: &[Arc<dyn ToolSource>]) -> Vec<Diagnostic> {
        if !self.approvals.name_arguments() {
            return Vec::new();
        }
        let facts = call_facts("terminal");
        let mut found = Vec::new();
        for source in own {
            for offer in source.offers(&facts).await {
                let Offer::Ready(tool) = offer else { continue };
                let info = tool.info();
                found.extend(self.approvals.misnamed(&info.name, info.schema.arguments().as_deref()));
            }
        }
        found.iter().map(|it| of_rules(spec, &it.finding)).collect()
    }

    /// The lists in words, for `validate` (POL-8).
    pub(crate) fn describe(&self, spec: &AgentSpec) -> PolicyDescription {
        let recall = spec.memory.as_ref().is_some_and(|memory| memory.recall_tool.enabled);
        self.policy.describe(&DescribeFacts {
            servers: declared(spec),
            recall,
            collaborators: false,
            skills: spec.context.selected_skills.len(),
        })
    }
}

/// Every server that a list may name, the broken ones too: a deny of a server that is down is no fault.
fn declared(spec: &AgentSpec) -> Vec<ServerName> {
    let working = spec.mcp.servers.iter().map(|server| server.name.clone());
    let broken = spec.mcp.broken.iter().filter_map(|server| ServerName::parse(server.name.clone()).ok());
    working.chain(broken).collect()
}

fn placed(list: Option<&ToolList>, setting: &str) -> PlacedList {
    let place = match list {
        Some(list) => match list.place.file.strip_prefix("env ") {
            Some(variable) => ListPlace::Variable(variable.to_owned()),
            None => ListPlace::Setting(setting.to_owned()),
        },
        None => ListPlace::Setting(setting.to_owned()),
    };
    PlacedList { entries: list.map(|list| list.names.clone()), place }
}

fn policy(spec: &AgentSpec, known: KnownNames) -> Result<ToolPolicy, Vec<Diagnostic>> {
    let tools = &spec.tools;
    let mcp = match tools.mcp_policy {
        SpecMcpPolicy::Open => McpToolPolicy::Open,
        SpecMcpPolicy::Gated => McpToolPolicy::Gated,
    };
    let input = PolicyInput::for_config(
        placed(tools.allowed.as_ref(), "tools.allowedTools"),
        placed(tools.disallowed.as_ref(), "tools.disallowedTools"),
        mcp,
        known,
    );
    create_tool_policy(input).map_err(|error| {
        let code = error.code.code();
        if error.problems.is_empty() {
            let names = error.names.join(", ");
            let place = tools.disallowed.as_ref().or(tools.allowed.as_ref()).map(|list| list.place.clone());
            let whole = Diagnostic::new(Kind::Config, code, format!("{} ({names})", error.message))
                .hint("take each of these names off one of the two lists");
            return vec![match place {
                Some(place) => whole.at(place),
                None => whole,
            }];
        }
        let overlap = error.message.contains(host_policy::ToolPolicyError::OVERLAP);
        let mut found: Vec<Diagnostic> = error
            .problems
            .iter()
            .map(|problem| finding(problem, &code, &place_in_lists(spec, problem)))
            .collect();
        if overlap {
            let names = error.names.join(", ");
            let text = format!("{} ({names})", host_policy::ToolPolicyError::OVERLAP);
            found.insert(0, Diagnostic::new(Kind::Config, code, text));
        }
        found
    })
}

/// The place of an entry in the file, by the list's own index.
fn place_in_lists(spec: &AgentSpec, problem: &PolicyFinding) -> Option<Place> {
    let lists = [
        ("tools.allowedTools", spec.tools.allowed.as_ref()),
        ("tools.disallowedTools", spec.tools.disallowed.as_ref()),
    ];
    lists.into_iter().find_map(|(name, list)| {
        let index =
            problem.place.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?.parse::<usize>().ok()?;
        list?.places.get(index).cloned()
    })
}

fn finding(problem: &PolicyFinding, code: &Code, place: &Option<Place>) -> Diagnostic {
    let place = place.clone().unwrap_or_else(|| Place { file: problem.place.clone(), ..Place::default() });
    let found = Diagnostic::new(Kind::Config, code.clone(), problem.message.clone()).at(place);
    match &problem.hint {
        Some(hint) => found.hint(hint.clone()),
        None => found,
    }
}

const APPROVALS: &str = "tools.approvals";

fn approvals(spec: &AgentSpec, known: &KnownNames) -> Result<ApprovalRules, Vec<Diagnostic>> {
    let Some(block) = &spec.tools.approvals else { return Ok(ApprovalRules::default()) };
    ApprovalRules::parse(&block.json, APPROVALS, known)
        .map_err(|error| error.problems.iter().map(|problem| of_rules(spec, problem)).collect())
}

/// A fault of a rule, at its place in the file.
fn of_rules(spec: &AgentSpec, problem: &PolicyFinding) -> Diagnostic {
    let place = spec.tools.approvals.as_ref().map(|block| {
        let below = problem.place.strip_prefix(APPROVALS).unwrap_or_default();
        block.place(below.strip_prefix('.').unwrap_or(below))
    });
    finding(problem, &Code::new("invalid_approval_rules"), &place)
}
