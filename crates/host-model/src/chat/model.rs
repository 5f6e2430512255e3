//! A chat model, with or without native tool calls.

use super::{Chat, post};
use crate::constrained::{self, ConstrainedDecoder, SchemaMode};
use crate::exchange::{Framing, exchange, refusal};
use crate::failure;
use crate::link::Link;
use crate::tool_calling::{ToolCalling, Verdicts};
use crate::wire::{SaidOnce, WireModel};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use host_ports::http::Http;
use host_ports::model::{Model, ModelError, ModelEvent, ModelInfo, ModelRequest};
use host_turn::FailureKind;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

type Events = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// The longest a probe may take: a local server may have to load the model first.
const PROBE_TIMEOUT: Duration = Duration::from_secs(300);

/// A model behind Chat Completions.
#[derive(Clone)]
pub(crate) struct ChatModel(Arc<Inner>);

struct Inner {
    native: WireModel<Chat>,
    mode: ToolCalling,
    small: SchemaMode,
    /// Whether `auto` asks first; otherwise it learns from the first refusal.
    probes: bool,
    verdicts: Arc<Verdicts>,
    said: SaidOnce,
}

impl ChatModel {
    pub(crate) fn new(
        link: Arc<Link>,
        wire: Chat,
        http: Arc<dyn Http>,
        mode: ToolCalling,
        small: SchemaMode,
        probes: bool,
        verdicts: Arc<Verdicts>,
    ) -> Self {
        let native = WireModel::new(link, wire, http, mode != ToolCalling::None);
        ChatModel(Arc::new(Inner { native, mode, small, probes, verdicts, said: SaidOnce::default() }))
    }
}

impl Model for ChatModel {
    fn info(&self) -> ModelInfo {
        let native = match self.0.mode {
            ToolCalling::None => return self.0.native.info(),
            ToolCalling::Native => true,
            ToolCalling::Schema => false,
            ToolCalling::Auto => self.0.verdict().unwrap_or(true),
        };
        self.0.native.link.info(if native { "native" } else { "schema" })
    }

    fn stream(&self, request: ModelRequest) -> Events {
        let inner = self.0.clone();
        match inner.mode {
            _ if request.tools.is_empty() => inner.native.stream(request),
            ToolCalling::None | ToolCalling::Native => inner.native.stream(request),
            ToolCalling::Schema => inner.constrained(&request),
            ToolCalling::Auto => stream::once(async move { inner.auto(request).await }).flatten().boxed(),
        }
    }
}

impl Inner {
    fn verdict(&self) -> Option<bool> {
        self.verdicts.get(self.native.link.base_url.as_str(), &self.native.link.model)
    }

    fn decide(&self, native: bool) {
        self.verdicts.set(self.native.link.base_url.as_str(), &self.native.link.model, native);
    }

    async fn auto(&self, request: ModelRequest) -> Events {
        match self.verdict() {
            Some(true) => self.native.stream(request),
            Some(false) => self.constrained(&request),
            None if self.probes => match self.probe().await {
                Ok(true) => {
                    self.decide(true);
                    self.native.stream(request)
                }
                Ok(false) => {
                    self.decide(false);
                    self.constrained(&request)
                }
                Err(mut error) => {
                    error.message = self.native.link.scrub(&error.message);
                    stream::iter([Err(error)]).boxed()
                }
            },
            None => self.native_or_constrained(request).await,
        }
    }

    /// Tries native calls, and goes over to the schema mode when the endpoint refuses them by name.
    async fn native_or_constrained(&self, request: ModelRequest) -> Events {
        let mut events = self.native.stream(request.clone());
        let mut first = Vec::new();
        while let Some(event) = events.next().await {
            let over = !matches!(event, Ok(ModelEvent::Notice(_)));
            first.push(event);
            if over {
                break;
            }
        }
        match first.last() {
            Some(Err(error)) if refuses_tools(error) => {
                self.decide(false);
                self.constrained(&request)
            }
            _ => stream::iter(first).chain(events).boxed(),
        }
    }

    fn constrained(&self, request: &ModelRequest) -> Events {
        let link = &self.native.link;
        let (provider, model) = (&link.provider, &link.model);
        let mut notes = vec![match self.mode {
            ToolCalling::Schema => {
                format!("tools of {provider}:{model} go through the schema mode, as configured")
            }
            _ => format!(
                "{provider}:{model} was found to carry no tool calls, so tools go through the schema mode (toolCalling: schema)"
            ),
        }];
        let body = constrained::write(link, request, &self.small, &mut notes);
        let notes = self.said.new_ones(notes).into_iter().map(|note| Ok(ModelEvent::Notice(note)));
        let notes: Vec<_> = notes.collect();
        let decoder = ConstrainedDecoder::new(&link.provider, body.get("response_format").is_some());
        match post(link, &body) {
            Ok(out) => {
                let http = self.native.http.clone();
                let events = exchange(http, link.clone(), out, Framing::Sse, Box::new(decoder));
                stream::iter(notes).chain(events).boxed()
            }
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    /// Asks for one call of a tool that does nothing. `true` = the endpoint carries calls.
    async fn probe(&self) -> Result<bool, ModelError> {
        let link = &self.native.link;
        let body = json!({
            "model": link.model,
            "messages": [{"role": "user", "content": "Call the tool ping with the text \"hello\"."}],
            "tools": [{"type": "function", "function": {"name": "ping", "description": "Answers with pong.",
                "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}}],
            "tool_choice": "required",
            "max_tokens": 48,
            "temperature": 0,
            "stream": false,
        });
        let mut out = post(link, &body)?;
        out.head_timeout = PROBE_TIMEOUT.max(link.head_timeout);
        let is_keyed = failure::is_keyed(&out.headers);
        let response = self.native.http.send(out).await.map_err(|error| failure::of_http(&error))?;
        if !response.status.is_success() {
            let error = refusal(response, is_keyed, link.now_ms()).await;
            return if refuses_tools(&error) { Ok(false) } else { Err(error) };
        }
        let body = response.read_bounded(1 << 20).await.map_err(|error| failure::of_http(&error))?;
        let answer: Value = serde_json::from_slice(&body.bytes).map_err(|_| {
            ModelError::new(
                FailureKind::ProviderUnavailable,
                "the endpoint answers with no JSON; check the base URL",
            )
        })?;
        Ok(carries_calls(&answer))
    }
}

/// A call, or a thought that the short answer cut before a call could come.
fn carries_calls(answer: &Value) -> bool {
    let choice = &answer["choices"][0];
    let message = &choice["message"];
    if message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty()) {
        return true;
    }
    let text = |field: &str| message[field].as_str().unwrap_or("");
    let thinks = !text("reasoning_content").is_empty()
        || !text("reasoning").is_empty()
        || text("content").contains("<think");
    thinks && choice["finish_reason"] == "length"
}

fn refuses_tools(error: &ModelError) -> bool {
    let said = error.message.to_lowercase();
    matches!(error.status, Some(400 | 404 | 422 | 500 | 501))
        && (said.contains("tool") || said.contains("function call"))
        && !matches!(error.kind, FailureKind::ContextLimit | FailureKind::ProviderAuth)
}
