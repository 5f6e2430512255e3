//! Why a server could not be reached, and why a call came to nothing: what a person is told, and what may
//! have happened on the other side.

use host_ports::http::HttpError;
use host_ports::spawn::{ChildExit, SpawnError};
use host_vocab::text;
use std::time::Duration;

/// One HTTP exchange that came to nothing. No variant holds a header value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpFault {
    /// The request itself failed.
    #[error(transparent)]
    Transport(HttpError),
    /// The server refused the credential, or there was none (401), or it lacks rights (403).
    #[error("{}", unauthorized(*status, *credential))]
    Unauthorized {
        /// 401 or 403.
        status: u16,
        /// Whether the entry configures a credential.
        credential: bool,
    },
    /// There was a login, and no good token came of it.
    #[error("the login is of no use any more: {0}; mono-agent mcp login asks for a new one")]
    Login(String),
    /// Another status.
    #[error("HTTP status {status}{}", quoted(preview))]
    Status {
        /// The status.
        status: u16,
        /// The start of the body, one line.
        preview: String,
    },
    /// A redirect that the rule does not follow.
    #[error(
        "the server redirects to {target}, which is not followed; declare that address itself if it is right"
    )]
    Redirect {
        /// Scheme, host and port of the target.
        target: String,
    },
    /// An answer that is not of the protocol.
    #[error("the address does not answer like an MCP server: {0}")]
    NotMcp(String),
    /// An answer over the bound.
    #[error("the answer is over the bound of {0} bytes")]
    TooLarge(usize),
    /// The session is gone and could not be made anew.
    #[error("the server no longer knows the session and did not accept a new one")]
    SessionLost,
    /// The connection went away.
    #[error("the connection was closed")]
    Closed,
}

fn unauthorized(status: u16, credential: bool) -> &'static str {
    match (status, credential) {
        (401, true) => "the configured credential was refused (HTTP 401); check the value of the header",
        (401, false) => {
            "the server wants a login (HTTP 401): `mono-agent mcp login` with its name asks for one; or set `headersFromEnv`"
        }
        (_, true) => "the configured credential lacks rights (HTTP 403)",
        (_, false) => {
            "access is forbidden (HTTP 403); another `mono-agent mcp login` may ask for more rights"
        }
    }
}

fn quoted(preview: &str) -> String {
    if preview.is_empty() { String::new() } else { format!(": {preview}") }
}

impl HttpFault {
    /// Whether the server can't have acted on the request.
    pub(crate) fn nothing_happened(&self) -> bool {
        match self {
            HttpFault::Transport(error) => matches!(
                error,
                HttpError::Connect { .. } | HttpError::Denied { .. } | HttpError::RedirectRefused { .. }
            ),
            HttpFault::Status { status, .. } => (400..500).contains(status) && *status != 408,
            HttpFault::Unauthorized { .. }
            | HttpFault::Login(_)
            | HttpFault::Redirect { .. }
            | HttpFault::SessionLost => true,
            HttpFault::NotMcp(_) | HttpFault::TooLarge(_) | HttpFault::Closed => false,
        }
    }
}

