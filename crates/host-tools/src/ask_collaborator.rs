//! `AskCollaborator`: puts a question to another agent of the composition, and gives its answer (TOO-6).
//!
//! `{"collaborator": "lawyer", "prompt": "May we quote this paragraph?"}`

use crate::agent::parent;
use host_ports::helpers::{CollaboratorQuestion, Responder};
use host_surface::{Admitted, Belongs, CallContext, Decl, Tool, ToolError, ToolOutput};
use host_vocab::{ConversationId, Effect, text};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How many questions one turn may ask, where the composition doesn't say.
pub const COLLABORATOR_CALLS_DEFAULT: u32 = 6;
/// How long a collaborator has, where the composition doesn't say.
pub const COLLABORATOR_TIMEOUT_DEFAULT: Duration = Duration::from_secs(300);
/// The longest question, in bytes.
const PROMPT_BYTES_MAX: usize = 256 * 1024;
/// How much of what the person said goes along, in bytes.
const ORIGINAL_BYTES_MAX: usize = 64 * 1024;

/// One who can be asked.
#[derive(Clone)]
pub struct Collaborator {
    /// Its id: letters, digits, `_` and `-`.
    pub id: String,
    /// Its name for people.
    pub label: String,
    /// What it is good for, for the model.
    pub description: String,
    /// Who answers.
    pub responder: Arc<dyn Responder>,
    /// How long an answer may take.
    pub timeout: Duration,
}

impl Collaborator {
    /// One with the usual bounds.
    pub fn new(id: impl Into<String>, responder: Arc<dyn Responder>) -> Self {
        let id = id.into();
        Collaborator {
            label: id.clone(),
            id,
            description: String::new(),
            responder,
            timeout: COLLABORATOR_TIMEOUT_DEFAULT,
        }
    }

    /// The same with a name for people and a description for the model.
    #[must_use]
    pub fn described(mut self, label: impl Into<String>, description: impl Into<String>) -> Self {
        self.label = label.into();
        self.description = description.into();
        self
    }
}

impl std::fmt::Debug for Collaborator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collaborator").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why a composition can't be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollaboratorsError {
    /// An id that could not be part of a conversation's name.
    #[error("the collaborator id {0:?} has other characters than letters, digits, _ and -, or more than 64")]
    Id(String),
    /// Two have one id.
    #[error("two collaborators have the id {0}")]
    Twice(String),
}

/// All who can be asked, checked.
#[derive(Debug, Clone, Default)]
pub struct Collaborators {
    all: Arc<[Collaborator]>,
    calls_max: Option<u32>,
}

impl Collaborators {
    /// Of these; `calls_max` is how many questions one turn may ask.
    ///
    /// # Errors
    /// A bad id, or one twice.
    pub fn new(all: Vec<Collaborator>, calls_max: u32) -> Result<Self, CollaboratorsError> {
        for (at, one) in all.iter().enumerate() {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if one.id.is_empty() || one.id.len() > 64 || !one.id.chars().all(fits) {
                return Err(CollaboratorsError::Id(text::one_line(&one.id, 80)));
            }
            if all[..at].iter().any(|other| other.id == one.id) {
                return Err(CollaboratorsError::Twice(one.id.clone()));
            }
        }
        Ok(Collaborators { all: all.into(), calls_max: Some(calls_max) })
    }

    /// Whether there is nobody.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// The tool of one turn.
pub struct AskCollaboratorTool {
    collaborators: Collaborators,
    original: String,
    left: AtomicU32,
}

impl AskCollaboratorTool {
    /// For a turn, with what the person said in it.
    pub fn new(collaborators: Collaborators, original: &str) -> Self {
        let left = AtomicU32::new(collaborators.calls_max.unwrap_or(COLLABORATOR_CALLS_DEFAULT));
        let original = text::prefix(original, ORIGINAL_BYTES_MAX).to_owned();
        AskCollaboratorTool { collaborators, original, left }
    }

