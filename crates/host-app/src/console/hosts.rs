//! The agents as the console reaches them: over their sockets, with the operator protocol.

use super::link;
use crate::clock::SystemClock;
use crate::operator::protocol::{Request, UNKNOWN_CHANNEL};
use crate::operator::{Client, ClientError, View};
use futures_util::future::join_all;
use host_console::{AgentHosts, FoundAgent, HostFault, HostQuestion, TurnLink, TurnOrder};
use host_files::attachment;
use host_files::publish::{FetchError, ReplyFiles};
use host_http::{ConnectError, HostEntry, HostRegistry, SocketAddress};
use host_ports::BoxFuture;
use host_ports::clock::Clock as _;
use host_surface::Explanation;
use host_turn::{Attachment, Channel, Trigger, Turn};
use host_vocab::{ConversationId, RunId};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an agent may take to say how it is.
const STATUS_MAX: Duration = Duration::from_secs(3);
/// The largest file of a turn, in bytes.
const FILE_BYTES_MAX: u64 = 20 * 1024 * 1024;

/// Where agents are found.
pub(super) enum Hosts {
    Registry(HostRegistry),
    One(HostEntry),
}

pub(super) struct SocketHosts {
    hosts: Hosts,
}

impl SocketHosts {
    pub(super) fn new(hosts: Hosts) -> Self {
        SocketHosts { hosts }
    }

    fn entries(&self) -> Vec<HostEntry> {
        match &self.hosts {
            Hosts::Registry(registry) => registry.list(),
            Hosts::One(entry) => vec![entry.clone()],
        }
    }

    fn entry(&self, agent: &str) -> Result<HostEntry, HostFault> {
        self.entries().into_iter().find(|it| it.id() == agent).ok_or(HostFault::Offline)
    }
}

fn client(entry: &HostEntry) -> Client {
    Client::new(SocketAddress::at(entry.socket.clone()))
}

pub(super) fn fault(error: ClientError) -> HostFault {
    match error {
        ClientError::Connect(ConnectError::NotRunning) | ClientError::Gone => HostFault::Offline,
        ClientError::Refused { code, .. } if code == "protocol_mismatch" => HostFault::Unsupported,
        // An older host can't read a request that is newer than it.
        ClientError::Refused { code, message }
            if code == "bad_request" && message.contains("unknown variant") =>
        {
            HostFault::Unsupported
        }
        ClientError::Refused { code, message } => {
            let code = if code == UNKNOWN_CHANNEL { "invalid_arguments".to_owned() } else { code };
            HostFault::Refused { code, message }
        }
        ClientError::Silent { .. } => HostFault::Broken("The agent does not answer.".to_owned()),
        ClientError::Connect(_) | ClientError::Frame(_) => {
            HostFault::Broken("The way to the agent broke.".to_owned())
        }
    }
}

async fn found(entry: HostEntry) -> FoundAgent {
    let client = client(&entry);
    let status = tokio::time::timeout(STATUS_MAX, client.status()).await;
    let status = status.ok().and_then(Result::ok).and_then(|status| serde_json::to_value(status).ok());
    FoundAgent { id: entry.id(), name: entry.name, status }
}

