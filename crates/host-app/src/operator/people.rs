//! The person at the other end of a connection: asked for approvals, and playing the model.

use super::protocol::{Answer, ElicitAction, Frame, Move};
use host_ports::BoxFuture;
use host_ports::ask::{ApprovalAnswer, ApprovalRequest, Ask, Questionnaire, QuestionsAnswer, Reply};
use host_ports::elicit::{Elicit, ElicitAnswer, ElicitRequest, Wanted};
use host_ports::model::ModelRequest;
use host_ports::operator::{OperatorDesk, OperatorMove};
use host_ports::replies::Shows;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How many of the newest messages a desk is shown.
const DESK_MESSAGES_MAX: usize = 8;

/// One connection's person. Questions go out as frames and come back as answers; when the connection
/// closes, every open question is answered with no.
pub(crate) struct Person {
    frames: mpsc::Sender<Frame>,
    waiting: Mutex<Waiting>,
    can_approve: bool,
    can_operate: bool,
    can_elicit: bool,
    shows: Shows,
    timeout: Duration,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    approvals: HashMap<u64, oneshot::Sender<ApprovalAnswer>>,
    moves: HashMap<u64, oneshot::Sender<OperatorMove>>,
    questions: HashMap<u64, oneshot::Sender<ElicitAnswer>>,
    sets: HashMap<u64, oneshot::Sender<Option<Value>>>,
    gone: bool,
}

impl Person {
    pub(crate) fn new(
        frames: mpsc::Sender<Frame>,
        can_approve: bool,
        can_operate: bool,
        timeout: Duration,
    ) -> Self {
        Person {
            frames,
            waiting: Mutex::default(),
            can_approve,
            can_operate,
            can_elicit: false,
            shows: Shows::default(),
            timeout,
        }
    }

    /// The same, who can or can't be asked what servers want to know.
    pub(crate) fn eliciting(mut self, can_elicit: bool) -> Self {
        self.can_elicit = can_elicit;
        self
    }

    /// The same at a place that shows this.
    pub(crate) fn showing(mut self, shows: Shows) -> Self {
        self.shows = shows;
        self
    }

    /// Hands an answer to whoever waits for it. One that nobody waits for is dropped.
    pub(crate) fn answered(&self, answer: Answer) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match answer {
            Answer::Approval { id, approval } => {
                if let Some(asker) = waiting.approvals.remove(&id) {
                    let _ = asker.send(approval.into());
                }
            }
            Answer::Move { id, made } => {
                if let Some(asker) = waiting.moves.remove(&id) {
                    let _ = asker.send(match made {
                        Move::Say { text } => OperatorMove::Say(text),
                        Move::Call { calls } => OperatorMove::Call(calls),
                        Move::Leave => OperatorMove::Leave,
                    });
                }
            }
            Answer::Elicited { id, action, content } => {
                if let Some(asker) = waiting.questions.remove(&id) {
                    let _ = asker.send(match action {
                        ElicitAction::Accept => ElicitAnswer::Accepted(content),
                        ElicitAction::Decline => ElicitAnswer::Declined,
                        ElicitAction::Cancel => ElicitAnswer::Cancelled,
                    });
                }
            }
            Answer::Answers { id, answers } => {
                if let Some(asker) = waiting.sets.remove(&id) {
                    let _ = asker.send(answers);
                }
            }
            Answer::Steer { .. } | Answer::Unsteer { .. } | Answer::Cancel => {}
        }
    }

    fn wait_ms(&self) -> Option<u64> {
        u64::try_from(self.timeout.as_millis()).ok()
    }

    /// The connection is closed: nobody answers any more.
    pub(crate) fn leave(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.gone = true;
        waiting.approvals.clear();
        waiting.moves.clear();
        waiting.questions.clear();
        waiting.sets.clear();
    }

    fn wait_for<T>(
        &self,
        place: impl FnOnce(&mut Waiting, u64, oneshot::Sender<T>),
    ) -> Option<(u64, oneshot::Receiver<T>)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.gone {
            return None;
        }
        let id = waiting.next;
        waiting.next += 1;
        let (answer, coming) = oneshot::channel();
        place(&mut waiting, id, answer);
        Some((id, coming))
    }
}