    fn question(
        &self,
        id: &str,
        prompt: &str,
        context: &CallContext,
    ) -> Result<CollaboratorQuestion, ToolError> {
        let conversation = ConversationId::parse(format!("{}:{id}", context.conversation)).map_err(|_| {
            let message =
                "the conversation's name is too long for another question; answer with what you have";
            ToolError::new("asked_too_deep", message)
        })?;
        let text = if self.original.trim().is_empty() {
            prompt.to_owned()
        } else {
            format!("What the person asked:\n\n{}\n\nThe question to you:\n\n{prompt}", self.original)
        };
        Ok(CollaboratorQuestion { conversation, text, parent: parent(context) })
    }
}

/// The question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskCollaboratorInput {
    /// Who is asked: one of the ids in this tool's description.
    pub collaborator: String,
    /// The question. The collaborator is also told what the person asked you, and nothing else of this conversation.
    pub prompt: String,
}

impl Tool for AskCollaboratorTool {
    const DECL: Decl = Decl {
        name: "AskCollaborator",
        about: "Asks another agent that works beside you, and gives its answer. It has its own tools and its own \
                memory of what you asked it in this conversation.",
        effects: &[Effect::Foreign],
        belongs: Belongs::OwnSwitch,
        codes: &[
            "invalid_question",
            "unknown_collaborator",
            "too_many_questions",
            "asked_too_deep",
            "collaborator_failed",
            "collaborator_timed_out",
        ],
    };
    type Input = AskCollaboratorInput;

    fn about(&self) -> String {
        let mut about = format!("{} There are:", Self::DECL.about);
        for one in self.collaborators.all.iter() {
            let what = text::one_line(&one.description, 300);
            let label = text::one_line(&one.label, 80);
            let _infallible = match (label == one.id, what.is_empty()) {
                (true, true) => write!(about, " {};", one.id),
                (true, false) => write!(about, " {} ({what});", one.id),
                (false, true) => write!(about, " {} ({label});", one.id),
                (false, false) => write!(about, " {} ({label}: {what});", one.id),
            };
        }
        about
    }

