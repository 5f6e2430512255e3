//! A model that plays a script, for machine tests. (`scripted:` of `host-model` is the one for people.)

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use host_ports::model::{
    AssistantPart, FinishReason, Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ToolCall,
};
use host_turn::Usage;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Mutex;

/// What the model does at one request.
#[derive(Debug, Clone)]
pub enum Step {
    /// Answers with text.
    Say(String),
    /// Says something and calls tools (name, arguments).
    Call(String, Vec<(String, Value)>),
    /// Fails at once.
    Fail(ModelError),
    /// Says something, then fails.
    Break(String, ModelError),
    /// Plays these events as they are.
    Events(Vec<Result<ModelEvent, ModelError>>),
    /// Never answers.
    Hang,
}

/// A scripted model that keeps the requests it got.
pub struct Script {
    info: ModelInfo,
    steps: Mutex<VecDeque<Step>>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl Script {
    /// A model with this reference that plays these steps.
    pub fn new(reference: &str, steps: Vec<Step>) -> Self {
        let provider = reference.split(':').next().unwrap_or(reference).to_owned();
        Script {
            info: ModelInfo {
                reference: reference.to_owned(),
                provider,
                context_window: 200_000,
                images: true,
                operator: false,
                tool_calling: "native",
            },
            steps: Mutex::new(steps.into()),
            requests: Mutex::default(),
        }
    }

    /// The same with another context window.
    #[must_use]
    pub fn with_window(mut self, tokens: u64) -> Self {
        self.info.context_window = tokens;
        self
    }

    /// What it was asked, in order.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().expect("no test panics while it holds this").clone()
    }
}

fn say(text: &str) -> Vec<Result<ModelEvent, ModelError>> {
    if text.is_empty() {
        return Vec::new();
    }
    vec![
        Ok(ModelEvent::Text(text.to_owned())),
        Ok(ModelEvent::Part(AssistantPart::Text { text: text.to_owned() })),
    ]
}

fn finish(reason: FinishReason) -> Result<ModelEvent, ModelError> {
    let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
    Ok(ModelEvent::Finished { reason, usage })
}

impl Model for Script {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let mut requests = self.requests.lock().expect("no test panics while it holds this");
        let index = requests.len();
        requests.push(request);
        let step = self.steps.lock().expect("no test panics while it holds this").pop_front();
        let events = match step {
            Some(Step::Say(text)) => {
                let mut events = say(&text);
                events.push(finish(FinishReason::Stop));
                events
            }
            Some(Step::Call(text, calls)) => {
                let mut events = say(&text);
                for (n, (name, arguments)) in calls.into_iter().enumerate() {
                    let call = ToolCall {
                        id: format!("c{index}_{n}"),
                        name,
                        arguments: arguments.to_string(),
                        raw: None,
                    };
                    events.push(Ok(ModelEvent::Part(AssistantPart::Call(call))));
                }
                events.push(finish(FinishReason::ToolCalls));
                events
            }
            Some(Step::Fail(error)) => vec![Err(error)],
            Some(Step::Break(text, error)) => {
                let mut events = vec![Ok(ModelEvent::Text(text))];
                events.push(Err(error));
                events
            }
            Some(Step::Events(events)) => events,
            Some(Step::Hang) => return stream::pending().boxed(),
            None => vec![Err(ModelError::new(host_turn::FailureKind::RuntimeError, "the script is over"))],
        };
        stream::iter(events).boxed()
    }
}
