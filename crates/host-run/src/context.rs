//! What a model is told: the system prompt and the message of one turn, as pure functions of texts that the
//! caller read (reference §13).
//!
//! The system prompt depends on nothing that changes within a session, so that providers can cache it.
//! What changes from turn to turn (recalled memory, who writes, what was said before in a group) rides on
//! the user's message, in fences that its text can't close.

mod fence;
mod soul;
mod system;
mod user;

pub use fence::FENCES;
pub(crate) use fence::fenced;
pub use soul::DEFAULT_SOUL;
pub use system::{PromptParts, SessionBlock, SkillBody, SkillEntry, Skills, SurfaceKind, system_prompt};
pub(crate) use user::host_note;
pub use user::{Background, ImageInput, Preceding, UserMessage, user_message};

/// Everything besides the turn itself that a prompt is made from.
#[derive(Debug, Clone, Default)]
pub struct TurnContext {
    /// The parts of the system prompt.
    pub prompt: PromptParts,
    /// Recalled memory and other background for this turn alone; it is never stored.
    pub background: Vec<Background>,
    /// What was said before in a group; never stored.
    pub preceding: Vec<Preceding>,
    /// The turn's pictures, read by the caller, in the order of the attachments that are pictures.
    pub images: Vec<ImageInput>,
}
