//! The agent's model for servers that may use it (`tools.mcpSampling`, MCP-14).
//!
//! What a server has written is a run of its own without any tool: it stands in the log, with what it used, under the
//! run and the call that the server was busy with.

use crate::agent::Inner;
use base64::Engine as _;
use host_policy::ToolPolicy;
use host_ports::BoxFuture;
use host_ports::sample::{Sample, SampleMessage, SampleParent, SampleRequest, Sampled};
use host_run::{
    Engine, EngineConfig, EngineParts, ImageInput, PromptParts, RunInput, RunLimits, SurfaceError, Surfaces,
    TurnContext,
};
use host_surface::{GatePorts, RunFacts, Surface, seal};
use host_turn::{Channel, Ending, Trigger, Turn};
use host_vocab::{Block, blocks_text, text};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// How long one text may take.
const TIMEOUT: Duration = Duration::from_secs(300);
/// What stands before a server's own instructions.
const IDENTITY: &str = "A program that the agent works with asks you for one text. You have no tools and know nothing of \
                        the conversation. What follows is the program's word.";

/// The model of an agent that is being opened: it is filled in when the agent stands.
#[derive(Default)]
pub(crate) struct ServersModel(OnceLock<Weak<Inner>>);

impl ServersModel {
    /// Says whose model it is.
    pub(crate) fn fill(&self, agent: &Arc<Inner>) {
        let _already_filled = self.0.set(Arc::downgrade(agent));
    }
}

impl Sample for ServersModel {
    fn sample(&self, request: SampleRequest, parent: SampleParent) -> BoxFuture<'_, Result<Sampled, String>> {
        Box::pin(async move {
            let agent = self.0.get().and_then(Weak::upgrade).ok_or("the agent is gone")?;
            let base = agent.engine.as_ref().ok_or("this process opened no model")?;
            let parts = base.parts();
            let limits = RunLimits {
                steps_max: 1,
                output_tokens_max: Some(request.output_tokens_max),
                ..parts.config.limits.clone()
            };
            let config = EngineConfig { limits, ..parts.config.clone() };
            let engine =
                Engine::new(EngineParts { config, ..parts.clone() }).map_err(|error| error.to_string())?;
            let cancel = parent.cancel.child_token();
            let _ends_with_us = cancel.clone().drop_guard();
            let input = RunInput { cancel, ..input(&agent, request, &parent) };
            let run = tokio::time::timeout(TIMEOUT, engine.run(input)).await;
            let outcome = run.map_err(|_| format!("the model took longer than {} s", TIMEOUT.as_secs()))?;
            match outcome.ending {
                Ending::Succeeded => {
                    Ok(Sampled { text: outcome.reply.text, model: outcome.model, cut: outcome.partial })
                }
                Ending::Failed { kind, error } => Err(format!("{kind}: {}", text::one_line(&error, 300))),
                Ending::Cancelled => Err("it was cancelled".to_owned()),
                Ending::Interrupted { kind } => Err(kind.to_string()),
            }
        })
    }
}

/// The run: the server's words as one message, its instructions set apart from ours.
fn input(agent: &Arc<Inner>, request: SampleRequest, parent: &SampleParent) -> RunInput {
    let messages = request.messages.into_renderer();
    let mut images = Vec::new();
    let said = match messages.as_slice() {
        [only] if !only.assistant => words(only, &mut images),
        several => {
            let line = |it: &SampleMessage, images: &mut Vec<ImageInput>| {
                let who = if it.assistant { "assistant" } else { "user" };
                format!("{who}: {}", words(it, images))
            };
            several.iter().map(|it| line(it, &mut images)).collect::<Vec<_>>().join("\n\n")
        }
    };
    let system = request.system.map(|it| it.into_renderer()).unwrap_or_default();
    let identity = format!("{IDENTITY}\n\n{system}");
    let turn = Turn {
        channel: Channel::new(parent.conversation.channel()),
        trigger: Trigger::Request,
        source_detail: Some(format!("sampling by {} in {} {}", parent.server, parent.run, parent.call)),
        isolated: true,
        ..Turn::terminal(parent.conversation.clone(), said)
    };
    let prompt = PromptParts { identity: Some(identity), ..PromptParts::default() };
    RunInput {
        context: TurnContext { prompt, images, ..TurnContext::default() },
        nested: true,
        ..RunInput::new(turn, Arc::new(NoTools(Arc::clone(agent))))
    }
}

/// A message as text; its pictures go along as such.
fn words(message: &SampleMessage, images: &mut Vec<ImageInput>) -> String {
    for block in &message.content {
        if let Block::Image { media } = block
            && let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(&media.data)
        {
            let name = format!("picture {}", images.len() + 1);
            images.push(ImageInput { name, media_type: media.mime_type.clone(), bytes });
        }
    }
    blocks_text(&message.content)
}

/// The surface of a run that may only write.
struct NoTools(Arc<Inner>);

impl Surfaces for NoTools {
    fn seal(&self, facts: RunFacts) -> BoxFuture<'_, Result<Surface, SurfaceError>> {
        Box::pin(async move {
            let agent = &self.0;
            let ports = GatePorts {
                recorder: Some(agent.recorder.clone()),
                ask: Arc::new(host_ports::ask::NobodyToAsk),
                keep: Arc::clone(&agent.keep),
                deadline: agent.call_deadline,
            };
            let policy = ToolPolicy::fail_closed();
            Ok(seal(&[], &policy, Arc::clone(&agent.approvals), facts, ports).await?)
        })
    }
}
