//! `Agent`: hands one task to a helper, a child run with fewer tools (TOO-6).
//!
//! `{"prompt": "Find every place where the port is set, and list file and line."}`
//! `{"prompt": "Review notes.md", "name": "reviewer", "tools": ["Read", "Grep"]}`

use host_ports::helpers::{HelperCall, HelperEnd, HelperRefusal, HelperReport, HelperTask, Helpers, Parent};
use host_ports::kept::{Kept, KeptOutput};
use host_ports::model::Effort;
use host_surface::{Admitted, Belongs, CallContext, Decl, Progress, Tool, ToolError, ToolOutput};
use host_vocab::{Effect, text};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write as _;
use std::sync::Arc;

/// The most of a helper's answer that the asking run is given, in characters; the whole is kept.
const ANSWER_CHARS_MAX: usize = 12_000;
/// The most calls that are listed one by one.
const CALLS_MAX: usize = 100;
/// The longest task, in bytes.
const PROMPT_BYTES_MAX: usize = 256 * 1024;

/// What the tool can offer, for its description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperMenu {
    /// Helpers by name, with what each is for.
    pub named: Vec<(String, String)>,
    /// Whether the model may describe a helper itself.
    pub inline: bool,
    /// Other models that it may choose.
    pub models: Vec<String>,
    /// Whether no helper can do more than read.
    pub read_only: bool,
    /// How many helpers one turn may start.
    pub per_turn_max: u32,
}

/// The tool of one run.
pub struct AgentTool {
    helpers: Arc<dyn Helpers>,
    keep: Arc<dyn KeptOutput>,
    menu: HelperMenu,
}

impl AgentTool {
    /// Over whoever starts the run's helpers, and where a long answer is kept.
    pub fn new(helpers: Arc<dyn Helpers>, keep: Arc<dyn KeptOutput>, menu: HelperMenu) -> Self {
        AgentTool { helpers, keep, menu }
    }
}

/// The task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AgentInput {
    /// The whole task: what to do, what to look at, what to report. The helper sees nothing of this conversation.
    pub prompt: String,
    /// One of the named helpers; left out, you describe one yourself.
    pub name: Option<String>,
    /// What it is for, in a few words, for people who watch.
    pub description: Option<String>,
    /// Another model, one of those that are listed.
    pub model: Option<String>,
    /// How hard it thinks: none, minimal, low, medium, high, xhigh, max or ultra.
    pub effort: Option<String>,
    /// Who the helper is and how it works; only for one without a name.
    pub system_prompt: Option<String>,
    /// The tools that it should have, of your own; left out, those that only read. What it may not have is left out
    /// and reported.
    pub tools: Option<Vec<String>>,
}

impl Tool for AgentTool {
    const DECL: Decl = Decl {
        name: "Agent",
        about: "Hands one self-contained task to a helper: a run of its own with a fresh context and a part of your \
                tools, which answers once. Use it for searches and reviews whose details you don't need yourself; \
                several can be started at once.",
        effects: &[
            Effect::ReadsWorkspace,
            Effect::ReadsMemory,
            Effect::ReadsHistory,
            Effect::ReachesNetwork,
            Effect::WritesWorkspace,
            Effect::Executes,
            Effect::Remembers,
            Effect::Foreign,
        ],
        belongs: Belongs::Lists,
        codes: &[
            "invalid_task",
            "unknown_helper",
            "inline_helpers_off",
            "model_not_allowed",
            "too_many_helpers",
            "helpers_busy",
            "no_model",
            "parent_gone",
            "helper_failed",
            "helper_timed_out",
        ],
    };
    type Input = AgentInput;

    fn about(&self) -> String {
        let mut about = Self::DECL.about.to_owned();
        if self.menu.read_only {
            about.push_str(" Helpers can read and search, and change nothing.");
        }
        if !self.menu.named.is_empty() {
            about.push_str(" Helpers by name:");
            for (name, what) in &self.menu.named {
                let _infallible = write!(about, " {name} ({});", text::one_line(what, 300));
            }
        }
        if !self.menu.inline {
            about.push_str(" Only these; `name` is needed.");
        }
        if !self.menu.models.is_empty() {
            let _infallible = write!(about, " Models: {}.", self.menu.models.join(", "));
        }
        let _infallible = write!(about, " At most {} in one turn.", self.menu.per_turn_max);
        about
    }

    /// Helpers that only read may run side by side; those that can change something take turns.
    fn effects(&self) -> Vec<Effect> {
        let all = Self::DECL.effects.iter().copied();
        all.filter(|effect| !self.menu.read_only || effect.reads_only()).collect()
    }

    /// A helper has a time of its own.
    fn keeps_time(&self) -> bool {
        true
    }

    async fn run(&self, call: Admitted<AgentInput>) -> Result<ToolOutput, ToolError> {
        let Admitted { input, context, .. } = call;
        let task = task(input)?;
        let name = task.name.clone();
        match self.helpers.start(task, parent(&context)).await {
            Ok(report) => self.told(name.as_deref(), report, &context),
            Err(HelperRefusal { code, message }) => {
                let error = ToolError::new(code, message);
                Err(if code == "helpers_busy" { error.retry_later() } else { error })
            }
        }
    }
}

