//! What `validate` and `doctor` say of a policy (POL-5 to POL-8, POL-12).

use crate::catalogue::{CATALOGUE, Gate, gate_of, known_tool};
use crate::create::McpToolPolicy;
use crate::entry::{Target, old_name};
use crate::error::PolicyFinding;
use crate::policy::{Allowed, Layer, Subject, ToolPolicy};
use crate::runtime::tool_policy_to_runtime_options;
use host_vocab::{ServerName, ToolName};

/// What the description depends on besides the lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DescribeFacts {
    /// The declared external MCP servers.
    pub servers: Vec<ServerName>,
    /// Whether `memory.recallTool.enabled` is on.
    pub recall: bool,
    /// Whether the composition has collaborators.
    pub collaborators: bool,
    /// How many skills there are.
    pub skills: usize,
}

/// How a policy stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyStatus {
    /// At least one tool that the lists gate is there.
    Ok,
    /// None is: meant, or a list that someone still has to fill. Never a silent ok.
    Waiting,
}

impl PolicyStatus {
    /// The word of the report.
    pub const fn as_str(self) -> &'static str {
        match self {
            PolicyStatus::Ok => "ok",
            PolicyStatus::Waiting => "waiting",
        }
    }
}

/// A policy in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDescription {
    /// `ok` or `waiting`.
    pub status: PolicyStatus,
    /// One line.
    pub line: String,
    /// Where the status is `waiting`: what stays all the same.
    pub stays: Vec<String>,
    /// What a person should know of single entries.
    pub warnings: Vec<PolicyFinding>,
}

/// At most this many names on the line.
const NAMES_SHOWN_MAX: usize = 24;

impl ToolPolicy {
    /// The policy in words.
    pub fn describe(&self, facts: &DescribeFacts) -> PolicyDescription {
        let options = tool_policy_to_runtime_options(self);
        let all = options.allowed_tools == ["*"] || self.layers.iter().all(|layer| layer.allowed.is_all());
        let gated: Vec<&str> =
            options.allowed_tools.iter().map(String::as_str).filter(|name| self.leaves(name)).collect();
        let none = self.denies_all_gated() || (!all && gated.is_empty());
        let warnings = self.warnings(facts);
        if none {
            return PolicyDescription {
                status: PolicyStatus::Waiting,
                line: format!(
                    "No tool that the lists gate is allowed ({}): the agent can only talk",
                    self.reason_of_none()
                ),
                stays: self.what_stays(facts),
                warnings,
            };
        }
        let line = match (all, options.disallowed_tools.is_empty()) {
            (true, true) => "All tools allowed".into(),
            (true, false) => format!("All tools allowed, except {}", names(&options.disallowed_tools)),
            (false, true) => format!("{} allowed", names(&gated)),
            (false, false) => {
                format!("{} allowed; denied: {}", names(&gated), names(&options.disallowed_tools))
            }
        };
        PolicyDescription { status: PolicyStatus::Ok, line, stays: Vec::new(), warnings }
    }

    /// Warnings for entries of a server that its discovery didn't bring: `advertised` are the local names
    /// that the server offers (POL-12). Ask once for each server that was discovered.
    pub fn unadvertised(&self, server: &ServerName, advertised: &[ToolName]) -> Vec<PolicyFinding> {
        let head = format!("mcp__{server}__").to_ascii_lowercase();
        let mut found = Vec::new();
        for rule in self.layers.iter().flat_map(|layer| layer.allowed.rules().iter().chain(&layer.denied)) {
            let [Target::External(tool)] = rule.targets.as_slice() else { continue };
            let folded = tool.as_str().to_ascii_lowercase();
            if folded.starts_with(&head)
                && !advertised.iter().any(|a| a.as_str().eq_ignore_ascii_case(&folded))
            {
                let near = crate::nearest::nearest(tool.as_str(), advertised.iter().map(ToolName::as_str));
                found.push(PolicyFinding {
                    place: rule.place.clone(),
                    message: format!("the MCP server {server} advertises no tool {tool}"),
                    hint: near.map(|near| format!("the nearest tool of that server is `{near}`")),
                });
            }
        }
        found
    }

    /// Whether a listed name is a tool that the lists gate and that stays.
    fn leaves(&self, name: &str) -> bool {
        match ToolName::parse(name) {
            Ok(tool) => {
                !name.starts_with("mcp__")
                    && gate_of(&tool) == Gate::Gated
                    && self.judge(Subject::Gated(&tool)).allowed
            }
            Err(_) => false,
        }
    }

    fn denies_all_gated(&self) -> bool {
        let everything = |layer: &Layer| layer.denied.iter().any(|rule| rule.targets == [Target::All]);
        self.layers.iter().any(everything)
            || CATALOGUE.iter().filter(|tool| tool.gate == Gate::Gated).all(|tool| !self.leaves(tool.name))
                && self.layers.iter().all(|layer| layer.allowed.is_all())
    }

