//! The person who plays the model (`manual:operator`, ENG-5).

use crate::BoxFuture;
use crate::model::{ModelRequest, ToolCall};

/// What the operator does next.
#[derive(Debug, Clone, PartialEq)]
pub enum OperatorMove {
    /// Answers the person; the turn ends.
    Say(String),
    /// Calls tools.
    Call(Vec<ToolCall>),
    /// Gives up; the turn is cancelled.
    Leave,
}

/// The place where the operator sits.
pub trait OperatorDesk: Send + Sync {
    /// Shows what the model would see (the newest messages, the tools) and waits for a move.
    fn next_move(&self, request: &ModelRequest) -> BoxFuture<'_, OperatorMove>;
}
