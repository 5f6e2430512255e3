//! `AskUser`: the run waits for a person's answers (TOO-6, CHN-3).
//!
//! `{"questions": [{"header": "Format", "question": "Which one?", "options": [{"label": "CSV", "description": "One table"}, {"label": "PDF", "description": "To print"}]}]}`

use host_ports::ask::{Ask, Choice, Question, Questionnaire, QuestionsAnswer, Reply};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::{ConversationId, Effect, Untrusted};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The longest header, in characters.
const HEADER_CHARS_MAX: usize = 12;
/// The longest other text, in characters.
const TEXT_CHARS_MAX: usize = 2_000;

/// Which conversations have open questions: one set each.
#[derive(Debug, Clone, Default)]
pub struct PendingQuestions(Arc<Mutex<BTreeSet<String>>>);

struct Place {
    pending: PendingQuestions,
    conversation: String,
}

impl PendingQuestions {
    fn take(&self, conversation: &ConversationId) -> Option<Place> {
        let conversation = conversation.without_bucket().to_owned();
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.insert(conversation.clone()).then(|| Place { pending: self.clone(), conversation })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.pending.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.conversation);
    }
}

/// The tool. It holds the way to the person of its run.
pub struct AskUser {
    ask: Arc<dyn Ask>,
    pending: PendingQuestions,
    wait: Option<Duration>,
}

impl AskUser {
    /// For one run; `wait` = how long a person has for all questions, none = for ever.
    pub fn new(ask: Arc<dyn Ask>, pending: PendingQuestions, wait: Option<Duration>) -> Self {
        AskUser { ask, pending, wait }
    }
}

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskUserInput {
    /// What stands above.
    #[serde(default)]
    pub message: Option<String>,
    /// 1 to 5.
    pub questions: Vec<QuestionInput>,
}

/// One question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct QuestionInput {
    /// A word, at most 12 characters.
    pub header: String,
    /// The question.
    pub question: String,
    /// 2 or 3 answers; another one can always be written.
    pub options: Vec<OptionInput>,
    /// Whether several fit.
    #[serde(default)]
    pub multi_select: bool,
}

/// One answer to choose from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionInput {
    /// Its label.
    pub label: String,
    /// What it means.
    pub description: String,
}

impl Tool for AskUser {
    const DECL: Decl = Decl {
        name: "AskUser",
        about: "Asks the person and waits. Ask before work that hangs on a choice you don't know and can't find out.",
        effects: &[Effect::Asks],
        belongs: Belongs::Lists,
        codes: &["invalid_questions", "already_pending", "declined", "timed_out", "nobody_to_ask"],
    };
    type Input = AskUserInput;

    async fn run(&self, call: Admitted<AskUserInput>) -> Result<ToolOutput, ToolError> {
        let questions = read(&call.input).map_err(|why| ToolError::new("invalid_questions", why))?;
        let Some(_place) = self.pending.take(&call.context.conversation) else {
            let message = "questions of this conversation wait for answers already; wait for them first";
            return Err(ToolError::new("already_pending", message));
        };
        let asked = Questionnaire {
            conversation: call.context.conversation.clone(),
            run: call.context.run.clone(),
            call: call.context.call.clone(),
            message: call.input.message.map(Untrusted::new),
            questions: questions.clone(),
            wait: self.wait,
        };
        let answer = tokio::select! {
            answer = self.ask.questions(asked) => answer,
            () = call.context.cancel.cancelled() => QuestionsAnswer::Declined,
        };
        match answer {
            QuestionsAnswer::Answered(replies) => Ok(told(&questions, &replies)),
            QuestionsAnswer::TimedOut(replies) if replies.iter().any(Option::is_some) => {
                Ok(told(&questions, &replies))
            }
            QuestionsAnswer::TimedOut(_) => Err(ToolError::new(
                "timed_out",
                "nobody answered in time; go on without, or ask in your reply",
            )),
            QuestionsAnswer::Declined => {
                Err(ToolError::new("declined", "the person does not want to answer; go on without"))
            }
            QuestionsAnswer::NobodyToAsk => {
                let message =
                    "nobody can be asked here; put the question into your reply, with numbered options";
                Err(ToolError::new("nobody_to_ask", message))
            }
        }
    }
}

