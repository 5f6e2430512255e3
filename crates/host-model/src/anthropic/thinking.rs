//! How Claude models are told how hard to think.

use crate::effort::{nearest, version_after};
use host_ports::model::{AssistantPart, Effort, Message};

/// Tokens of an answer when nobody says how many.
const OUTPUT_TOKENS: u32 = 8_192;
/// The least budget for thinking that the API takes.
const BUDGET_MIN: u32 = 1_024;

/// What a request says about thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// Nothing: the model's default.
    Unsaid,
    /// None.
    Off,
    /// At most so many tokens (Claude 3.7 to 4.5).
    Budget(u32),
    /// As the model sees fit, at a level (Claude 4.6 and later).
    Adaptive(Effort),
}

/// The thinking for one request.
pub(crate) fn plan(
    model: &str,
    effort: Option<Effort>,
    messages: &[Message],
    provider: &str,
    notes: &mut Vec<String>,
) -> Thinking {
    let Some(effort) = effort else { return Thinking::Unsaid };
    let version = version_after(model, "claude-");
    if version.is_some_and(|version| version < (3, 7)) {
        nearest(effort, &[], model, notes);
        return Thinking::Unsaid;
    }
    if effort == Effort::None {
        return Thinking::Off;
    }
    if version.is_none_or(|version| version >= (4, 6)) {
        let levels = [Effort::Low, Effort::Medium, Effort::High, Effort::Max];
        return nearest(effort, &levels, model, notes).map_or(Thinking::Unsaid, Thinking::Adaptive);
    }
    if foreign_loop(messages, provider) {
        notes.push(format!("{model} goes on without thinking for this answer, since the calls before were made by another model"));
        return Thinking::Off;
    }
    let levels = [Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh];
    match nearest(effort, &levels, model, notes) {
        Some(Effort::Low) => Thinking::Budget(2_048),
        Some(Effort::Medium) => Thinking::Budget(8_192),
        Some(Effort::High) => Thinking::Budget(16_384),
        Some(_) => Thinking::Budget(32_000),
        None => Thinking::Unsaid,
    }
}

/// With a budget the API demands that a message whose calls are being answered begins with thinking.
fn foreign_loop(messages: &[Message], provider: &str) -> bool {
    if !matches!(messages.last(), Some(Message::ToolResults { .. })) {
        return false;
    }
    let newest = messages.iter().rev().find_map(|message| match message {
        Message::Assistant { parts } => Some(parts),
        _ => None,
    });
    newest.is_some_and(|parts| {
        !parts
            .iter()
            .any(|part| matches!(part, AssistantPart::Reasoning { provider: by, .. } if by == provider))
    })
}

/// The most tokens of the answer; thinking comes on top of what the caller asked for.
pub(crate) fn output_tokens(model: &str, asked: Option<u32>, thinking: Thinking) -> u32 {
    let limit = match version_after(model, "claude-") {
        Some((0..=2, _)) => 4_096,
        Some((3, 0)) => 4_096,
        Some((3, 1..=6)) => 8_192,
        Some((4, 0..=1)) => 32_000,
        _ => 64_000,
    };
    let answer = asked.unwrap_or(if limit > 8_192 { 16_384 } else { OUTPUT_TOKENS });
    let budget = match thinking {
        Thinking::Budget(budget) => budget,
        _ => 0,
    };
    answer.saturating_add(budget).clamp(1, limit)
}

/// A budget that leaves room for the answer.
pub(crate) fn fitting_budget(budget: u32, max_tokens: u32) -> Option<u32> {
    let fitting = budget.min(max_tokens.saturating_sub(BUDGET_MIN));
    (fitting >= BUDGET_MIN).then_some(fitting)
}
