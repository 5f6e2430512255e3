//! Another agent of this workspace as a collaborator.

use crate::agent::{Agent, People};
use host_ports::BoxFuture;
use host_ports::helpers::{CollaboratorQuestion, Responder};
use host_run::{EventSink, RunEvent, channel};
use host_turn::{Channel, Ending, Trigger, Turn};
use host_vocab::text;

/// An agent that answers others. It works under its own policy, with its own tools and log: who composes agents
/// decides what they can have done by each other.
pub struct AgentResponder {
    agent: Agent,
    people: People,
}

impl AgentResponder {
    /// An agent; nobody approves its calls.
    pub fn new(agent: Agent) -> Self {
        AgentResponder { agent, people: People::nobody() }
    }

    /// The same with somebody who is asked.
    #[must_use]
    pub fn with_people(mut self, people: People) -> Self {
        self.people = people;
        self
    }
}

impl Responder for AgentResponder {
    fn answer(&self, question: CollaboratorQuestion) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let CollaboratorQuestion { conversation, text: said, parent } = question;
            let turn = Turn {
                channel: Channel::new(conversation.channel()),
                trigger: Trigger::Request,
                source_detail: Some(format!("collaborator of {} {}", parent.run, parent.call)),
                ..Turn::terminal(conversation, said)
            };
            let events = told(&parent.tell);
            let run = self.agent.run(turn, self.people.clone(), events, parent.cancel.child_token());
            let outcome = run.await;
            match outcome.ending {
                Ending::Succeeded => Ok(outcome.reply.text),
                Ending::Failed { kind, error } => Err(format!("{kind}: {}", text::one_line(&error, 300))),
                Ending::Cancelled => Err("its turn was cancelled".to_owned()),
                Ending::Interrupted { kind } => Err(kind.to_string()),
            }
        })
    }
}

/// Passes on what it calls, as lines for people.
fn told(tell: &std::sync::Arc<dyn Fn(String) + Send + Sync>) -> EventSink {
    let (sink, mut stream) = channel(64);
    let tell = std::sync::Arc::clone(tell);
    tokio::spawn(async move {
        while let Some(event) = stream.recv().await {
            match event {
                RunEvent::CallStarted { name, .. } => {
                    tell(format!("collaborator: {}", text::one_line(&name, 80)))
                }
                RunEvent::RunSettled { .. } => break,
                _ => {}
            }
        }
    });
    sink
}
