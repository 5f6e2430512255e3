//! A client's end of the local socket.

use super::protocol::{Answer, ElicitAction, Envelope, Frame, Move, PROTOCOL, Request, Status};
use crate::agent::People;
use host_http::{ConnectError, FrameError, LocalFrames, SocketAddress, connect};
use host_ports::ask::{ApprovalRequest, Questionnaire, QuestionsAnswer, Reply};
use host_ports::elicit::{ElicitAnswer, ElicitRequest, Wanted};
use host_ports::model::ModelRequest;
use host_ports::operator::OperatorMove;
use host_ports::{BoxFuture, CancellationToken};
use host_run::EventSink;
use host_vocab::{CallId, ConversationId, RunId, ServerName, ToolName, Untrusted};
use serde_json::Value;
use std::time::Duration;

/// Why a running host could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No host runs, or its socket is someone else's.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection broke. What the host was doing goes on to its own end there.
    #[error("the connection to the running agent broke: {0}")]
    Frame(#[from] FrameError),
    /// The host went away without an end.
    #[error(
        "the running agent went away before it answered; `mono-agent validate` shows what became of its runs"
    )]
    Gone,
    /// A process listens and says nothing.
    #[error("the host (process {}) does not answer; `mono-agent stop` ends it", pid.map_or_else(|| "?".to_owned(), |it| it.to_string()))]
    Silent {
        /// The process.
        pid: Option<u32>,
    },
    /// The host said no.
    #[error("{message}")]
    Refused {
        /// A code.
        code: String,
        /// What went wrong and what to do.
        message: String,
    },
}

/// How long a host may take to answer what it answers at once.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// A way to a running host. Each request takes a connection of its own.
#[derive(Debug, Clone)]
pub struct Client {
    address: SocketAddress,
}

impl Client {
    /// A client for a socket. Nothing is connected yet.
    pub fn new(address: SocketAddress) -> Self {
        Client { address }
    }

    /// Whether a host is there, even one that doesn't answer.
    pub async fn is_running(&self) -> bool {
        !matches!(
            self.status().await,
            Err(ClientError::Connect(ConnectError::NotRunning) | ClientError::Gone)
        )
    }

    /// How the host is.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn status(&self) -> Result<Status, ClientError> {
        let value = self.ask(Request::Status).await?;
        serde_json::from_value(value).map_err(|error| FrameError::Malformed(error.to_string()).into())
    }

    /// Sends a request that asks nothing back, and waits for its result.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn ask(&self, request: Request) -> Result<Value, ClientError> {
        let (mut frames, pid) = self.open(request).await?;
        let answer = tokio::time::timeout(ANSWER_MAX, frames.read::<Frame>()).await;
        match answer.map_err(|_| ClientError::Silent { pid })?? {
            Some(Frame::Finish { result }) => Ok(result),
            Some(Frame::Error { code, message }) => Err(ClientError::Refused { code, message }),
            Some(_) | None => Err(ClientError::Gone),
        }
    }

    /// Sends a turn or a call, passes its events on, lets the people here answer, and gives the result.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn with_people(
        &self,
        request: Request,
        people: &People,
        events: EventSink,
        cancel: CancellationToken,
    ) -> Result<Value, ClientError> {
        let (mut reader, mut writer) = self.open(request).await?.0.split();
        // The person's answer to the newest question; reading goes on while they think, because the host
        // may give up waiting.
        let mut thinking: Option<BoxFuture<'_, Option<Answer>>> = None;
        let mut told = false;
        let mut pieces = String::new();
        loop {
            let frame = tokio::select! {
                frame = reader.read::<Frame>() => frame?,
                answer = async { thinking.as_mut().expect("the branch is off without a question").await },
                    if thinking.is_some() =>
                {
                    thinking = None;
                    if let Some(answer) = answer {
                        writer.write(&answer).await?;
                    }
                    continue;
                }
                () = cancel.cancelled(), if !told => {
                    told = true;
                    writer.write(&Answer::Cancel).await?;
                    continue;
                }
            };
            match frame {
                Some(Frame::Event { event }) => events.send(event),
                Some(Frame::Piece { text }) => pieces.push_str(&text),
                Some(Frame::Finish { mut result }) => {
                    if !pieces.is_empty() {
                        result["text"] = pieces.into();
                    }
                    return Ok(result);
                }
                Some(Frame::Error { code, message }) if code == "oversized_event" => {
                    events.send(host_run::RunEvent::Warning { code, message });
                }
                Some(Frame::Error { code, message }) => return Err(ClientError::Refused { code, message }),
                Some(question) => thinking = Some(Box::pin(answer(question, people))),
                None => return Err(ClientError::Gone),
            }
        }
    }

    /// Sends a request, and gives the connection on which it is answered.
    pub(crate) async fn open(&self, request: Request) -> Result<(LocalFrames, Option<u32>), ClientError> {
        let (mut frames, pid) = connect(&self.address).await?;
        frames.write(&Envelope { protocol: PROTOCOL, request }).await?;
        Ok((frames, pid))
    }
}

