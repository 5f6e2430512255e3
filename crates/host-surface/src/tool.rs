//! What a tool is.

use crate::{Admitted, InputSchema};
use host_ports::BoxFuture;
use host_ports::kept::Kept;
use host_vocab::{Block, Code, Effect, ServerName, ToolName, may_run_together};
use serde_json::Value;
use std::future::Future;
use std::sync::Arc;

/// What a tool of ours says about itself. Schema, docs and matrix are made from it.
#[derive(Debug, Clone, Copy)]
pub struct Decl {
    /// Its one canonical name.
    pub name: &'static str,
    /// What the model is told: what it does, when to use it, its bounds.
    pub about: &'static str,
    /// All it can do to the world.
    pub effects: &'static [Effect],
    /// Whether the lists gate it.
    pub belongs: Belongs<'static>,
    /// The codes that it can fail with, besides the gate's own.
    pub codes: &'static [&'static str],
}

/// Which switch a tool answers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belongs<'a> {
    /// The allow and deny lists (POL-5).
    Lists,
    /// A switch of its own (POL-6).
    OwnSwitch,
    /// A declared external server (POL-6, POL-7).
    Server(&'a ServerName),
}

/// What authors write: typed input, one method, no defaults that decide safety.
pub trait Tool: Send + Sync + 'static {
    /// What it says about itself.
    const DECL: Decl;
    /// Its input. Doc comments of the fields are what the model reads; deny unknown fields.
    type Input: serde::de::DeserializeOwned + schemars::JsonSchema + Send;

    /// The description for this run, where it depends on how the tool was built.
    fn about(&self) -> String {
        Self::DECL.about.to_owned()
    }

    /// All that it can do, where that depends on how the tool was built: a part of [`Decl::effects`].
    fn effects(&self) -> Vec<Effect> {
        Self::DECL.effects.to_vec()
    }

    /// Whether it keeps a time of its own, so that the gate's deadline leaves it alone.
    fn keeps_time(&self) -> bool {
        false
    }

    /// Does it.
    fn run(&self, call: Admitted<Self::Input>) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// The same tool with its input type forgotten: what a surface holds. External tools implement this
/// directly.
pub trait AnyTool: Send + Sync {
    /// What is known of it.
    fn info(&self) -> &ToolInfo;
    /// Does it. The input was checked against [`ToolInfo::schema`].
    fn call(&self, call: Admitted<Value>) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

/// What is known of a tool on a surface.
#[derive(Debug, Clone)]
pub struct ToolInfo {
    /// The name that the model uses.
    pub name: ToolName,
    /// What the model is told.
    pub description: String,
    /// The schema of its arguments, as its author wrote it.
    pub schema: InputSchema,
    /// All it can do to the world.
    pub effects: Vec<Effect>,
    /// The server it comes from; `None` = it is ours.
    pub server: Option<ServerName>,
    /// Whether the lists gate it (ours only).
    pub listed: bool,
    /// Whether the gate's deadline leaves it alone (a question to a person that never expires).
    pub no_deadline: bool,
}

impl ToolInfo {
    /// Which switch it answers to.
    pub fn belongs(&self) -> Belongs<'_> {
        match &self.server {
            Some(server) => Belongs::Server(server),
            None if self.listed => Belongs::Lists,
            None => Belongs::OwnSwitch,
        }
    }

    /// Whether calls to it may run beside others (ENG-1). Servers' tools never do: their word for it is not
    /// enough.
    pub fn may_run_together(&self) -> bool {
        self.server.is_none() && may_run_together(&self.effects)
    }

    /// Whether a call that broke off can have left no trace.
    pub fn harmless(&self) -> bool {
        self.may_run_together()
    }
}

/// What a tool gives back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// For the model and people.
    pub content: Vec<Block>,
    /// For programs; the model sees it where the text doesn't carry it.
    pub structured: Option<Value>,
    /// The outcome record (TOO-3), for the log.
    pub outcome: Option<Value>,
    /// Output that was kept apart.
    pub kept: Vec<Kept>,
    /// How large the whole was, where `content` is already a part of it.
    pub whole_bytes: Option<u64>,
}

impl ToolOutput {
    /// Text alone.
    pub fn text(text: impl Into<String>) -> Self {
        ToolOutput { content: vec![Block::text(text)], ..ToolOutput::default() }
    }