    fn reason_of_none(&self) -> String {
        for layer in &self.layers {
            if let Some(rule) = layer.denied.iter().find(|rule| rule.targets == [Target::All]) {
                return format!("{} is \"*\"", rule.place);
            }
            match &layer.allowed {
                Allowed::FailClosed => return "no tool policy was given".into(),
                Allowed::Names(rules, place) if rules.is_empty() => return format!("{} is []", place.name()),
                _ => {}
            }
        }
        "the lists leave none".into()
    }

    fn what_stays(&self, facts: &DescribeFacts) -> Vec<String> {
        let mut stays = Vec::new();
        for server in &facts.servers {
            // Judged by a name that no entry spells, so only server-wide rules count.
            let Ok(any) = ToolName::parse(format!("mcp__{server}__")) else { continue };
            if self.judge(Subject::External { server, local: &any }).allowed {
                stays.push(format!("tools of the MCP server {server} (its declaration is their boundary)"));
            } else if self.allows_some_of(server) {
                stays.push(format!("the listed tools of the MCP server {server}"));
            }
        }
        if facts.recall {
            stays.push("MemoryRecall (memory.recallTool.enabled is on)".into());
        }
        if facts.collaborators {
            stays.push("AskCollaborator (the composition has collaborators)".into());
        }
        if !stays.is_empty() {
            stays.push("ToolSearch, where the surface is large enough to need it".into());
        }
        stays
    }

    fn allows_some_of(&self, server: &ServerName) -> bool {
        let head = format!("mcp__{server}__").to_ascii_lowercase();
        let rules = self.layers.iter().flat_map(|layer| layer.allowed.rules());
        rules.flat_map(|rule| &rule.targets).any(|target| match target {
            Target::External(local) => {
                local.as_str().to_ascii_lowercase().starts_with(&head)
                    && self.judge(Subject::External { server, local }).allowed
            }
            _ => false,
        })
    }

    fn warnings(&self, facts: &DescribeFacts) -> Vec<PolicyFinding> {
        let mut found = Vec::new();
        for layer in self.layers.iter().filter(|layer| !layer.of_parent) {
            entry_warnings(layer, &mut found);
            if facts.skills > 0 {
                found.extend(skill_hint(layer));
            }
        }
        found
    }
}

fn entry_warnings(layer: &Layer, found: &mut Vec<PolicyFinding>) {
    let allow_rules = layer.allowed.rules().len();
    for (at, rule) in layer.allowed.rules().iter().chain(&layer.denied).enumerate() {
        if let [Target::Ours(name)] = rule.targets.as_slice()
            && let Some(Gate::OwnSwitch(switch)) = known_tool(name.as_str()).map(|tool| tool.gate)
        {
            found.push(PolicyFinding {
                place: rule.place.clone(),
                message: format!("{name} is not gated by the lists, so this entry changes nothing"),
                hint: Some(format!("its switch is {switch}")),
            });
        } else if let Some(canonical) = old_name(&rule.written) {
            found.push(PolicyFinding {
                place: rule.place.clone(),
                message: format!("{} is an old name", crate::nearest::quoted(&rule.written)),
                hint: Some(format!("write {canonical}")),
            });
        }
        let external = rule.targets.iter().any(|target| !matches!(target, Target::Ours(_) | Target::All));
        if at < allow_rules && external && layer.mcp == McpToolPolicy::Open {
            found.push(PolicyFinding {
                place: rule.place.clone(),
                message: "an allow list doesn't gate external MCP tools, so this entry changes nothing"
                    .into(),
                hint: Some("set tools.mcpToolPolicy to \"gated\", or deny what should go".into()),
            });
        }
    }
}

/// A list of names that leaves `ReadSkill` out, though nobody denied it (POL-5).
fn skill_hint(layer: &Layer) -> Option<PolicyFinding> {
    let Allowed::Names(rules, place) = &layer.allowed else { return None };
    let name = ToolName::parse("ReadSkill").ok()?;
    let covers = |targets: &[Target]| targets.iter().any(|target| target.covers_ours(&name));
    let listed = rules.iter().any(|rule| covers(&rule.targets));
    let denied = layer.denied.iter().any(|rule| covers(&rule.targets));
    (!listed && !denied && !rules.is_empty()).then(|| PolicyFinding {
        place: place.name().to_owned(),
        message: "there are skills, and the list leaves out ReadSkill, so none of them can be read".into(),
        hint: Some("add ReadSkill, or deny it to say that this is meant".into()),
    })
}

fn names<S: AsRef<str>>(list: &[S]) -> String {
    let mut shown: Vec<&str> = list.iter().take(NAMES_SHOWN_MAX).map(AsRef::as_ref).collect();
    let more = list.len() - shown.len();
    let rest = format!("{more} more");
    if more > 0 {
        shown.push(&rest);
    }
    shown.join(", ")
}
