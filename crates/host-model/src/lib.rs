//! Every provider of models behind the one Model port.
//!
//! [`build`] makes a model from [`ProviderSettings`]. Each wire format is an adapter of its own over the
//! port `Http`: a request writer, a decoder of its stream, nothing else. Common rules:
//!
//! - An answer counts only when its provider said how it stopped; a stream that ends before is an error
//!   (T12-07). Parts come at the end, so no half call ever becomes one.
//! - Reasoning is kept as it came and sent back unchanged to the provider that made it.
//! - Schemas are made fit for each provider ([`schema`]); a tool that can't be told is reported.
//! - Messages of errors are one bounded line without keys.

mod anthropic;
mod bedrock;
mod chat;
mod constrained;
mod content;
mod discover;
mod effort;
mod exchange;
mod factory;
mod failure;
mod frame;
mod gemini;
mod link;
mod manual;
mod price;
mod provider;
mod responses;
pub mod schema;
mod scripted;
mod sse;
mod tool_calling;
mod wire;

pub use bedrock::AwsCredentials;
pub use constrained::SchemaMode;
pub use discover::{LOCAL_CANDIDATES, LocalCandidate, LocalEndpoint, discover_local};
pub use factory::{ModelPorts, ProviderError, ProviderSettings, build};
pub use manual::Manual;
pub use price::Prices;
pub use provider::{DEFAULT_WINDOW, PROVIDERS, Provider, ProviderKind, known_window, provider};
pub use scripted::{ScriptError, Scripted};
pub use tool_calling::{ToolCalling, Verdicts};

#[cfg(test)]
mod tests;