    /// The same with a structured result.
    #[must_use]
    pub fn with_structured(mut self, value: Value) -> Self {
        self.structured = Some(value);
        self
    }

    /// The same with an outcome record.
    #[must_use]
    pub fn with_outcome(mut self, value: Value) -> Self {
        self.outcome = Some(value);
        self
    }
}

/// Whether the model may try the same call again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// With other arguments or never.
    No,
    /// Later, as it is.
    Later,
}

/// What a failed call may have left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectState {
    /// Nothing, or all of it is told in the result.
    Known,
    /// Perhaps what it was meant to do: the call settles as unknown and is never repeated by the host.
    Unknown,
}

/// Why a call failed. The message is written for the model: it names the place and the way out, and it
/// never repeats another error's text that could hold a path or a secret.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolError {
    /// One of the tool's declared codes.
    pub code: Code,
    /// What went wrong and what to do.
    pub message: String,
    /// Whether the same call may be tried again.
    pub retry: Retry,
    /// What it may have left behind.
    pub effect: EffectState,
    /// What was captured up to then; shown after the message.
    pub partial: Option<Box<ToolOutput>>,
}

impl ToolError {
    /// A failure that left nothing behind and is not worth repeating.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        ToolError {
            code: Code::new(code),
            message: message.into(),
            retry: Retry::No,
            effect: EffectState::Known,
            partial: None,
        }
    }

    /// The same, but what it did is not known.
    #[must_use]
    pub fn effect_unknown(mut self) -> Self {
        self.effect = EffectState::Unknown;
        self
    }

    /// The same, but worth another try later.
    #[must_use]
    pub fn retry_later(mut self) -> Self {
        self.retry = Retry::Later;
        self
    }

    /// The same with what was captured.
    #[must_use]
    pub fn with_partial(mut self, output: ToolOutput) -> Self {
        self.partial = Some(Box::new(output));
        self
    }
}

pub(crate) struct Erased<T> {
    tool: T,
    info: ToolInfo,
}

impl<T: Tool> Erased<T> {
    pub(crate) fn new(tool: T) -> Self {
        let decl = T::DECL;
        let info = ToolInfo {
            name: ToolName::parse(decl.name).expect("a declared name is a tool name; its own test checks it"),
            description: tool.about(),
            schema: InputSchema::of::<T::Input>(),
            effects: tool.effects(),
            server: None,
            listed: decl.belongs == Belongs::Lists,
            no_deadline: decl.effects.contains(&Effect::Asks) || tool.keeps_time(),
        };
        Erased { tool, info }
    }
}

impl<T: Tool> AnyTool for Erased<T> {
    fn info(&self) -> &ToolInfo {
        &self.info
    }

    fn call(&self, call: Admitted<Value>) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let mut input = call.input.clone();
            whole_numbers(&mut input);
            match serde_json::from_value::<T::Input>(input) {
                Ok(input) => self.tool.run(call.with_input(input)).await,
                Err(err) => {
                    let place = huge_number(&call.input).map_or_else(String::new, |it| format!(".{it}"));
                    Err(ToolError::new(crate::codes::INVALID_ARGUMENTS, format!("arguments{place}: {err}")))
                }
            }
        })
    }
}

/// Up to here a float is a whole number and no other.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// Writes `5.0` as `5`: to a schema both are integers, and models write both.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) =
                number.as_f64().filter(|it| !number.is_i64() && !number.is_u64() && it.fract() == 0.0)
                && float.abs() <= WHOLE_MAX
            {
                #[allow(clippy::cast_possible_truncation, reason = "whole and within the bound")]
                let whole = float as i64;
                *number = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// The name of the first argument that is a whole number too large to be one of ours.
fn huge_number(value: &Value) -> Option<String> {
    let huge = |it: &Value| it.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() > WHOLE_MAX);
    value.as_object()?.iter().find(|(_, it)| huge(it)).map(|(name, _)| host_vocab::text::one_line(name, 80))
}

/// Forgets a tool's input type.
pub(crate) fn erase<T: Tool>(tool: T) -> Arc<dyn AnyTool> {
    Arc::new(Erased::new(tool))
}