fn read(input: &AskUserInput) -> Result<Vec<Question>, String> {
    if !(1..=5).contains(&input.questions.len()) {
        return Err(format!("questions: 1 to 5, there are {}", input.questions.len()));
    }
    let text = |place: String, text: &str, most: usize| {
        let text = text.trim();
        match text.chars().count() {
            0 => Err(format!("{place}: it is empty")),
            chars if chars > most => Err(format!("{place}: at most {most} characters, it has {chars}")),
            _ => Ok(text.to_owned()),
        }
    };
    if let Some(message) = &input.message {
        text("message".to_owned(), message, TEXT_CHARS_MAX)?;
    }
    let mut questions = Vec::new();
    for (n, it) in input.questions.iter().enumerate() {
        let at = format!("questions[{n}]");
        if !(2..=3).contains(&it.options.len()) {
            return Err(format!("{at}.options: 2 or 3, there are {}", it.options.len()));
        }
        let mut options: Vec<Choice> = Vec::new();
        for (m, option) in it.options.iter().enumerate() {
            let at = format!("{at}.options[{m}]");
            let label = text(format!("{at}.label"), &option.label, 100)?;
            if options.iter().any(|it| it.label == label) {
                return Err(format!("{at}.label: it stands there twice"));
            }
            options.push(Choice {
                label,
                description: text(format!("{at}.description"), &option.description, 500)?,
            });
        }
        questions.push(Question {
            header: text(format!("{at}.header"), &it.header, HEADER_CHARS_MAX)?,
            question: text(format!("{at}.question"), &it.question, TEXT_CHARS_MAX)?,
            options,
            multi_select: it.multi_select,
        });
    }
    Ok(questions)
}

/// The answers, question by question.
fn told(questions: &[Question], replies: &[Option<Reply>]) -> ToolOutput {
    let mut lines = Vec::new();
    let mut answers: Vec<Value> = Vec::new();
    for (n, question) in questions.iter().enumerate() {
        let reply = replies.get(n).and_then(Option::as_ref);
        let said = match reply {
            None => "(not answered)".to_owned(),
            Some(reply) => {
                let own = reply.other.iter().map(|other| format!("in their own words: {other}"));
                reply.selected.iter().cloned().chain(own).collect::<Vec<_>>().join("; ")
            }
        };
        lines.push(format!("{}: {said}", question.header));
        answers.push(json!({"header": question.header, "answered": reply.is_some(),
            "selected": reply.map(|it| &it.selected), "other": reply.and_then(|it| it.other.as_ref())}));
    }
    ToolOutput::text(lines.join("\n")).with_structured(json!({"answers": answers}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ports::BoxFuture;
    use host_ports::ask::{ApprovalAnswer, ApprovalRequest};
    use host_testkit::TestSurface;

    struct Person(QuestionsAnswer);

    impl Ask for Person {
        fn approve(&self, _: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
            Box::pin(async { ApprovalAnswer::Denied })
        }
        fn questions(&self, _: Questionnaire) -> BoxFuture<'_, QuestionsAnswer> {
            Box::pin(async { self.0.clone() })
        }
    }

    fn question(options: usize) -> Value {
        let options: Vec<Value> =
            (0..options).map(|n| json!({"label": format!("o{n}"), "description": "d"})).collect();
        json!({"header": "Format", "question": "Which?", "options": options})
    }

    async fn asked(answer: QuestionsAnswer, input: Value) -> host_surface::Settled {
        let tool = AskUser::new(Arc::new(Person(answer)), PendingQuestions::default(), None);
        TestSurface::of(tool).await.call("AskUser", input).await
    }

    // TOO-6, CHN-3
    #[tokio::test]
    async fn answers_come_question_by_question() {
        let reply = Reply { selected: vec!["o1".into()], other: Some("and soon".into()) };
        let answer = QuestionsAnswer::TimedOut(vec![Some(reply), None]);
        let settled = asked(answer, json!({"questions": [question(2), question(3)]})).await;
        assert_eq!(settled.text(), "Format: o1; in their own words: and soon\nFormat: (not answered)");
        let settled = asked(QuestionsAnswer::Declined, json!({"questions": [question(2)]})).await;
        assert_eq!(settled.code.as_str(), "declined");
    }

    // TOO-6
    #[tokio::test]
    async fn bad_questions_are_named_and_nobody_is_asked() {
        let answered = || QuestionsAnswer::Answered(vec![None]);
        for bad in [
            json!({"questions": []}),
            json!({"questions": vec![question(2); 6]}),
            json!({"questions": [question(1)]}),
            json!({"questions": [question(4)]}),
            json!({"questions": [{"header": "a header that is long", "question": "q", "options": question(2)["options"]}]}),
        ] {
            assert_eq!(asked(answered(), bad).await.code.as_str(), "invalid_questions");
        }
    }

    // TOO-6: one pending for a conversation.
    #[test]
    fn one_set_of_questions_for_a_conversation() {
        let pending = PendingQuestions::default();
        let conversation = ConversationId::parse("web:x").unwrap();
        let place = pending.take(&conversation).unwrap();
        assert!(pending.take(&conversation).is_none());
        drop(place);
        assert!(pending.take(&conversation).is_some());
    }
}
