//! What a person allowed from now on (TOO-9): kept in a file, listed, and taken back.
//!
//! It answers questions, and nothing else: a call that a rule denies is denied before anybody is asked, so no "always"
//! ever reaches it. A command is remembered word for word; other tools as a whole.

use crate::clock::SystemClock;
use host_files::state;
use host_history::rfc3339;
use host_ports::BoxFuture;
use host_ports::ask::{ApprovalAnswer, ApprovalRequest, Ask, Questionnaire, QuestionsAnswer};
use host_ports::clock::Clock as _;
use host_ports::replies::Shows;
use host_vocab::ToolName;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The most rules that are kept.
const RULES_MAX: usize = 500;
/// The largest file of them, in bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The longest command that is remembered, in bytes.
const RULE_BYTES_MAX: usize = 4_096;

/// One "always".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StandingRule {
    /// Names it.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What is allowed, as a rule of `tools.approvals` would say it.
    pub rule: Value,
    /// When it was given, RFC 3339.
    pub added_at: String,
    /// Where: the channel of the conversation.
    pub added_by: String,
    /// When it let a call through last.
    pub last_used_at: Option<String>,
}

/// Why a rule could not be kept or taken back.
#[derive(Debug, thiserror::Error)]
pub enum StandingError {
    /// The file.
    #[error(transparent)]
    File(#[from] state::StateError),
    /// The file holds something else.
    #[error("{} can't be read: {why}; mend it or move it away", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// All of an agent.
#[derive(Debug)]
pub struct StandingRules {
    path: PathBuf,
    rules: Mutex<Vec<StandingRule>>,
}

impl StandingRules {
    /// Those below an agent's state folder.
    ///
    /// # Errors
    /// A file that can't be read: it is never written over.
    pub fn open(state: &Path) -> Result<Self, StandingError> {
        let path = state.join("approvals.json");
        let rules = match state::read_bounded(&path, FILE_BYTES_MAX) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| StandingError::Damaged { path: path.clone(), why: error.to_string() })?,
            Err(error) if error.is_not_found() => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(StandingRules { path, rules: Mutex::new(rules) })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<StandingRule>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All rules, oldest first.
    pub fn list(&self) -> Vec<StandingRule> {
        self.lock().clone()
    }

    /// Takes a rule back; false = there is none of that id.
    ///
    /// # Errors
    /// It could not be written; then the rule still stands.
    pub fn revoke(&self, id: &str) -> Result<bool, StandingError> {
        let mut rules = self.lock();
        let left: Vec<StandingRule> = rules.iter().filter(|it| it.id != id).cloned().collect();
        if left.len() == rules.len() {
            return Ok(false);
        }
        self.write(&left)?;
        *rules = left;
        Ok(true)
    }

    fn write(&self, rules: &[StandingRule]) -> Result<(), StandingError> {
        let text = serde_json::to_vec_pretty(rules).unwrap_or_default();
        Ok(state::write_atomic(&self.path, &text, 0o600)?)
    }

    /// Keeps a rule; one that is there already is kept once.
    fn add(&self, tool: &ToolName, rule: &Value, by: &str) -> Result<(), StandingError> {
        let mut rules = self.lock();
        if rules.iter().any(|it| it.rule == *rule) || rules.len() >= RULES_MAX {
            return Ok(());
        }
        let mut more = rules.clone();
        more.push(StandingRule {
            id: uuid::Uuid::new_v4().simple().to_string(),
            tool: tool.to_string(),
            rule: rule.clone(),
            added_at: rfc3339(SystemClock.now_ms()),
            added_by: by.to_owned(),
            last_used_at: None,
        });
        self.write(&more)?;
        *rules = more;
        Ok(())
    }

    /// Whether a rule allows this; notes when it did.
    fn allows(&self, rule: &Value) -> bool {
        let mut rules = self.lock();
        let Some(found) = rules.iter_mut().find(|it| it.rule == *rule) else { return false };
        found.last_used_at = Some(rfc3339(SystemClock.now_ms()));
        if let Err(error) = self.write(&rules) {
            tracing::warn!(%error, "when an approval was used could not be kept");
        }
        true
    }
}

/// What "always" means for a call; `None` = it can't be had, since what would be remembered isn't all there.
fn rule_of(request: &ApprovalRequest) -> Option<Value> {
    let arguments = request.arguments.for_renderer();
    let tool = request.tool.as_str();
    let rule = match tool {
        "Bash" => json!({"tool": tool, "command": arguments["command"].as_str()?, "decision": "allow"}),
        "Exec" => json!({"tool": tool, "argv": arguments["argv"].as_array()?, "decision": "allow"}),
        "NodeRepl" => return None,
        _ => json!({"tool": tool, "decision": "allow"}),
    };
    let text = rule.to_string();
    // What was redacted or cut for showing is not what would be compared with the next call.
    let whole = text.len() <= RULE_BYTES_MAX && !text.contains("[redacted");
    whole.then_some(rule)
}

/// A person who is not asked again about what they allowed from now on.
pub(crate) struct StandingAsk {
    pub(crate) rules: Arc<StandingRules>,
    pub(crate) person: Arc<dyn Ask>,
}

impl Ask for StandingAsk {
    fn shows(&self) -> Shows {
        self.person.shows()
    }

    fn questions(&self, asked: Questionnaire) -> BoxFuture<'_, QuestionsAnswer> {
        self.person.questions(asked)
    }

    fn approve(&self, mut request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            let rule = rule_of(&request);
            if let Some(rule) = &rule
                && self.rules.allows(rule)
            {
                return ApprovalAnswer::ApprovedAlways;
            }
            request.always = rule.as_ref().map(Value::to_string);
            let (tool, channel) = (request.tool.clone(), request.conversation.channel().to_owned());
            let answer = self.person.approve(request).await;
            match (answer, rule) {
                (ApprovalAnswer::ApprovedAlways, Some(rule)) => {
                    if let Err(error) = self.rules.add(&tool, &rule, &channel) {
                        tracing::warn!(%error, "an approval could not be kept; it held for this call");
                        return ApprovalAnswer::Approved;
                    }
                    ApprovalAnswer::ApprovedAlways
                }
                (ApprovalAnswer::ApprovedAlways, None) => ApprovalAnswer::Approved,
                (other, _) => other,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_vocab::{CallId, ConversationId, RunId, Untrusted};
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Person(ApprovalAnswer, AtomicUsize);

    impl Ask for Person {
        fn approve(&self, _: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
            self.1.fetch_add(1, Ordering::SeqCst);
            Box::pin(async { self.0 })
        }
    }

    fn request(tool: &str, arguments: Value) -> ApprovalRequest {
        ApprovalRequest {
            conversation: ConversationId::parse("web:x").unwrap(),
            run: RunId::fresh(),
            call: CallId::fresh(),
            tool: ToolName::parse(tool).unwrap(),
            arguments: Untrusted::new(arguments),
            rule: "r".into(),
            always: None,
        }
    }

    // TOO-9
    #[tokio::test]
    async fn always_lasts_is_listed_and_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let person = Arc::new(Person(ApprovalAnswer::ApprovedAlways, AtomicUsize::new(0)));
        let asked = || person.1.load(Ordering::SeqCst);
        let open = || {
            let rules = Arc::new(StandingRules::open(folder.path()).unwrap());
            (Arc::clone(&rules), StandingAsk { rules, person: Arc::clone(&person) as _ })
        };
        let (_, ask) = open();
        let push = || request("Bash", json!({"command": "git push"}));
        ask.approve(push()).await;
        assert_eq!((ask.approve(push()).await, asked()), (ApprovalAnswer::ApprovedAlways, 1));
        ask.approve(request("Bash", json!({"command": "git push --force"}))).await;
        assert_eq!(asked(), 2, "another command is another question");
        // In another process of the agent.
        let (rules, ask) = open();
        ask.approve(push()).await;
        assert_eq!(asked(), 2);
        let first = rules.list()[0].clone();
        assert_eq!((first.tool.as_str(), first.added_by.as_str()), ("Bash", "web"));
        assert_eq!(first.rule, json!({"tool": "Bash", "command": "git push", "decision": "allow"}));
        assert!(first.last_used_at.is_some());
        assert!(rules.revoke(&first.id).unwrap() && !rules.revoke(&first.id).unwrap());
        ask.approve(push()).await;
        assert_eq!(asked(), 3);
    }

    // TOO-9: what can't be remembered exactly holds once.
    #[tokio::test]
    async fn what_was_redacted_is_never_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let rules = Arc::new(StandingRules::open(folder.path()).unwrap());
        let person = Arc::new(Person(ApprovalAnswer::ApprovedAlways, AtomicUsize::new(0)));
        let ask = StandingAsk { rules: Arc::clone(&rules), person };
        for arguments in
            [json!({"command": "curl -H [redacted]"}), json!({"command": "x".repeat(5_000)}), json!({})]
        {
            assert_eq!(ask.approve(request("Bash", arguments)).await, ApprovalAnswer::Approved);
        }
        assert!(rules.list().is_empty());
    }

    #[test]
    fn a_damaged_file_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        state::write_new(&folder.path().join("approvals.json"), b"{broken", 0o600).unwrap();
        assert!(matches!(StandingRules::open(folder.path()), Err(StandingError::Damaged { .. })));
    }
}
