//! When a run shortens its prompt, and what becomes of the attempt (ENG-4).
//!
//! Each trigger is pulled once: a summary that fails or saves too little is not tried again in this run. After
//! a real overflow there is a last resort that asks nobody, so that a conversation can't get stuck for good.

use super::collect::Collected;
use super::{Command, Machine, Purpose};
use crate::compaction::{Plan, SUMMARISER, Sizes, old_part, plan, summary_message, summary_request};
use crate::event::RunEvent;
use crate::retry::Route;
use host_event::Fact;
use host_ports::model::{FinishReason, Message, ModelError, ModelRequest};
use host_turn::Usage;
use host_vocab::blocks_text;
use host_vocab::text::one_line;
use std::sync::Arc;

/// The most of the person's messages that the last resort lists.
const DIGEST_LINES_MAX: usize = 20;

/// What a run knows of windows and its own attempts.
pub(super) struct Shortening {
    windows: Vec<u64>,
    learned: Vec<bool>,
    /// No summary is asked for before a request any more.
    off: bool,
    /// The overflow of this route was already answered.
    overflow_answered: bool,
    /// A prompt must be larger than this before it is shortened again.
    floor: u64,
    sent_estimate: u64,
    /// What the provider counted for what we estimated, in thousandths.
    ratio_milli: u64,
}

impl Shortening {
    pub(super) fn new(windows: Vec<u64>) -> Self {
        let learned = vec![false; windows.len()];
        Shortening {
            windows,
            learned,
            off: false,
            overflow_answered: false,
            floor: 0,
            sent_estimate: 0,
            ratio_milli: 1000,
        }
    }

    pub(super) fn sent(&mut self, estimate: u64) {
        self.sent_estimate = estimate;
    }

    /// Learns from what the provider counted; only upwards, so that no small count makes us careless.
    pub(super) fn calibrate(&mut self, usage: &Usage) {
        let counted = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
        if let Some(ratio) = counted.saturating_mul(1000).checked_div(self.sent_estimate) {
            self.ratio_milli = ratio.clamp(1000, 3000);
        }
    }

    pub(super) fn new_route(&mut self) {
        self.overflow_answered = false;
        self.ratio_milli = 1000;
        self.floor = 0;
    }

    pub(super) fn learned(&self, chain: &[Route]) -> Vec<(String, u64)> {
        let all = chain.iter().zip(&self.windows).zip(&self.learned);
        all.filter(|(_, learned)| **learned)
            .map(|((route, window), _)| (route.reference.clone(), *window))
            .collect()
    }
}

impl Machine {
    fn sizes(&self) -> Option<Sizes> {
        let window = self.shorten.windows[self.route];
        let able = self.spec.config.compaction.enabled && window > 0 && !self.spec.chain[self.route].operator;
        able.then(|| Sizes::of(window, &self.spec.config.compaction))
    }

    /// What counts towards the trigger; instructions and tools do unless the config leaves them out.
    fn estimate(&self) -> u64 {
        let counted = match self.spec.config.compaction.fixed_overhead {
            true => self.raw_estimate(),
            false => self.talk_estimate(),
        };
        counted.saturating_mul(self.shorten.ratio_milli) / 1000
    }

    pub(super) fn due_shortening(&self) -> Option<Plan> {
        let sizes = self.sizes().filter(|_| !self.shorten.off)?;
        if self.estimate() <= sizes.trigger.max(self.shorten.floor) {
            return None;
        }
        plan(&self.history, &self.turn, sizes.keep)
    }

    /// The one answer to an overflow of this route.
    pub(super) fn overflow_shortening(&mut self) -> Option<Plan> {
        let sizes = self.sizes().filter(|_| !self.shorten.overflow_answered)?;
        self.shorten.overflow_answered = true;
        plan(&self.history, &self.turn, sizes.keep)
    }

    pub(super) fn shorten_after(&mut self, plan: Plan, error: ModelError, out: &mut Vec<Command>) {
        if self.shorten.off {
            return self.last_resort(plan, error, out);
        }
        self.send(Purpose::Summary { plan, overflow: Some(error) }, out);
    }

    /// What the provider says of its window counts; where it names none, 90 % of what it refused.
    pub(super) fn learn_window(&mut self, error: &ModelError) {
        let window = &mut self.shorten.windows[self.route];
        let refused = self.shorten.sent_estimate / 10 * 9;
        let learned =
            error.context_window.unwrap_or(if *window > 0 { refused.min(*window) } else { refused });
        if learned > 0 && learned != *window {
            *window = learned;
            self.shorten.learned[self.route] = true;
        }
    }