    async fn run(&self, call: Admitted<AskCollaboratorInput>) -> Result<ToolOutput, ToolError> {
        let AskCollaboratorInput { collaborator, prompt } = call.input;
        let Some(asked) = self.collaborators.all.iter().find(|one| one.id == collaborator.trim()) else {
            let ids: Vec<&str> = self.collaborators.all.iter().map(|one| one.id.as_str()).collect();
            let wanted = text::one_line(&collaborator, 80);
            let message = format!("there is no collaborator {wanted}; there are {}", ids.join(", "));
            return Err(ToolError::new("unknown_collaborator", message));
        };
        if prompt.trim().is_empty() || prompt.len() > PROMPT_BYTES_MAX {
            let message = format!("prompt: it has {} bytes; give 1 to {PROMPT_BYTES_MAX}", prompt.len());
            return Err(ToolError::new("invalid_question", message));
        }
        let question = self.question(&asked.id, &prompt, &call.context)?;
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err() {
            let message = "this turn has asked as often as it may; answer with what you have";
            return Err(ToolError::new("too_many_questions", message));
        }
        let ms = asked.timeout.as_millis();
        // What was begun there is not known here: a collaborator has tools of its own.
        let answer = tokio::select! {
            answer = asked.responder.answer(question) => answer,
            () = tokio::time::sleep(asked.timeout) => {
                let message = format!("{} did not answer within {ms} ms", asked.label);
                return Err(ToolError::new("collaborator_timed_out", message).effect_unknown());
            }
            () = call.context.cancel.cancelled() => {
                let message = format!("the question to {} was taken back", asked.label);
                return Err(ToolError::new(host_surface::codes::ABORTED, message).effect_unknown());
            }
        };
        match answer {
            Ok(answer) => Ok(ToolOutput::text(answer)),
            Err(why) => {
                let message = format!("{} did not answer: {}", asked.label, text::one_line(&why, 500));
                let outcome = json!({"collaborator": asked.id, "status": "failed"});
                let partial = ToolOutput::default().with_outcome(outcome);
                Err(ToolError::new("collaborator_failed", message).with_partial(partial))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ports::BoxFuture;
    use host_surface::{CallRequest, How};
    use host_testkit::TestSurface;
    use std::sync::Mutex;

    /// Answers with what it was asked; `no` fails, `sleep` never answers.
    #[derive(Default)]
    struct Echo(Mutex<Vec<CollaboratorQuestion>>);

    impl Responder for Echo {
        fn answer(&self, question: CollaboratorQuestion) -> BoxFuture<'_, Result<String, String>> {
            self.0.lock().unwrap().push(question.clone());
            Box::pin(async move {
                match question.text {
                    text if text.ends_with("no") => Err("out of office".to_owned()),
                    text if text.ends_with("sleep") => std::future::pending().await,
                    text => Ok(format!("you asked: {text}")),
                }
            })
        }
    }

    async fn surface(echo: &Arc<Echo>, calls_max: u32) -> TestSurface {
        let one = Collaborator {
            timeout: Duration::from_millis(50),
            ..Collaborator::new("law", Arc::clone(echo) as _).described("The lawyer", "knows the rules")
        };
        let all = Collaborators::new(vec![one], calls_max).unwrap();
        TestSurface::of(AskCollaboratorTool::new(all, "May we print this?")).await
    }

    // TOO-6
    #[tokio::test]
    async fn a_collaborator_hears_the_person_first_and_answers_in_a_conversation_of_its_own() {
        let echo = Arc::new(Echo::default());
        let it = surface(&echo, 6).await;
        assert!(
            it.surface
                .info("AskCollaborator")
                .unwrap()
                .description
                .contains("law (The lawyer: knows the rules)")
        );
        let answer = it.call("AskCollaborator", json!({"collaborator": "law", "prompt": "Quote it?"})).await;
        let told = answer.text();
        assert_eq!(answer.how, How::Done);
        assert!(told.find("May we print this?").unwrap() < told.find("Quote it?").unwrap(), "{told}");
        assert_eq!(echo.0.lock().unwrap()[0].conversation.as_str(), "terminal:test:law");
    }

    // TOO-6
    #[tokio::test]
    async fn what_goes_wrong_is_told_and_bounded() {
        let echo = Arc::new(Echo::default());
        let it = surface(&echo, 3).await;
        let ask = async |id: &str, prompt: &str| {
            let settled = it.call("AskCollaborator", json!({"collaborator": id, "prompt": prompt})).await;
            (settled.how, settled.code.to_string())
        };
        assert_eq!(ask("doctor", "x").await, (How::Failed, "unknown_collaborator".into()));
        assert_eq!(ask("law", " ").await, (How::Failed, "invalid_question".into()));
        assert_eq!(ask("law", "no").await, (How::Failed, "collaborator_failed".into()));
        assert_eq!(ask("law", "sleep").await, (How::Unknown, "collaborator_timed_out".into()));
        assert_eq!(ask("law", "x").await, (How::Done, "ok".into()));
        assert_eq!(ask("law", "x").await, (How::Failed, "too_many_questions".into()));
        assert_eq!(echo.0.lock().unwrap().len(), 3);
    }

    // TOO-6
    #[tokio::test]
    async fn a_cancelled_turn_takes_its_question_back() {
        let echo = Arc::new(Echo::default());
        let one = Collaborator::new("law", Arc::clone(&echo) as _);
        let all = Collaborators::new(vec![one], 6).unwrap();
        let it = TestSurface::of(AskCollaboratorTool::new(all, "")).await;
        let request = CallRequest::new("AskCollaborator", json!({"collaborator": "law", "prompt": "sleep"}));
        request.cancel.clone().cancel_after_a_moment();
        let settled = it.surface.call(request).await;
        assert_eq!((settled.how, settled.code.as_str()), (How::Unknown, "aborted"));
    }

    trait Soon {
        fn cancel_after_a_moment(self);
    }

    impl Soon for host_ports::CancellationToken {
        fn cancel_after_a_moment(self) {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(30)).await;
                self.cancel();
            });
        }
    }

    // TOO-6
    #[test]
    fn ids_are_names_and_stand_once() {
        let echo: Arc<dyn Responder> = Arc::new(Echo::default());
        let of = |ids: &[&str]| {
            let all = ids.iter().map(|id| Collaborator::new(*id, Arc::clone(&echo))).collect();
            Collaborators::new(all, 6).map(|_| ())
        };
        assert_eq!(of(&["a", "B_2-c"]), Ok(()));
        assert_eq!(of(&["a", "a"]), Err(CollaboratorsError::Twice("a".into())));
        for bad in ["", "a b", "a:b", "ä", &"x".repeat(65)] {
            assert!(matches!(of(&[bad]), Err(CollaboratorsError::Id(_))), "{bad}");
        }
    }
}
