//! The config form of the rules.
//!
//! ```json
//! { "default": "allow", "timeoutMs": 60000, "rules": [
//!     { "tool": "Exec", "argv": ["git", "push", "**"], "decision": "ask" },
//!     { "tool": "Bash", "command": "rm *", "decision": "deny" },
//!     { "tool": "Write", "match": { "file_path": "src/**" }, "decision": "ask" },
//!     { "tool": "mcp__db__*", "decision": "ask" } ] }
//! ```

use super::arguments::has_control;
use super::pattern::{PathPattern, Wild};
use super::rule::{Condition, Rule};
use super::{Approval, ApprovalRules};
use crate::entry::{KnownNames, Target, read_entry};
use crate::error::PolicyFinding;
use crate::load::kind;
use crate::nearest::{nearest, quoted};
use serde_json::{Map, Value};

const KEYS: [&str; 3] = ["default", "timeoutMs", "rules"];
const RULE_KEYS: [&str; 5] = ["tool", "decision", "argv", "command", "match"];
/// At most this many bytes in one pattern, and this many elements or arguments in one rule.
const PATTERN_BYTES_MAX: usize = 1024;
const PARTS_MAX: usize = 64;

/// Why there are no rules: every fault with its JSON path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct ApprovalRulesError {
    /// The faults, at least one.
    pub problems: Vec<PolicyFinding>,
}

impl ApprovalRules {
    /// Reads the rules of a config. `path` is where they stand (`tools.approvals`).
    ///
    /// # Errors
    /// Every fault with its JSON path: a wrong type, an unknown key, an unknown tool with the nearest name,
    /// a pattern that the tool has no argument for.
    pub fn parse(value: &Value, path: &str, known: &KnownNames) -> Result<Self, ApprovalRulesError> {
        let mut reader = Reader { known, problems: Vec::new() };
        let rules = reader.approvals(value, path);
        if reader.problems.is_empty() {
            Ok(rules)
        } else {
            Err(ApprovalRulesError { problems: reader.problems })
        }
    }
}

struct Reader<'a> {
    known: &'a KnownNames,
    problems: Vec<PolicyFinding>,
}

