//! A request failed.

use super::collect::Collected;
use super::{Command, Machine, Purpose, State};
use crate::event::RunEvent;
use crate::retry::{Attempted, Blocked, Next, Standing, decide, exhausted_kind};
use host_event::Fact;
use host_ports::model::{AssistantPart, Message, ModelError};
use host_turn::{Ending, FailureKind};
use host_vocab::text::{one_line, prefix};

/// The most of a provider's words that is kept, in characters.
const ERROR_CHARS_MAX: usize = 1_000;
/// The most of a broken answer that its own record keeps, in bytes.
const PARTIAL_BYTES_MAX: usize = 256 * 1024;

impl Machine {
    pub(super) fn failed(
        &mut self,
        purpose: Purpose,
        collected: Collected,
        error: ModelError,
        out: &mut Vec<Command>,
    ) {
        if let Purpose::Summary { plan, overflow } = purpose {
            let why = format!("the summary failed: {}", one_line(&error.message, 300));
            return self.not_shortened(plan, overflow, why, out);
        }
        self.attempted.push(Attempted {
            model: self.model(),
            kind: error.kind.as_str(),
            request_id: error.request_id.clone(),
            retry_index: (self.attempt > 0).then_some(self.attempt),
        });
        if error.kind == FailureKind::ContextLimit {
            self.learn_window(&error);
            if !collected.has_shown()
                && let Some(plan) = self.overflow_shortening()
            {
                self.record_failure(&error, &collected, "compact", out);
                return self.shorten_after(plan, error, out);
            }
        }
        self.go_on_after(purpose, collected, error, out);
    }

    /// Asks again, asks another, or stops.
    pub(super) fn go_on_after(
        &mut self,
        purpose: Purpose,
        collected: Collected,
        error: ModelError,
        out: &mut Vec<Command>,
    ) {
        let blocked = if self.tool_ran {
            Some(Blocked::ToolAlreadyExecuted)
        } else {
            collected.has_shown().then_some(Blocked::AnswerAlreadyShown)
        };
        let at = Standing { route: self.route, attempt: self.attempt, blocked };
        let needs_images = self.needs_images();
        let usable = |route: &crate::retry::Route| route.images || !needs_images;
        match decide(&error, at, &self.spec.chain, &self.spec.config.retry, usable) {
            Next::Retry(wait) => {
                self.record_failure(&error, &collected, "retry", out);
                self.attempt += 1;
                out.push(Command::Tell(RunEvent::Retry {
                    model: self.model(),
                    attempt: self.attempt,
                    wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                    failure_kind: error.kind.to_string(),
                }));
                out.push(Command::Wait(wait));
                self.state = State::Waiting { purpose };
            }
            Next::Advance(route) => {
                self.record_failure(&error, &collected, "failover", out);
                self.advance(purpose, route, &error, out);
            }
            Next::Stop(blocked) => {
                self.record_failure(&error, &collected, "stop", out);
                if let Some(reason) = blocked {
                    let message = format!("no other attempt was made: {}", reason.as_str());
                    Self::warn("provider_failover_blocked", message, out);
                }
                let ending = Ending::Failed { kind: error.kind, error: self.failure_words(&error) };
                self.finish_partial(ending, purpose, collected, out);
            }
            Next::Exhausted => {
                self.record_failure(&error, &collected, "stop", out);
                self.note_skipped(self.spec.chain.len());
                let kind = exhausted_kind(&error, self.spec.chain.len());
                let words = self.failure_words(&error);
                let error =
                    if kind == error.kind { words } else { format!("every route failed; the last: {words}") };
                self.finish_partial(Ending::Failed { kind, error }, purpose, collected, out);
            }
        }
    }

    fn advance(&mut self, purpose: Purpose, route: usize, error: &ModelError, out: &mut Vec<Command>) {
        let from = self.model();
        self.note_skipped(route);
        self.route = route;
        self.attempt = 0;
        self.shorten.new_route();
        // Another model can't be relied on to read what this one thought, even at the same provider.
        drop_reasoning(&mut self.history);
        drop_reasoning(&mut self.turn);
        out.push(Command::Tell(RunEvent::Failover {
            from,
            to: self.model(),
            failure_kind: error.kind.to_string(),
        }));
        self.ask(purpose, out);
    }

    /// Routes that were passed over, because they can't do what the turn needs.
    fn note_skipped(&mut self, up_to: usize) {
        for route in self.spec.chain.iter().take(up_to).skip(self.route + 1) {
            self.attempted.push(Attempted {
                model: route.reference.clone(),
                kind: "skipped_capability_mismatch",
                request_id: None,
                retry_index: None,
            });
        }
    }

    fn record_failure(&self, error: &ModelError, collected: &Collected, then: &str, out: &mut Vec<Command>) {
        let fact = Fact::ModelFailed {
            step: self.step,
            attempt: self.attempts.saturating_sub(1),
            model: self.model(),
            failure_kind: error.kind.to_string(),
            error: one_line(&error.message, ERROR_CHARS_MAX),
            partial_text: prefix(collected.shown(), PARTIAL_BYTES_MAX).to_owned(),
            then: then.to_owned(),
        };
        out.push(Command::Record { fact, must: false });
    }

    fn failure_words(&self, error: &ModelError) -> String {
        format!("{}: {}", self.model(), one_line(&error.message, ERROR_CHARS_MAX))
    }
}

/// Takes reasoning out of messages; a message that was nothing else goes.
pub(crate) fn drop_reasoning(messages: &mut Vec<Message>) {
    for message in messages.iter_mut() {
        if let Message::Assistant { parts } = message {
            parts.retain(|part| !matches!(part, AssistantPart::Reasoning { .. }));
        }
    }
    messages.retain(|message| !matches!(message, Message::Assistant { parts } if parts.is_empty()));
}