/// Lets the person here answer a question of the host. What can't be understood is answered with no.
async fn answer(question: Frame, people: &People) -> Option<Answer> {
    match question {
        Frame::Questions { id, message, questions, wait_ms } => {
            let none = Some(Answer::Answers { id, answers: None });
            let (Ok(conversation), count) = (ConversationId::parse("terminal:joined"), questions.len())
            else {
                return none;
            };
            let asked = Questionnaire {
                conversation,
                run: RunId::fresh(),
                call: CallId::fresh(),
                message: message.map(Untrusted::new),
                questions,
                wait: wait_ms.map(Duration::from_millis),
            };
            match people.ask.questions(asked).await {
                QuestionsAnswer::Answered(replies) | QuestionsAnswer::TimedOut(replies) => {
                    let replies: Vec<Reply> =
                        replies.into_iter().map(Option::unwrap_or_default).take(count).collect();
                    Some(Answer::Answers { id, answers: serde_json::to_value(replies).ok() })
                }
                QuestionsAnswer::Declined | QuestionsAnswer::NobodyToAsk => none,
            }
        }
        Frame::Ask { id, tool, arguments, rule, run, call, always, .. } => {
            let denied = Answer::Approval { id, approval: super::protocol::Approval::Denied };
            let (Ok(tool), Ok(run), Ok(call)) =
                (ToolName::parse(tool), RunId::parse(run), CallId::parse(call))
            else {
                return Some(denied);
            };
            let Ok(conversation) = ConversationId::parse("terminal:joined") else { return Some(denied) };
            let request = ApprovalRequest {
                conversation,
                run,
                call,
                tool,
                arguments: Untrusted::new(arguments),
                rule,
                always,
            };
            Some(Answer::Approval { id, approval: people.ask.approve(request).await.into() })
        }
        Frame::Elicit { id, server, message, form, visit, run, call, .. } => {
            let declined = Answer::Elicited { id, action: ElicitAction::Decline, content: Value::Null };
            let wanted = form
                .map(Wanted::Form)
                .or_else(|| visit.and_then(|it| url::Url::parse(&it).ok()).map(Wanted::Visit));
            let (Some(elicit), Some(wanted), Ok(server), Ok(run), Ok(call), Ok(conversation)) = (
                &people.elicit,
                wanted,
                ServerName::parse(server),
                RunId::parse(run),
                CallId::parse(call),
                ConversationId::parse("terminal:joined"),
            ) else {
                return Some(declined);
            };
            let (message, wanted) = (Untrusted::new(message), Untrusted::new(wanted));
            let request = ElicitRequest { conversation, run, call, server, message, wanted };
            let (action, content) = match elicit.elicit(request).await {
                ElicitAnswer::Accepted(content) => (ElicitAction::Accept, content),
                ElicitAnswer::Declined => (ElicitAction::Decline, Value::Null),
                ElicitAnswer::Cancelled => (ElicitAction::Cancel, Value::Null),
            };
            Some(Answer::Elicited { id, action, content })
        }
        Frame::Desk { id, messages, tools } => {
            let Some(desk) = &people.desk else { return Some(Answer::Move { id, made: Move::Leave }) };
            let request = ModelRequest {
                system: String::new(),
                messages,
                tools: tools.into(),
                effort: None,
                output_tokens_max: None,
                cache_key: None,
            };
            let made = match desk.next_move(&request).await {
                OperatorMove::Say(text) => Move::Say { text },
                OperatorMove::Call(calls) => Move::Call { calls },
                OperatorMove::Leave => Move::Leave,
            };
            Some(Answer::Move { id, made })
        }
        _ => None,
    }
}
