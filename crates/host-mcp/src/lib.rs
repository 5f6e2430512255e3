//! Other people's tools: every MCP server, behind one door.
//!
//! [`McpPool`] holds one [`McpSource`] for each declared server. A source offers a server's tools under local
//! names, out of the cache where it can, and connects when it must; what can't be had is withheld with its
//! cause, so that one bad server never hides the others. Nothing here starts a process or opens a socket:
//! pipes come from the `Spawn` port, HTTP from the `Http` port, and `rmcp` speaks the protocol in between.

mod ask;
mod cache;
mod call;
mod config;
mod connection;
mod definition;
mod dialect;
mod elicitation;
mod environment;
mod events;
mod exchange;
mod fault;
mod handler;
mod handshake;
mod install;
mod legacy_sse;
mod library;
mod lifecycle;
mod lines;
mod naming;
mod oauth;
mod param_header;
mod pool;
mod repair;
mod result;
mod round;
mod run_context;
mod sampling;
mod served;
mod server;
mod source;
mod status;
mod stderr;
mod stdio;
mod streamable;
mod tool;

pub use cache::{DefinitionCache, ENTRY_BYTES_MAX, MemoryCache};
pub use config::{
    CALL_TOTAL_DEFAULT, EraChoice, HttpConfig, HttpKind, McpServerConfig, McpTransport, StdioConfig,
    TIMEOUT_DEFAULT,
};
pub use definition::{Definitions, OddTool, Route, ToolDefinition};
pub use environment::{EnvironmentError, EnvironmentSources, SAFE_NAMES, child_environment};
pub use fault::{ConnectError, HttpFault};
pub use library::{Admits, McpPrompts, McpResources};
pub use naming::{NamingError, local_names, shown_name};
pub use oauth::{
    Consent, HttpFor, MemoryVault, OAuthError, OAuthIdentity, OAuthPorts, TokenVault, is_credential_header,
    oauth_forget, oauth_login,
};
pub use pool::{McpPool, PoolOptions, Refresh};
pub use run_context::{RunContexts, RunLoan, names as context_names};
pub use served::ServedTools;
pub use source::McpSource;
pub use status::{LeftOut, ServerState, ServerStatus, TestReport};
pub use tool::codes;