/// Who asks, for the port.
pub(crate) fn parent(context: &CallContext) -> Parent {
    let progress = context.progress.clone();
    Parent {
        conversation: context.conversation.clone(),
        run: context.run.clone(),
        call: context.call.clone(),
        cancel: context.cancel.clone(),
        tell: Arc::new(move |message| progress.tell(Progress { message, done: None, total: None })),
    }
}

fn task(input: AgentInput) -> Result<HelperTask, ToolError> {
    let wrong = |message: String| Err(ToolError::new("invalid_task", message));
    let AgentInput { prompt, name, description, model, effort, system_prompt, tools } = input;
    if prompt.trim().is_empty() {
        return wrong("prompt: it is empty; say what the helper is to do".to_owned());
    }
    if prompt.len() > PROMPT_BYTES_MAX {
        return wrong(format!("prompt: {} bytes; at most {PROMPT_BYTES_MAX} are taken", prompt.len()));
    }
    if name.is_some() && system_prompt.is_some() {
        return wrong(
            "systemPrompt: a named helper has instructions of its own; leave one of the two out".to_owned(),
        );
    }
    let effort = match effort {
        None => None,
        Some(word) => match serde_json::from_value::<Effort>(json!(word.to_lowercase())) {
            Ok(effort) => Some(effort),
            Err(_) => {
                let word = text::one_line(&word, 40);
                return wrong(format!(
                    "effort: {word:?} is none of none, minimal, low, medium, high, xhigh, max, ultra"
                ));
            }
        },
    };
    Ok(HelperTask { prompt, name, description, model, effort, instructions: system_prompt, tools })
}

impl AgentTool {
    /// What the asking model is told of a report.
    fn told(
        &self,
        name: Option<&str>,
        report: HelperReport,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let who = name.map_or_else(
            || "The helper".to_owned(),
            |name| format!("The helper {}", text::one_line(name, 80)),
        );
        let mut head = format!("{who} (run {}) {}.", report.run, ended(&report));
        for (tool, why) in &report.dropped {
            let _infallible = write!(head, "\nIt was not given {}: {why}.", text::one_line(tool, 80));
        }
        let (answer, kept) = self.answer(&report.text, context);
        let mut parts = vec![head];
        parts.extend((!answer.trim().is_empty()).then_some(answer));
        parts.extend((report.calls_total > 0).then(|| calls(&report.calls, report.calls_total)));
        let unsure = report.calls.iter().any(|call| call.settled == "unknown");
        let output = ToolOutput {
            kept: kept.into_iter().collect(),
            ..ToolOutput::text(parts.join("\n\n")).with_outcome(json!({
                "helperRun": report.run,
                "status": word(&report.end),
                "calls": report.calls_total,
                "usage": report.usage,
                "durationMs": report.duration_ms,
            }))
        };
        let code = match report.end {
            HelperEnd::Succeeded => return Ok(output),
            HelperEnd::Failed(_) => "helper_failed",
            HelperEnd::TimedOut(_) => "helper_timed_out",
            HelperEnd::Cancelled => host_surface::codes::ABORTED,
        };
        let error = ToolError::new(code, String::new()).with_partial(output);
        Err(if unsure { error.effect_unknown() } else { error })
    }

    /// The answer as it is passed on, and the whole where that is less.
    fn answer(&self, whole: &str, context: &CallContext) -> (String, Option<Kept>) {
        let Some((at, _)) = whole.char_indices().nth(ANSWER_CHARS_MAX) else {
            return (whole.to_owned(), None);
        };
        let kept = (|| {
            let mut file = self.keep.create(&context.run, &context.call, "answer").ok()?;
            file.write_all(whole.as_bytes()).ok()?;
            file.finish().ok()
        })();
        let how = match &kept {
            Some(kept) => format!("the whole is kept as {}", kept.id),
            None => "the whole stands in the helper's run".to_owned(),
        };
        (format!("{}\n[cut here: the answer has {} bytes; {how}]", &whole[..at], whole.len()), kept)
    }
}

fn word(end: &HelperEnd) -> &'static str {
    match end {
        HelperEnd::Succeeded => "succeeded",
        HelperEnd::Failed(_) => "failed",
        HelperEnd::TimedOut(_) => "timed_out",
        HelperEnd::Cancelled => "cancelled",
    }
}

fn ended(report: &HelperReport) -> String {
    let took = format!("after {} ms", report.duration_ms);
    match &report.end {
        HelperEnd::Succeeded => format!("answered {took}"),
        HelperEnd::Failed(why) => format!("failed {took}: {}", text::one_line(why, 500)),
        HelperEnd::TimedOut(ms) => format!("was stopped, because it took longer than {ms} ms"),
        HelperEnd::Cancelled => format!("was stopped {took}"),
    }
}

fn calls(calls: &[HelperCall], total: usize) -> String {
    let mut out = "Its calls:".to_owned();
    for call in calls.iter().take(CALLS_MAX) {
        let tool = text::one_line(&call.tool, 80);
        let code =
            if call.code == "ok" { String::new() } else { format!(", {}", text::one_line(&call.code, 60)) };
        let _infallible = write!(out, "\n- {tool}: {}{code} ({} ms)", call.settled, call.duration_ms);
    }
    let more = total - calls.len().min(CALLS_MAX);
    if more > 0 {
        let _infallible = write!(out, "\n- and {more} more");
    }
    out
}

#[cfg(test)]
mod tests;