/// Takes a question back that is not asked any more.
struct Withdrawing<'a> {
    person: &'a Person,
    id: u64,
}

impl Drop for Withdrawing<'_> {
    fn drop(&mut self) {
        let mut waiting = self.person.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.sets.remove(&self.id).is_some() {
            // A client that reads nothing more has no use for it.
            let _ = self.person.frames.try_send(Frame::Withdrawn { id: self.id });
        }
    }
}

/// Replies as they came; what is none counts as not answered.
fn replies(answers: &Value, questions: usize) -> Vec<Option<Reply>> {
    let reply = |at: usize| {
        let reply: Reply = serde_json::from_value(answers.get(at)?.clone()).ok()?;
        let other = reply.other.filter(|it| !it.trim().is_empty());
        (!reply.selected.is_empty() || other.is_some()).then_some(Reply { other, ..reply })
    };
    (0..questions).map(reply).collect()
}

impl Ask for Person {
    fn shows(&self) -> Shows {
        self.shows
    }

    fn questions(&self, asked: Questionnaire) -> BoxFuture<'_, QuestionsAnswer> {
        Box::pin(async move {
            if !self.shows.questions {
                return QuestionsAnswer::NobodyToAsk;
            }
            let Some((id, coming)) = self.wait_for(|waiting, id, answer| {
                waiting.sets.insert(id, answer);
            }) else {
                return QuestionsAnswer::NobodyToAsk;
            };
            let _withdrawing = Withdrawing { person: self, id };
            let frame = Frame::Questions {
                id,
                message: asked.message.map(host_vocab::Untrusted::into_renderer),
                questions: asked.questions.clone(),
                wait_ms: asked.wait.and_then(|wait| u64::try_from(wait.as_millis()).ok()),
            };
            if self.frames.send(frame).await.is_err() {
                return QuestionsAnswer::NobodyToAsk;
            }
            let answered = match asked.wait {
                Some(wait) => tokio::time::timeout(wait, coming).await,
                None => Ok(coming.await),
            };
            match answered {
                Err(_) => QuestionsAnswer::TimedOut(vec![None; asked.questions.len()]),
                Ok(Ok(Some(answers))) => QuestionsAnswer::Answered(replies(&answers, asked.questions.len())),
                Ok(Ok(None) | Err(_)) => QuestionsAnswer::Declined,
            }
        })
    }

    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            if !self.can_approve {
                return ApprovalAnswer::NoAsker;
            }
            let Some((id, coming)) = self.wait_for(|waiting, id, answer| {
                waiting.approvals.insert(id, answer);
            }) else {
                return ApprovalAnswer::NoAsker;
            };
            let frame = Frame::Ask {
                id,
                tool: request.tool.to_string(),
                arguments: request.arguments.into_renderer(),
                rule: request.rule,
                run: request.run.to_string(),
                call: request.call.to_string(),
                always: request.always,
                wait_ms: self.wait_ms(),
            };
            if self.frames.send(frame).await.is_err() {
                return ApprovalAnswer::NoAsker;
            }
            match tokio::time::timeout(self.timeout, coming).await {
                Err(_) => ApprovalAnswer::TimedOut,
                Ok(answer) => answer.unwrap_or(ApprovalAnswer::Denied),
            }
        })
    }
}

impl Elicit for Person {
    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitAnswer> {
        Box::pin(async move {
            if !self.can_elicit {
                return ElicitAnswer::Declined;
            }
            let Some((id, coming)) = self.wait_for(|waiting, id, answer| {
                waiting.questions.insert(id, answer);
            }) else {
                return ElicitAnswer::Declined;
            };
            let (form, visit) = match request.wanted.into_renderer() {
                Wanted::Form(schema) => (Some(schema), None),
                Wanted::Visit(url) => (None, Some(url.to_string())),
            };
            let frame = Frame::Elicit {
                id,
                server: request.server.to_string(),
                message: request.message.into_renderer(),
                form,
                visit,
                run: request.run.to_string(),
                call: request.call.to_string(),
                wait_ms: self.wait_ms(),
            };
            if self.frames.send(frame).await.is_err() {
                return ElicitAnswer::Declined;
            }
            match tokio::time::timeout(self.timeout, coming).await {
                Ok(Ok(answer)) => answer,
                _ => ElicitAnswer::Cancelled,
            }
        })
    }
}

