//! Bounds that more than one crate keeps. Bytes are UTF-8; characters are Unicode scalar values.

/// The longest tool name, in bytes (MCP-9).
pub const TOOL_NAME_BYTES_MAX: usize = 64;
/// The most text that one tool result may hold when it reaches the model, in bytes (TOO-7).
pub const RESULT_BYTES_MAX: usize = 262_144;
/// The largest text file that `Read` opens whole, in bytes (FIL-1).
pub const READ_FILE_BYTES_MAX: u64 = 262_144;
/// The most bytes of one call's whole output that are kept (TOO-7).
pub const CALL_OUTPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The most bytes of kept output for one agent (TOO-7).
pub const AGENT_OUTPUT_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
/// The longest argument object that a call may carry, in bytes of JSON.
pub const ARGUMENT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The longest prompt text of one turn, in bytes.
pub const TURN_TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
