//! The host's end of the local socket.

use super::people::Person;
use super::protocol::{Answer, Envelope, Frame, PROTOCOL, Request, UNKNOWN_CHANNEL};
use crate::agent::{Agent, AgentError, People};
use host_http::{FRAME_BYTES_MAX, FrameError, Frames, LocalFrames, LocalSocket};
use host_ports::CancellationToken;
use host_ports::replies::Shows;
use host_run::{RunEvent, Steering};
use host_surface::Arguments;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::task::TaskTracker;

/// The most connections at once; further ones wait.
const CONNECTIONS_MAX: usize = 256;
/// How long a client may take to say what it wants.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long running turns may take to end when the host stops; then they are cut.
const DRAIN_MAX: Duration = Duration::from_secs(20);

/// The longest text of one frame, in bytes; as JSON it may be six times as long.
const PIECE_BYTES_MAX: usize = 40 * 1024;

/// Why serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServeEnd {
    /// It was asked to stop, by a client or a signal.
    Stopped,
    /// It was asked to come back.
    Restart,
}

/// Serves an agent's socket until it is asked to stop. Running turns are cancelled and given a bounded
/// time to settle.
pub async fn serve(agent: Arc<Agent>, socket: LocalSocket, stop: CancellationToken) -> ServeEnd {
    let (end, mut ending) = watch::channel(None);
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let tasks = TaskTracker::new();
    let turns = CancellationToken::new();
    let ended = loop {
        let Ok(place) = Arc::clone(&connections).acquire_owned().await else { break ServeEnd::Stopped };
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            () = stop.cancelled() => break ServeEnd::Stopped,
            _ = ending.changed() => break ending.borrow().unwrap_or(ServeEnd::Stopped),
        };
        match accepted {
            Ok(frames) => {
                let connection =
                    Connection { agent: Arc::clone(&agent), end: end.clone(), turns: turns.child_token() };
                tasks.spawn(async move {
                    connection.serve(frames).await;
                    drop(place);
                });
            }
            Err(error) => {
                // Too many open files, most likely: wait instead of spinning.
                tracing::warn!(%error, "the local socket could not accept a connection");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    };
    drop(socket);
    turns.cancel();
    tasks.close();
    if tokio::time::timeout(DRAIN_MAX, tasks.wait()).await.is_err() {
        tracing::warn!("some connections did not end in time and were cut");
    }
    ended
}

/// What the person at the other end can be asked.
struct Abilities {
    shows: Shows,
    can_approve: bool,
    can_operate: bool,
    can_elicit: bool,
}

struct Connection {
    agent: Arc<Agent>,
    end: watch::Sender<Option<ServeEnd>>,
    turns: CancellationToken,
}

fn error(code: &str, message: impl Into<String>) -> Frame {
    Frame::Error { code: code.to_owned(), message: message.into() }
}

impl Connection {
    async fn serve(self, mut frames: LocalFrames) {
        let envelope = match tokio::time::timeout(REQUEST_TIMEOUT, frames.read::<Envelope>()).await {
            Ok(Ok(Some(envelope))) => envelope,
            Ok(Ok(None)) | Err(_) => return,
            Ok(Err(problem)) => {
                let _ = frames.write(&error("bad_request", problem.to_string())).await;
                return;
            }
        };
        if envelope.protocol != PROTOCOL {
            let message = format!(
                "this host speaks protocol {PROTOCOL}, the client {}; restart the agent with the newer program",
                envelope.protocol
            );
            let _ = frames.write(&error("protocol_mismatch", message)).await;
            return;
        }
        match envelope.request {
            Request::Status => {
                let status = self.agent.status().await;
                finish(&mut frames, serde_json::to_value(status).unwrap_or(Value::Null)).await;
            }
            Request::Stop => {
                finish(&mut frames, json!({"stopping": true})).await;
                self.end.send_replace(Some(ServeEnd::Stopped));
            }
            Request::Restart { clear_sessions } => self.restart(&mut frames, clear_sessions).await,
            Request::Forget { conversation } => match self.agent.forget(conversation.as_ref()).await {
                Ok(told) => finish(&mut frames, told).await,
                Err(problem) => {
                    let _ = frames.write(&error("sessions_not_cleared", problem.to_string())).await;
                }
            },
            Request::Explain { channel } => match self.agent.explain(&channel).await {
                Ok(explained) => {
                    finish(&mut frames, serde_json::to_value(explained).unwrap_or(Value::Null)).await
                }
                Err(problem) => refuse(&mut frames, &problem).await,
            },
            Request::Tools { channel } => match self.agent.tool_specs(&channel).await {
                Ok(specs) => {
                    let prompt = self.agent.system_prompt(&channel);
                    finish(&mut frames, json!({"tools": specs.as_ref(), "prompt": prompt})).await;
                }
                Err(problem) => refuse(&mut frames, &problem).await,
            },
            Request::TestServer { name } => match self.agent.test_server(&name).await {
                Some(report) => finish(&mut frames, report).await,
                None => {
                    let _ = frames.write(&error("not_found", "no MCP server of that name is declared")).await;
                }
            },
            Request::View { look } => match self.agent.look(look).await {
                Ok(shown) => finish(&mut frames, shown).await,
                Err((code, message)) => {
                    let _ = frames.write(&error(&code, message)).await;
                }
            },
            Request::Turn { turn, can_approve, can_operate, can_elicit, shows } => {
                let agent = Arc::clone(&self.agent);
                self.with_person(
                    frames,
                    Abilities { can_approve, can_operate, can_elicit, shows },
                    move |people, events, cancel, said| async move {
                        let outcome = agent.run_steered(turn, people, events, cancel, Some(said)).await;
                        crate::agent::outcome_json(&outcome)
                    },
                )
                .await;
            }
            Request::Call { channel, tool, arguments, can_approve, can_elicit } => {
                let agent = Arc::clone(&self.agent);
                let abilities =
                    Abilities { can_approve, can_operate: false, can_elicit, shows: Shows::default() };
                self.with_person(frames, abilities, move |people, _events, cancel, _said| async move {
                    match agent.call(&channel, &tool, Arguments::Raw(arguments), people, cancel).await {
                        Ok(settled) => settled.to_json(),
                        Err(problem) => json!({"error": problem.to_string(), "code": code_of(&problem)}),
                    }
                })
                .await;
            }
        }
    }

    async fn restart(&self, frames: &mut LocalFrames, clear_sessions: bool) {
        if !self.agent.supervised() {
            let message = "this host has no supervisor that brings it back; stop it and start it again";
            let _ = frames.write(&error("not_supervised", message)).await;
            return;
        }
        let cleared = if clear_sessions { self.agent.clear_sessions().await } else { Ok((0, 0)) };
        match cleared {
            Ok((sessions, bytes)) => {
                let result = json!({"restarting": true, "clearedSessions": sessions, "clearedBytes": bytes});
                finish(frames, result).await;
                self.end.send_replace(Some(ServeEnd::Restart));
            }
            Err(problem) => {
                let _ = frames.write(&error("sessions_not_cleared", problem.to_string())).await;
            }
        }
    }

    /// Runs something with the person at the other end: events and questions go out while answers come in,
    /// and a closed connection cancels it.
    async fn with_person<F, Fut>(&self, frames: LocalFrames, abilities: Abilities, work: F)
    where
        F: FnOnce(People, host_run::EventSink, CancellationToken, Steering) -> Fut,
        Fut: Future<Output = Value>,
    {
        let (mut reader, mut writer) = frames.split();
        let (outgoing, mut queued) = mpsc::channel::<Frame>(64);
        let Abilities { can_approve, can_operate, can_elicit, shows } = abilities;
        let timeout = self.agent.approval_timeout();
        let person = Person::new(outgoing.clone(), can_approve, can_operate, timeout)
            .eliciting(can_elicit)
            .showing(shows);
        let person = Arc::new(person);
        let cancel = self.turns.child_token();
        let (events, mut stream) = host_run::channel(4096);
        let people = People {
            ask: Arc::clone(&person) as _,
            desk: can_operate.then(|| Arc::clone(&person) as _),
            elicit: can_elicit.then(|| Arc::clone(&person) as _),
        };
        let (steer, said) = host_run::steering();
        let open: Mutex<BTreeSet<String>> = Mutex::default();
        let open = &open;
        let working = work(people, events, cancel.clone(), said);
        let telling = outgoing.clone();
        let forward = async move {
            while let Some(event) = stream.recv().await {
                if let RunEvent::FollowUpsRead { ids } = &event {
                    for id in ids {
                        open.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
                        let _ = telling.send(Frame::Steered { id: id.clone(), applied: true }).await;
                    }
                    continue;
                }
                if telling.send(Frame::Event { event }).await.is_err() {
                    break;
                }
            }
        };
        let doing = async move {
            let (result, ()) = tokio::join!(working, forward);
            // What the model has not read by now it won't.
            let unread = std::mem::take(&mut *open.lock().unwrap_or_else(PoisonError::into_inner));
            for id in unread {
                let _ = outgoing.send(Frame::Steered { id, applied: false }).await;
            }
            // A client that is gone has no use for the result; the log has it.
            for frame in ending(result) {
                let _ = outgoing.send(frame).await;
            }
        };
        let writing = async {
            while let Some(frame) = queued.recv().await {
                let last = matches!(frame, Frame::Finish { .. });
                if write_bounded(&mut writer, &frame).await.is_err() {
                    cancel.cancel();
                }
                if last {
                    return;
                }
            }
        };
        let listening = async {
            loop {
                match reader.read::<Answer>().await {
                    Ok(Some(Answer::Cancel)) => cancel.cancel(),
                    Ok(Some(Answer::Steer { id, text })) => {
                        open.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
                        steer.say(id, text);
                    }
                    Ok(Some(Answer::Unsteer { id })) => {
                        open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                        steer.take_back(id);
                    }
                    Ok(Some(answer)) => person.answered(answer),
                    Ok(None) | Err(_) => break,
                }
            }
            // Whoever closes the connection wants no more of it.
            cancel.cancel();
            person.leave();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            _ = async { tokio::join!(doing, writing) } => {}
            () = listening => {}
        }
    }
}

/// The last frames: a text that is too long for one goes before it, in pieces (RET-4).
fn ending(mut result: Value) -> Vec<Frame> {
    let mut frames = Vec::new();
    if let Some(text) = result["text"].as_str().filter(|text| text.len() > PIECE_BYTES_MAX) {
        frames.extend(pieces(text).map(|piece| Frame::Piece { text: piece.to_owned() }));
        result["text"] = Value::Null;
    }
    frames.push(Frame::Finish { result });
    frames
}

/// A text in pieces that fit a frame each.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let piece = host_vocab::text::prefix(rest, PIECE_BYTES_MAX);
        rest = &rest[piece.len()..];
        (!piece.is_empty()).then_some(piece)
    })
}

