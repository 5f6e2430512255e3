//! Small pieces that all wire formats share.

use host_ports::model::{AssistantPart, FinishReason, ModelError, ModelEvent};
use host_turn::{FailureKind, Usage};
use host_vocab::{Block, Media};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The most calls of one message.
pub(crate) const CALLS_MAX: usize = 256;
/// The media types that every provider with pictures takes.
const IMAGE_TYPES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A picture that a provider can be shown; everything else is described in words.
pub(crate) fn picture(block: &Block, images: bool) -> Option<&Media> {
    match block {
        Block::Image { media } if images && IMAGE_TYPES.contains(&media.mime_type.as_str()) => Some(media),
        _ => None,
    }
}

/// A picture as a data URL.
pub(crate) fn data_url(media: &Media) -> String {
    format!("data:{};base64,{}", media.mime_type, media.data)
}

/// A new id for a call that came without a usable one.
pub(crate) fn new_call_id() -> String {
    format!("call_{}", uuid::Uuid::new_v4().simple())
}

/// An id in the letters that Anthropic and Bedrock take; a changed one carries a digest, so that two
/// different ids stay different and the same id stays the same in call and result.
pub(crate) fn plain_id(id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=64).contains(&id.len()) && id.chars().all(plain) {
        return id.to_owned();
    }
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(id.as_bytes());
    let tail = host_vocab::text::hex(&digest[..8]);
    let head: String = id.chars().filter(|c| plain(*c)).take(40).collect();
    format!("{head}_{tail}")
}

/// Arguments as the object that a provider wants back. What is no object is kept under a name that says so.
pub(crate) fn arguments_object(arguments: &str) -> Value {
    if arguments.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str::<Value>(arguments) {
        Ok(value @ Value::Object(_)) => value,
        _ => json!({ "invalid_arguments": arguments }),
    }
}

/// Whether arguments are whole: a cut one never is valid JSON, and none at all stand for an empty object.
pub(crate) fn arguments_whole(arguments: &str) -> bool {
    arguments.trim().is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}

/// The raw block of a reasoning part that `provider` made.
pub(crate) fn own_reasoning<'a>(part: &'a AssistantPart, provider: &str) -> Option<&'a Value> {
    match part {
        AssistantPart::Reasoning { provider: made_by, raw, .. } if made_by == provider => Some(raw),
        _ => None,
    }
}

/// A number of a usage object, 0 when it isn't there.
pub(crate) fn count(usage: &Value, pointer: &str) -> u64 {
    usage.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// Gives every call of a message an id that no other of them has.
#[derive(Default)]
pub(crate) struct CallIds(HashSet<String>);

impl CallIds {
    pub(crate) fn unique(&mut self, id: Option<&str>) -> String {
        let id = id.filter(|id| !id.is_empty() && id.len() <= 512).map_or_else(new_call_id, str::to_owned);
        if self.0.insert(id.clone()) {
            return id;
        }
        let fresh = new_call_id();
        self.0.insert(fresh.clone());
        fresh
    }
}

/// The error for an answer that never ends.
pub(crate) fn too_many(what: &str) -> ModelError {
    ModelError::new(FailureKind::ServerError, format!("the answer has more than {CALLS_MAX} {what}"))
}

/// Ends an answer: its parts, then why it ended. A message with calls waits for them, whatever its provider
/// calls that; a plain end is a refusal where the provider marked it as one.
pub(crate) fn finish(
    said: FinishReason,
    refused: bool,
    parts: Vec<AssistantPart>,
    usage: Usage,
    out: &mut Vec<ModelEvent>,
) {
    let calls = parts.iter().any(|part| matches!(part, AssistantPart::Call(_)));
    let reason = match said {
        FinishReason::Stop | FinishReason::ToolCalls if calls => FinishReason::ToolCalls,
        FinishReason::Stop | FinishReason::ToolCalls if refused => FinishReason::Refusal,
        FinishReason::Stop | FinishReason::ToolCalls => FinishReason::Stop,
        other => other,
    };
    out.extend(parts.into_iter().map(ModelEvent::Part));
    out.push(ModelEvent::Finished { reason, usage });
}