impl Reader<'_> {
    fn fault(&mut self, place: impl Into<String>, message: impl Into<String>, hint: Option<String>) {
        self.problems.push(PolicyFinding { place: place.into(), message: message.into(), hint });
    }

    fn expected(&mut self, place: impl Into<String>, what: &str, found: &Value) {
        self.fault(place, format!("expected {what}, found {}", kind(found)), None);
    }

    fn object<'v>(
        &mut self,
        value: &'v Value,
        path: &str,
        keys: &[&'static str],
    ) -> Option<&'v Map<String, Value>> {
        let Some(map) = value.as_object() else {
            self.expected(path, "an object", value);
            return None;
        };
        for key in map.keys().filter(|key| !keys.contains(&key.as_str())) {
            let hint = match nearest(key, keys.iter().copied()) {
                Some(near) => format!("the nearest key is `{near}`"),
                None => format!("the keys are {}", keys.join(", ")),
            };
            self.fault(path, format!("unknown key {}", quoted(key)), Some(hint));
        }
        Some(map)
    }

    fn approvals(&mut self, value: &Value, path: &str) -> ApprovalRules {
        let mut rules = ApprovalRules { path: path.to_owned(), ..ApprovalRules::default() };
        let Some(map) = self.object(value, path, &KEYS) else { return rules };
        if let Some(value) = map.get("default") {
            rules.default = self.approval(value, format!("{path}.default"));
        }
        if let Some(value) = map.get("timeoutMs") {
            match value.as_u64().filter(|ms| (1..=ApprovalRules::TIMEOUT_MS_MAX).contains(ms)) {
                Some(ms) => rules.timeout_ms = ms,
                None => {
                    let message = format!(
                        "expected a whole number of milliseconds from 1 to {}",
                        ApprovalRules::TIMEOUT_MS_MAX
                    );
                    self.fault(format!("{path}.timeoutMs"), message, None);
                }
            }
        }
        match map.get("rules") {
            None => {}
            Some(Value::Array(items)) if items.len() > ApprovalRules::RULES_MAX => {
                self.fault(
                    format!("{path}.rules"),
                    format!("more than {} rules", ApprovalRules::RULES_MAX),
                    None,
                );
            }
            Some(Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    rules.rules.extend(self.rule(item, &format!("{path}.rules[{index}]")));
                }
            }
            Some(other) => self.expected(format!("{path}.rules"), "an array", other),
        }
        rules
    }

    fn approval(&mut self, value: &Value, place: String) -> Approval {
        value.as_str().and_then(Approval::parse).unwrap_or_else(|| {
            let hint = value.as_str().and_then(|text| nearest(text, ["allow", "ask", "deny"]));
            let found = value.as_str().map_or_else(|| kind(value).to_owned(), quoted);
            let message = format!("expected \"allow\", \"ask\" or \"deny\", found {found}");
            self.fault(place, message, hint.map(|near| format!("did you mean \"{near}\"?")));
            Approval::Deny
        })
    }

    fn rule(&mut self, value: &Value, path: &str) -> Option<Rule> {
        let map = self.object(value, path, &RULE_KEYS)?;
        let targets = match map.get("tool") {
            Some(Value::String(name)) => self.targets(name, format!("{path}.tool")),
            Some(other) => {
                self.expected(format!("{path}.tool"), "a tool name", other);
                Vec::new()
            }
            None => {
                self.fault(
                    path,
                    "the key `tool` is missing",
                    Some("name one tool, `mcp__<server>__*` or `*`".into()),
                );
                Vec::new()
            }
        };
        let approval = match map.get("decision") {
            Some(value) => self.approval(value, format!("{path}.decision")),
            None => {
                self.fault(path, "the key `decision` is missing", Some("write allow, ask or deny".into()));
                Approval::Deny
            }
        };
        let condition = self.condition(map, path, &targets)?;
        if approval == Approval::Allow {
            self.allowed_command(map, path, &condition);
        }
        Some(Rule { targets, condition, approval, place: path.to_owned() })
    }

    fn targets(&mut self, name: &str, place: String) -> Vec<Target> {
        read_entry(name, self.known).unwrap_or_else(|fault| {
            self.fault(place, fault.message, fault.hint);
            Vec::new()
        })
    }

    fn condition(&mut self, map: &Map<String, Value>, path: &str, targets: &[Target]) -> Option<Condition> {
        let given: Vec<&str> =
            ["argv", "command", "match"].into_iter().filter(|key| map.contains_key(*key)).collect();
        if given.len() > 1 {
            self.fault(
                path,
                format!("{} can't stand in one rule", given.join(" and ")),
                Some("write two rules".into()),
            );
            return None;
        }
        let Some(&key) = given.first() else { return Some(Condition::Always) };
        let only = |name: &str| matches!(targets, [Target::Ours(tool)] if tool.as_str() == name);
        let place = format!("{path}.{key}");
        match key {
            "argv" if !targets.is_empty() && !only("Exec") => {
                self.fault(
                    place,
                    "only Exec has `argv`",
                    Some("use `match` for arguments of other tools".into()),
                );
                None
            }
            "command" if !targets.is_empty() && !only("Bash") => {
                let hint = "use `argv` for Exec and `match` for arguments of other tools";
                self.fault(place, "only Bash has `command`", Some(hint.into()));
                None
            }
            "argv" => self.argv(&map[key], &place),
            "command" => self.text(&map[key], &place).map(|text| match Wild::parse(text) {
                star if star.is_star() => Condition::Always,
                wild => Condition::Command(wild),
            }),
            _ => self.arguments(&map[key], &place),
        }
    }

    /// A command that is allowed by a pattern never holds control operators, so such a pattern is a mistake.
    fn allowed_command(&mut self, map: &Map<String, Value>, path: &str, condition: &Condition) {
        let text = map.get("command").and_then(Value::as_str).unwrap_or_default();
        if matches!(condition, Condition::Command(_)) && has_control(text) {
            let hint = "allow each command by itself, or every one with \"*\"";
            let message = "a rule that allows never matches a command with shell control operators";
            self.fault(format!("{path}.command"), message, Some(hint.into()));
        }
    }

    fn text<'v>(&mut self, value: &'v Value, place: &str) -> Option<&'v str> {
        let Some(text) = value.as_str() else {
            self.expected(place, "a string", value);
            return None;
        };
        if text.is_empty() || text.len() > PATTERN_BYTES_MAX {
            self.fault(place, format!("a pattern has 1 to {PATTERN_BYTES_MAX} bytes"), None);
            return None;
        }
        Some(text)
    }

    fn argv(&mut self, value: &Value, place: &str) -> Option<Condition> {
        let items = match value {
            Value::Array(items) if (1..=PARTS_MAX).contains(&items.len()) => items,
            Value::Array(_) => {
                self.fault(place, format!("a pattern has 1 to {PARTS_MAX} elements"), None);
                return None;
            }
            other => {
                self.expected(place, "an array of strings", other);
                return None;
            }
        };
        let mut pattern = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let text = self.text(item, &format!("{place}[{index}]"))?;
            pattern.push((text != "**").then(|| Wild::parse(text)));
        }
        let always = pattern.iter().all(Option::is_none);
        Some(if always { Condition::Always } else { Condition::Argv(pattern) })
    }

    fn arguments(&mut self, value: &Value, place: &str) -> Option<Condition> {
        let map = match value {
            Value::Object(map) if (1..=PARTS_MAX).contains(&map.len()) => map,
            Value::Object(_) => {
                self.fault(place, format!("a match has 1 to {PARTS_MAX} arguments"), None);
                return None;
            }
            other => {
                self.expected(place, "an object of argument names and patterns", other);
                return None;
            }
        };
        let mut wanted = Vec::with_capacity(map.len());
        for (key, value) in map {
            let text = self.text(value, &format!("{place}.{key}"))?;
            wanted.push((key.clone(), PathPattern::parse(text)));
        }
        Some(Condition::Match(wanted))
    }
}
