//! MCP servers: `mcp.json` and `tools.mcpServers`, entry by entry (MCP-1, MCP-2).

mod document;
mod entry;
mod names;
mod placeholder;
mod remote;
mod server;
mod stdio;

pub use document::MCP_KEY;
pub(crate) use document::{McpFile, McpInput, is_within, read_servers};
pub use names::{is_refused_variable, refused_variable};
pub use placeholder::placeholder;
pub use server::{
    BrokenServer, HttpKind, HttpSpec, McpConfig, McpEra, McpServerSpec, McpTransport, ServerNetwork,
    ServerSandbox, StdioSpec,
};
