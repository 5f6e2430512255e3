//! The lists as a value that explains itself.

use crate::catalogue::{Gate, gate_of};
use crate::create::{ListPlace, McpToolPolicy};
use crate::entry::Target;
use host_vocab::{ServerName, ToolName};

/// What is being judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A tool of ours that the lists gate (POL-5).
    Gated(&'a ToolName),
    /// A tool of a declared external MCP server (POL-6, POL-7).
    External {
        /// The server.
        server: &'a ServerName,
        /// The local name, `mcp__<server>__<tool>`.
        local: &'a ToolName,
    },
    /// A tool of ours that has its own switch (POL-6).
    OwnSwitch(&'a ToolName),
}

/// An answer with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Whether the lists let the tool exist.
    pub allowed: bool,
    /// Which rule said so, in words that name the setting.
    pub why: String,
}

fn yes(why: String) -> Judgement {
    Judgement { allowed: true, why }
}

fn no(why: String) -> Judgement {
    Judgement { allowed: false, why }
}

/// One entry of a list that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    /// What it covers: one target, or all tools of an app-owned server.
    pub(crate) targets: Vec<Target>,
    /// As written.
    pub(crate) written: String,
    /// Where it stands.
    pub(crate) place: String,
}

impl Rule {
    fn covers_ours(&self, name: &ToolName) -> bool {
        self.targets.iter().any(|target| target.covers_ours(name))
    }

    fn covers_external(&self, server: &str, local: &str, star_counts: bool) -> bool {
        self.targets.iter().any(|target| target.covers_external(server, local, star_counts))
    }
}

/// The allow list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// The config has no such list: everything.
    Unset(ListPlace),
    /// No config at all: nothing.
    FailClosed,
    /// A list that holds `*`.
    Star(Vec<Rule>, String),
    /// A list of names only; may be empty.
    Names(Vec<Rule>, ListPlace),
}

impl Allowed {
    pub(crate) fn from_list(rules: Vec<Rule>, place: ListPlace) -> Self {
        match rules.iter().find(|rule| rule.targets == [Target::All]).map(|rule| rule.place.clone()) {
            Some(star) => Allowed::Star(rules, star),
            None => Allowed::Names(rules, place),
        }
    }

    pub(crate) fn rules(&self) -> &[Rule] {
        match self {
            Allowed::Unset(_) | Allowed::FailClosed => &[],
            Allowed::Star(rules, _) | Allowed::Names(rules, _) => rules,
        }
    }

    pub(crate) fn is_all(&self) -> bool {
        matches!(self, Allowed::Unset(_) | Allowed::Star(..))
    }
}

/// Both lists of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) allowed: Allowed,
    pub(crate) denied: Vec<Rule>,
    pub(crate) denied_place: ListPlace,
    pub(crate) mcp: McpToolPolicy,
    /// Whether it came from a parent run; it is said in the reason.
    pub(crate) of_parent: bool,
}

/// Both lists, checked and folded. A child run's policy holds its parent's lists too, and a tool exists
/// where all of them let it (POL-15).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPolicy {
    pub(crate) layers: Vec<Layer>,
}

impl ToolPolicy {
    /// Every policy-gated tool.
    pub fn allow_all() -> Self {
        Self::of_layer(Layer {
            allowed: Allowed::Unset(ListPlace::Setting("tools.allowedTools".into())),
            denied: Vec::new(),
            denied_place: ListPlace::Setting("tools.disallowedTools".into()),
            mcp: McpToolPolicy::Open,
            of_parent: false,
        })
    }

    /// No policy-gated tool: what a library gets that gave no lists (POL-14).
    pub fn fail_closed() -> Self {
        let mut policy = Self::allow_all();
        for layer in &mut policy.layers {
            layer.allowed = Allowed::FailClosed;
        }
        policy
    }

    pub(crate) fn of_layer(layer: Layer) -> Self {
        ToolPolicy { layers: vec![layer] }
    }

    /// Judges one tool. For a tool of ours the catalogue says whether the lists gate it, not the caller, so
    /// that no source can talk its tool past the lists (POL-5).
    pub fn judge(&self, subject: Subject<'_>) -> Judgement {
        match subject {
            Subject::Gated(name) | Subject::OwnSwitch(name) => match gate_of(name) {
                Gate::OwnSwitch(switch) => {
                    yes(format!("{name} is not gated by the lists; its switch is {switch}"))
                }
                Gate::Gated | Gate::External => self.all_layers(|layer| layer.judge_ours(name)),
            },
            Subject::External { server, local } => {
                self.all_layers(|layer| layer.judge_external(server, local))
            }
        }
    }