/// Why a server could not be connected to, or its tools not be listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The entry itself can't be used.
    #[error("{0}")]
    Config(String),
    /// The child could not be started.
    #[error("{0}")]
    Spawn(SpawnError),
    /// The child ended before it was ready.
    #[error("{}", exited(exit, stderr, phase))]
    Exited {
        /// How it ended, where that is known.
        exit: Option<ChildExit>,
        /// The end of what it wrote to stderr, one line.
        stderr: String,
        /// What was going on.
        phase: &'static str,
    },
    /// The bound passed.
    #[error("{}", timed_out(after, phase, stderr))]
    Timeout {
        /// The bound.
        after: Duration,
        /// What was going on.
        phase: &'static str,
        /// The end of what it wrote to stderr, one line.
        stderr: String,
    },
    /// HTTP failed.
    #[error("{0}")]
    Http(HttpFault),
    /// Streamable HTTP and then HTTP+SSE failed.
    #[error("streamable HTTP: {streamable}; HTTP+SSE: {sse}")]
    BothHttp {
        /// Why the first failed.
        streamable: HttpFault,
        /// Why the second failed.
        sse: Box<ConnectError>,
    },
    /// The server answered with an error.
    #[error("JSON-RPC error {code} while {phase}{}", quoted(message))]
    Rpc {
        /// Its code.
        code: i32,
        /// Its message, one line.
        message: String,
        /// What was going on.
        phase: &'static str,
    },
    /// No protocol revision in common.
    #[error("no protocol revision in common: the server speaks {0}")]
    Revision(String),
    /// Something that is not of the protocol.
    #[error("{0}")]
    Protocol(String),
    /// It failed a short while ago and is left alone for now.
    #[error("{cause} (next try in {} s)", wait.as_secs().max(1))]
    BackOff {
        /// Why it failed last.
        cause: Box<ConnectError>,
        /// How long it is left alone.
        wait: Duration,
    },
    /// It failed too often and is left alone for long.
    #[error(
        "quarantined after {failures} failed starts: {cause} (`mono-agent mcp test` tries it again at once)"
    )]
    Quarantined {
        /// Why it failed last.
        cause: Box<ConnectError>,
        /// How often it failed without a good call between.
        failures: u32,
    },
    /// The host is stopping.
    #[error("the host is stopping")]
    Stopped,
}

fn exited(exit: &Option<ChildExit>, stderr: &str, phase: &str) -> String {
    let end = exit.map_or_else(|| "closed its output".to_owned(), |exit| format!("ended with {exit}"));
    let said = if stderr.is_empty() { String::new() } else { format!("; stderr: {stderr}") };
    let hint = blocked_hint(stderr);
    format!("the server {end} while {phase}{said}{hint}")
}

fn timed_out(after: &Duration, phase: &str, stderr: &str) -> String {
    let said = if stderr.is_empty() { String::new() } else { format!("; stderr: {stderr}") };
    let hint = blocked_hint(stderr);
    format!("no answer within {} ms while {phase} (`timeout` of the entry){said}{hint}", after.as_millis())
}

/// What to add to the entry where the sandbox is the likely cause (MCP-6).
fn blocked_hint(stderr: &str) -> &'static str {
    let lower = stderr.to_lowercase();
    let any = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if any(&["read-only file system", "permission denied", "eacces", "erofs", "eperm"]) {
        "; if the sandbox blocks a folder, name it in the entry's `sandbox.readableRoots` or `sandbox.writableRoots`"
    } else if any(&["enotfound", "eai_again", "name resolution", "network is unreachable", "dns error"]) {
        "; if the sandbox blocks the network, set the entry's `sandbox.network`"
    } else {
        ""
    }
}

impl ConnectError {
    /// Whether another transport or era may do better.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            ConnectError::Http(fault) => !matches!(fault, HttpFault::Status { .. } | HttpFault::NotMcp(_)),
            ConnectError::Config(_) | ConnectError::Spawn(_) | ConnectError::Stopped => true,
            _ => false,
        }
    }

    /// Whether it would fail again at once whatever is done: a refused credential must not be hammered.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(
            self,
            ConnectError::Http(HttpFault::Unauthorized { .. } | HttpFault::Login(_))
                | ConnectError::Config(_)
        )
    }
}

/// Why a call came to nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallFault {
    /// The connection was gone before the request was handed over.
    NotSent,
    /// The connection went away with the request in flight.
    Lost,
    /// The bound passed.
    Timeout(Duration),
    /// The turn was cancelled.
    Cancelled,
    /// The server answered with an error.
    Rpc { code: i32, message: String },
    /// HTTP failed.
    Http(HttpFault),
    /// The result was over the bound.
    TooLarge(u64),
    /// An answer that is not of the protocol.
    Protocol(String),
}

/// One line of a server's text for a message.
pub(crate) fn line_of(server_text: &str) -> String {
    text::one_line(server_text, 400)
}
