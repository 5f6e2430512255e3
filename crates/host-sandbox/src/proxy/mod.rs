//! The only way out of a sandbox whose network is `localhost` or `allowlist` (SBX-3): a proxy of the host behind a
//! loopback port inside, which speaks HTTP CONNECT, plain HTTP and SOCKS5 and checks names and resolved addresses.

mod dial;
mod http;
mod server;
mod socks;

pub(crate) use server::{Rules, WayOut, serve};

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Where a child wants to go, as it named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// One decision of the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressDecision {
    /// The host as the child named it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// How it was asked for: `connect`, `http` or `socks5`; `broker` where a secret was put in.
    pub protocol: &'static str,
    /// Whether it was let through.
    pub allowed: bool,
    /// The address it went to, where it did.
    pub address: Option<IpAddr>,
    /// Why, as a sentence.
    pub why: String,
}

/// Who is told of each decision.
pub trait EgressLog: Send + Sync {
    /// One was made.
    fn decided(&self, decision: &EgressDecision);
}

/// Tells the trace log alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct TraceEgress;

impl EgressLog for TraceEgress {
    fn decided(&self, decision: &EgressDecision) {
        let host = host_vocab::text::one_line(&decision.host, 253);
        tracing::info!(
            host,
            port = decision.port,
            protocol = decision.protocol,
            allowed = decision.allowed,
            "sandbox egress: {}",
            decision.why
        );
    }
}

/// The variables that make programs use the proxy.
pub(crate) fn variables(port: u16) -> BTreeMap<String, String> {
    let http = format!("http://127.0.0.1:{port}");
    let socks = format!("socks5h://127.0.0.1:{port}");
    let mut env = BTreeMap::new();
    for (name, value) in [("HTTP_PROXY", &http), ("HTTPS_PROXY", &http), ("ALL_PROXY", &socks)] {
        env.insert(name.to_owned(), value.clone());
        env.insert(name.to_ascii_lowercase(), value.clone());
    }
    env.insert("NO_PROXY".to_owned(), String::new());
    env.insert("no_proxy".to_owned(), String::new());
    env.insert("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned());
    env
}