    /// The first refusal, else the first permission. No layer at all can't be made, and would refuse.
    fn all_layers(&self, judge: impl Fn(&Layer) -> Judgement) -> Judgement {
        let mut answer = no("there is no tool policy".into());
        for (at, layer) in self.layers.iter().enumerate() {
            let judgement = judge(layer);
            if !judgement.allowed {
                return judgement;
            }
            if at == 0 {
                answer = judgement;
            }
        }
        answer
    }

    /// The policy of a child run: what both let exist, and nothing else. It can't widen (POL-15).
    #[must_use]
    pub fn narrow(&self, child: &ToolPolicy) -> ToolPolicy {
        let mut layers: Vec<Layer> = Vec::new();
        let parents = self.layers.iter().map(|layer| Layer { of_parent: true, ..layer.clone() });
        for layer in child.layers.iter().cloned().chain(parents) {
            let known = |other: &Layer| Layer { of_parent: layer.of_parent, ..other.clone() } == layer;
            if !layers.iter().any(known) {
                layers.push(layer);
            }
        }
        ToolPolicy { layers }
    }

    /// Whether it takes anything away: a runtime of unknown ability must refuse it then (POL-13).
    pub fn is_restrictive(&self) -> bool {
        self.layers.iter().any(|layer| !layer.allowed.is_all() || !layer.denied.is_empty())
    }
}

impl Layer {
    fn whose(&self) -> &'static str {
        if self.of_parent { "the parent run's " } else { "" }
    }

    fn judge_ours(&self, name: &ToolName) -> Judgement {
        let whose = self.whose();
        if let Some(rule) = self.denied.iter().find(|rule| rule.covers_ours(name)) {
            return no(format!("{whose}{} denies {}", rule.place, denied_words(rule, name)));
        }
        match &self.allowed {
            Allowed::Unset(place) => {
                yes(format!("{whose}{} is not set, so every tool is allowed", place.name()))
            }
            Allowed::Star(_, star) => yes(format!("{whose}{star} is \"*\", so every tool is allowed")),
            Allowed::FailClosed => no("no tool policy was given, so no tool is allowed".into()),
            Allowed::Names(rules, place) => match rules.iter().find(|rule| rule.covers_ours(name)) {
                Some(rule) => yes(format!("{whose}{} allows {name}", rule.place)),
                None if rules.is_empty() => {
                    no(format!("{whose}{} is [], so no tool that the lists gate is there", place.name()))
                }
                None => no(format!("{whose}{} doesn't name {name}", place.name())),
            },
        }
    }

    fn judge_external(&self, server: &ServerName, local: &ToolName) -> Judgement {
        let whose = self.whose();
        let gated = self.mcp == McpToolPolicy::Gated;
        let covers = |rule: &&Rule| rule.covers_external(server.as_str(), local.as_str(), gated);
        if let Some(rule) = self.denied.iter().find(covers) {
            return no(format!("{whose}{} denies {}", rule.place, denied_words(rule, local)));
        }
        if !gated {
            return yes(format!(
                "the MCP server {server} is declared; {whose}lists allow no external tool by name"
            ));
        }
        match &self.allowed {
            Allowed::Unset(place) => {
                yes(format!("{whose}{} is not set, so every tool is allowed", place.name()))
            }
            Allowed::Star(_, star) => yes(format!("{whose}{star} is \"*\", so every tool is allowed")),
            Allowed::FailClosed => no("no tool policy was given, so no tool is allowed".into()),
            Allowed::Names(rules, place) => match rules.iter().find(covers) {
                Some(rule) => yes(format!("{whose}{} allows {local}", rule.place)),
                None => no(format!(
                    "{whose}{} doesn't name {local}, and tools.mcpToolPolicy is \"gated\"",
                    place.name()
                )),
            },
        }
    }
}

/// What a denying entry covers. An old name is never repeated: this text can reach a model (POL-10).
fn denied_words(rule: &Rule, name: &ToolName) -> String {
    match rule.targets.as_slice() {
        [Target::All] => "every tool (\"*\")".into(),
        [Target::ExternalAll | Target::ExternalServer(_)] => {
            format!("{} ({})", name, rule.targets[0].spelling())
        }
        _ => name.to_string(),
    }
}
