//! Putting an answer together from its stream.

use crate::event::RunEvent;
use host_ports::model::{AssistantPart, ModelEvent};

/// What a part costs besides its content, so that empty ones are bounded too.
const PART_BYTES: usize = 16;

/// What came of an answer so far.
#[derive(Default)]
pub(super) struct Collected {
    parts: Vec<AssistantPart>,
    /// All text that was shown.
    shown: String,
    /// Text that came in pieces and not yet as a part.
    pieces: String,
    bytes: usize,
}

impl Collected {
    /// Takes a piece and gives what is to be shown of it.
    pub(super) fn take(&mut self, event: ModelEvent) -> Option<RunEvent> {
        match event {
            ModelEvent::Text(text) => {
                self.pieces.push_str(&text);
                self.show(text)
            }
            ModelEvent::Reasoning(text) => {
                self.bytes += text.len().max(1);
                (!text.is_empty()).then_some(RunEvent::ReasoningDelta { text })
            }
            ModelEvent::Part(part) => self.take_part(part),
            ModelEvent::CallStarted { .. } | ModelEvent::Notice(_) | ModelEvent::Finished { .. } => None,
        }
    }

    fn take_part(&mut self, part: AssistantPart) -> Option<RunEvent> {
        self.bytes += PART_BYTES;
        let mut unseen = String::new();
        match &part {
            AssistantPart::Text { text } => {
                let pieces = std::mem::take(&mut self.pieces);
                unseen = text.strip_prefix(pieces.as_str()).unwrap_or_default().to_owned();
            }
            AssistantPart::Reasoning { raw, .. } => self.bytes += raw.to_string().len(),
            AssistantPart::Call(call) => self.bytes += call.name.len() + call.arguments.len(),
        }
        self.parts.push(part);
        self.show(unseen)
    }

    fn show(&mut self, text: String) -> Option<RunEvent> {
        self.bytes += text.len().max(1);
        self.shown.push_str(&text);
        (!text.is_empty()).then_some(RunEvent::TextDelta { text })
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn has_shown(&self) -> bool {
        !self.shown.is_empty()
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// The text that was shown, for an answer that broke off.
    pub(super) fn into_shown(self) -> String {
        self.shown
    }

    /// The parts of a whole answer. Text that never came as a part is one nevertheless, and stands before the
    /// calls; blank text is none, since some providers refuse it when it comes back.
    pub(super) fn into_parts(mut self) -> Vec<AssistantPart> {
        if !self.pieces.is_empty() {
            let at = self.parts.iter().position(|part| matches!(part, AssistantPart::Call(_)));
            self.parts.insert(at.unwrap_or(self.parts.len()), AssistantPart::Text { text: self.pieces });
        }
        self.parts.retain(|part| !matches!(part, AssistantPart::Text { text } if text.trim().is_empty()));
        self.parts
    }
}