impl OperatorDesk for Person {
    fn next_move(&self, request: &ModelRequest) -> BoxFuture<'_, OperatorMove> {
        let from = request.messages.len().saturating_sub(DESK_MESSAGES_MAX);
        let messages = request.messages[from..].to_vec();
        let tools = request.tools.to_vec();
        Box::pin(async move {
            if !self.can_operate {
                return OperatorMove::Leave;
            }
            let Some((id, coming)) = self.wait_for(|waiting, id, answer| {
                waiting.moves.insert(id, answer);
            }) else {
                return OperatorMove::Leave;
            };
            if self.frames.send(Frame::Desk { id, messages, tools }).await.is_err() {
                return OperatorMove::Leave;
            }
            coming.await.unwrap_or(OperatorMove::Leave)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::protocol::Approval;
    use host_vocab::{CallId, ConversationId, RunId, ToolName, Untrusted};
    use std::sync::Arc;

    fn request() -> ApprovalRequest {
        ApprovalRequest {
            conversation: ConversationId::parse("terminal:x").unwrap(),
            run: RunId::fresh(),
            call: CallId::fresh(),
            tool: ToolName::parse("Bash").unwrap(),
            arguments: Untrusted::new(serde_json::json!({})),
            rule: "r".into(),
            always: None,
        }
    }

    // TOO-9
    #[tokio::test(start_paused = true)]
    async fn an_answer_in_time_counts_and_every_other_way_is_a_no() {
        let (frames, mut sent) = mpsc::channel(8);
        let person = Arc::new(Person::new(frames, true, false, Duration::from_secs(60)));
        let asking = tokio::spawn({
            let person = Arc::clone(&person);
            async move { person.approve(request()).await }
        });
        let Some(Frame::Ask { id, .. }) = sent.recv().await else { panic!("a question") };
        person.answered(Answer::Approval { id: id + 7, approval: Approval::Approved });
        person.answered(Answer::Approval { id, approval: Approval::Approved });
        assert_eq!(asking.await.unwrap(), ApprovalAnswer::Approved);
        assert_eq!(person.approve(request()).await, ApprovalAnswer::TimedOut);
        let asking = tokio::spawn({
            let person = Arc::clone(&person);
            async move { person.approve(request()).await }
        });
        tokio::time::sleep(Duration::from_millis(1)).await;
        person.leave();
        assert_eq!(asking.await.unwrap(), ApprovalAnswer::Denied);
        assert_eq!(person.approve(request()).await, ApprovalAnswer::NoAsker);
    }

    // MCP-14
    #[tokio::test(start_paused = true)]
    async fn a_servers_question_goes_to_the_client_that_can_answer() {
        let (frames, mut sent) = mpsc::channel(8);
        let question = || {
            let ApprovalRequest { conversation, run, call, .. } = request();
            let server = host_vocab::ServerName::parse("shop").unwrap();
            let message = Untrusted::new("Who?".to_owned());
            let wanted = Untrusted::new(Wanted::Form(serde_json::json!({"properties": {}})));
            ElicitRequest { conversation, run, call, server, message, wanted }
        };
        let deaf = Person::new(frames.clone(), true, true, Duration::from_secs(60));
        assert_eq!(deaf.elicit(question()).await, ElicitAnswer::Declined);
        let person = Arc::new(Person::new(frames, true, false, Duration::from_secs(60)).eliciting(true));
        let asking = tokio::spawn({
            let (person, question) = (Arc::clone(&person), question());
            async move { person.elicit(question).await }
        });
        let Some(Frame::Elicit { id, server, .. }) = sent.recv().await else { panic!("a question") };
        assert_eq!(server, "shop");
        let content = serde_json::json!({"name": "Ada"});
        person.answered(Answer::Elicited { id, action: ElicitAction::Accept, content: content.clone() });
        assert_eq!(asking.await.unwrap(), ElicitAnswer::Accepted(content));
        // No answer in time.
        assert_eq!(person.elicit(question()).await, ElicitAnswer::Cancelled);
    }
}
