//! Logging in to an MCP server, and out (MCP-15).

use crate::parts::servers::oauth_http;
use crate::parts::vault::FileVault;
use crate::state::StateFolder;
use host_config::AgentSpec;
use host_config::mcp::{HttpSpec, McpTransport};
use host_mcp::{Consent, OAuthIdentity, OAuthPorts, oauth_forget, oauth_login};
use std::sync::Arc;

/// Why nobody was logged in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// No usable server of that name.
    #[error("no MCP server is named {name}; declared are: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A login makes no sense for it.
    #[error("{0}")]
    NotForIt(String),
    /// The way to a grant broke off.
    #[error("{0}")]
    Failed(String),
}

/// Takes a person through a login; the tokens are kept for their owner alone. A running host uses them from its
/// next try on.
///
/// # Errors
/// See [`LoginError`].
pub async fn login(
    spec: &AgentSpec,
    state: &StateFolder,
    name: &str,
    identity: OAuthIdentity,
    consent: &dyn Consent,
) -> Result<(), LoginError> {
    let http = server(spec, name)?;
    let literal = http.headers.iter().map(|(name, _)| name);
    let variables = http.headers_from_env.iter().map(|(name, _)| name);
    let mut headers = literal.chain(variables).chain(http.headers_from_file.iter().map(|(name, _)| name));
    if let Some(header) = headers.find(|name| host_mcp::is_credential_header(name)) {
        let message =
            format!("the entry of {name} sets the header {header} itself, so no login is used for it");
        return Err(LoginError::NotForIt(message));
    }
    let ports = OAuthPorts {
        vault: Arc::new(FileVault { folder: state.grants() }),
        http: oauth_http(),
        identity,
        consent: None,
    };
    oauth_login(&http.url, ports, consent).await.map_err(|error| LoginError::Failed(error.to_string()))
}

/// Forgets what was granted for a server. Gives whether there was anything.
///
/// # Errors
/// See [`LoginError`].
pub async fn logout(spec: &AgentSpec, state: &StateFolder, name: &str) -> Result<bool, LoginError> {
    let http = server(spec, name)?;
    let vault = Arc::new(FileVault { folder: state.grants() });
    oauth_forget(&http.url, vault).await.map_err(|error| LoginError::Failed(error.to_string()))
}

fn server<'s>(spec: &'s AgentSpec, name: &str) -> Result<&'s HttpSpec, LoginError> {
    match spec.mcp.servers.iter().find(|it| it.name.as_str() == name).map(|it| &it.transport) {
        Some(McpTransport::Http(http)) => Ok(http),
        Some(McpTransport::Stdio(_)) => {
            Err(LoginError::NotForIt(format!("{name} is a stdio server; a login is for remote ones")))
        }
        None => {
            let known: Vec<&str> = spec.mcp.servers.iter().map(|it| it.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(LoginError::Unknown { name: name.to_owned(), known })
        }
    }
}