impl AgentHosts for SocketHosts {
    fn list(&self) -> BoxFuture<'_, Vec<FoundAgent>> {
        Box::pin(async move { join_all(self.entries().into_iter().map(found)).await })
    }

    fn ask<'a>(&'a self, agent: &'a str, question: HostQuestion) -> BoxFuture<'a, Result<Value, HostFault>> {
        Box::pin(async move {
            let client = client(&self.entry(agent)?);
            let ask = |request| async { client.ask(request).await.map_err(fault) };
            match question {
                HostQuestion::Explain { channel } => {
                    let mut explained = ask(Request::Explain { channel }).await?;
                    let read: Explanation = serde_json::from_value(explained.clone()).map_err(unreadable)?;
                    explained["text"] = read.to_string().into();
                    Ok(explained)
                }
                HostQuestion::Tools { channel } => Ok(weighed(&ask(Request::Tools { channel }).await?)),
                HostQuestion::View(view) => {
                    let look: View = serde_json::from_value(view).map_err(|error| HostFault::Refused {
                        code: "invalid_arguments".to_owned(),
                        message: format!("The request can't be read: {error}."),
                    })?;
                    ask(Request::View { look }).await
                }
                HostQuestion::Restart => ask(Request::Restart { clear_sessions: false }).await,
                HostQuestion::TestServer { name } => ask(Request::TestServer { name }).await,
            }
        })
    }

    fn turn<'a>(&'a self, agent: &'a str, order: TurnOrder) -> BoxFuture<'a, Result<TurnLink, HostFault>> {
        Box::pin(async move {
            let entry = self.entry(agent)?;
            let title = order.title_open;
            let turn = turn(&entry.state, order)?;
            link::open(client(&entry), turn, title).await
        })
    }

    fn reply_file<'a>(
        &'a self,
        agent: &'a str,
        conversation: &'a str,
        part: &'a Value,
    ) -> BoxFuture<'a, Result<bytes::Bytes, HostFault>> {
        Box::pin(async move {
            let entry = self.entry(agent)?;
            let told = client(&entry).ask(Request::View { look: View::ReplyFolder }).await;
            // An agent that doesn't run keeps its files all the same.
            let folder = told.ok().and_then(|it| it["folder"].as_str().map(PathBuf::from));
            let folder = folder.unwrap_or_else(|| crate::replies::folder(&entry.state.join("artifacts")));
            let word = |key: &str| part[key].as_str().unwrap_or_default().to_owned();
            let (id, sum, conversation) = (word("id"), word("sha256"), conversation.to_owned());
            let now = SystemClock.now_ms();
            let read = move || ReplyFiles::fetch_in(&folder, &id, &conversation, &sum, now);
            let read = tokio::task::spawn_blocking(read).await.unwrap_or(Err(FetchError::Damaged));
            read.map(bytes::Bytes::from).map_err(|error| {
                let code = match error {
                    FetchError::Missing => "artifact_missing",
                    FetchError::Expired => "artifact_expired",
                    FetchError::Damaged => "artifact_integrity_failed",
                };
                HostFault::Refused { code: code.to_owned(), message: format!("{error}.") }
            })
        })
    }
}

fn unreadable(error: serde_json::Error) -> HostFault {
    HostFault::Broken(format!("The agent's answer can't be read: {error}."))
}

/// The object of `tools --json`.
fn weighed(told: &Value) -> Value {
    let prompt = told["prompt"].as_str().unwrap_or_default().len();
    let tools: Vec<Value> = told["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| {
            let schema = it.get("input_schema").or_else(|| it.get("inputSchema"));
            json!({"name": it["name"], "description": it["description"], "inputSchema": schema})
        })
        .collect();
    let weight: usize = tools.iter().map(|tool| tool.to_string().len()).sum();
    json!({"tools": tools, "promptBytes": weight + prompt, "toolBytes": weight})
}

/// The turn, with copies of its files among the agent's own.
fn turn(state: &Path, order: TurnOrder) -> Result<Turn, HostFault> {
    let broken = |what: &str| HostFault::Broken(what.to_owned());
    let conversation =
        ConversationId::parse(order.conversation).map_err(|_| broken("The conversation's id is none."))?;
    let key = RunId::fresh();
    let folder = state.join("attachments");
    let attachments: Vec<Attachment> = order
        .files
        .iter()
        .map(|file| attachment::store_file(&folder, key.as_str(), file, FILE_BYTES_MAX))
        .collect::<Result<_, _>>()
        .map_err(|_| broken("A file could not be handed to the agent."))?;
    Ok(Turn {
        conversation,
        channel: Channel::new("web"),
        trigger: Trigger::Interactive,
        text: order.text,
        attachments,
        source_detail: None,
        sender: None,
        isolated: false,
    })
}