    pub(super) fn summary_request(&self, plan: Plan) -> ModelRequest {
        let window = self.shorten.windows[self.route];
        let sizes = Sizes::of(window, &self.spec.config.compaction);
        // Two bytes a token are few for any language, so the record fits.
        let bytes_max = usize::try_from((window - sizes.summary.min(window)) * 2).unwrap_or(usize::MAX);
        let old = old_part(&self.history, &self.turn, plan);
        ModelRequest {
            system: SUMMARISER.to_owned(),
            messages: vec![summary_request(&old, bytes_max.clamp(4_000, 2_000_000))],
            tools: Arc::default(),
            effort: None,
            output_tokens_max: Some(u32::try_from(sizes.summary.max(256)).unwrap_or(u32::MAX)),
            cache_key: None,
        }
    }

    pub(super) fn summarised(
        &mut self,
        plan: Plan,
        overflow: Option<ModelError>,
        collected: Collected,
        reason: FinishReason,
        out: &mut Vec<Command>,
    ) {
        let text = super::prompt::text_of(&collected.into_parts());
        let usable = matches!(reason, FinishReason::Stop | FinishReason::Length) && !text.trim().is_empty();
        if !usable {
            return self.not_shortened(plan, overflow, "the summary was empty or refused".to_owned(), out);
        }
        let when = if overflow.is_some() { "after" } else { "before" };
        let saved_enough = self.replace(plan, &text, when, out);
        if saved_enough {
            return self.send(Purpose::Answer, out);
        }
        self.not_shortened(plan, overflow, "the summary saved too little".to_owned(), out);
    }

    /// Puts a summary in the old part's place, if that makes the prompt shorter by enough.
    fn replace(&mut self, plan: Plan, summary: &str, when: &str, out: &mut Vec<Command>) -> bool {
        let before = self.estimate();
        let mut history = vec![summary_message(summary, plan)];
        history.extend_from_slice(&self.history[plan.history_from..]);
        let mut turn = vec![self.turn[0].clone()];
        turn.extend_from_slice(&self.turn[plan.turn_from..]);
        let old = (std::mem::replace(&mut self.history, history), std::mem::replace(&mut self.turn, turn));
        let after = self.estimate();
        let savings_min = self.sizes().map_or(0, |sizes| sizes.savings_min);
        let needed = if when == "after" { 1 } else { savings_min.max(1) };
        if after + needed > before {
            (self.history, self.turn) = old;
            return false;
        }
        self.shorten.floor = after + savings_min;
        let fact =
            Fact::ContextCompacted { tokens_before: before, tokens_after: after, when: when.to_owned() };
        out.push(Command::Record { fact, must: false });
        out.push(Command::Tell(RunEvent::Compaction {
            applied: true,
            tokens_before: before,
            tokens_after: after,
            when: when.to_owned(),
        }));
        true
    }

    /// Says that it did not work, and goes on: with the request as it is, or with the last resort.
    pub(super) fn not_shortened(
        &mut self,
        plan: Plan,
        overflow: Option<ModelError>,
        why: String,
        out: &mut Vec<Command>,
    ) {
        self.shorten.off = true;
        let tokens = self.estimate();
        let when = if overflow.is_some() { "after" } else { "before" };
        Self::warn("compaction_failed", why, out);
        out.push(Command::Tell(RunEvent::Compaction {
            applied: false,
            tokens_before: tokens,
            tokens_after: tokens,
            when: when.to_owned(),
        }));
        match overflow {
            None => self.send(Purpose::Answer, out),
            Some(error) => self.last_resort(plan, error, out),
        }
    }

    /// The old part goes without a summary; what the person asked for is listed. Without it every later turn
    /// of the conversation would fail in the same way.
    fn last_resort(&mut self, plan: Plan, error: ModelError, out: &mut Vec<Command>) {
        let asked: Vec<String> = old_part(&self.history, &self.turn, plan)
            .iter()
            .filter_map(|message| match message {
                Message::User { content } => Some(format!("- {}", one_line(&blocks_text(content), 120))),
                _ => None,
            })
            .collect();
        let from = asked.len().saturating_sub(DIGEST_LINES_MAX);
        let digest = format!(
            "The conversation up to here was too long and could not be summarised. Of its earlier messages these \
             are the newest, each cut short; the rest is in the history alone:\n{}",
            asked[from..].join("\n")
        );
        if self.replace(plan, &digest, "after", out) {
            self.notice(
                "The earlier conversation was cut from the prompt, because it was too long.".into(),
                out,
            );
            return self.send(Purpose::Answer, out);
        }
        self.go_on_after(Purpose::Answer, Collected::default(), error, out);
    }
}