async fn finish(frames: &mut LocalFrames, result: Value) {
    // A client that is gone has no use for the answer.
    let _ = frames.write(&Frame::Finish { result }).await;
}

async fn refuse(frames: &mut LocalFrames, problem: &AgentError) {
    let _ = frames.write(&error(code_of(problem), problem.to_string())).await;
}

fn code_of(problem: &AgentError) -> &'static str {
    match problem {
        AgentError::Channel { .. } => UNKNOWN_CHANNEL,
        AgentError::Surface(_) | AgentError::Log(_) => "refused",
    }
}

/// A frame of a turn has at most [`FRAME_BYTES_MAX`] bytes (RET-4). The text of the last event comes again at the end,
/// so it may be cut there; anything else that is too large is named, not sent.
async fn write_bounded<R, W>(writer: &mut Frames<R, W>, frame: &Frame) -> Result<(), FrameError>
where
    R: tokio::io::AsyncRead + Unpin,
    W: tokio::io::AsyncWrite + Unpin,
{
    let line = serde_json::to_vec(frame).map_err(|error| FrameError::Malformed(error.to_string()))?;
    if line.len() < FRAME_BYTES_MAX {
        return writer.write_line(line).await;
    }
    match frame {
        Frame::Event { event: RunEvent::TextDelta { text } } => {
            for piece in pieces(text) {
                let event = RunEvent::TextDelta { text: piece.to_owned() };
                writer.write(&Frame::Event { event }).await?;
            }
            Ok(())
        }
        Frame::Event { event: RunEvent::RunSettled { .. } } => {
            let mut whole = serde_json::to_value(frame).unwrap_or_default();
            whole["event"]["text"] = "".into();
            writer.write(&whole).await
        }
        _ => writer.write(&error("oversized_event", "an event was too large for this connection")).await,
    }
}
