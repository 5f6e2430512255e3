//! Where children may connect.

mod address;
mod hosts;

pub(crate) use address::is_loopback_name;
pub use address::is_public;
pub use hosts::{HostList, HostListError};

use serde::Serialize;

/// Where children may connect (SBX-1, SBX-3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "mode", content = "allowlist")]
pub enum Network {
    /// Nowhere.
    None,
    /// To the host's own loopback.
    Localhost,
    /// To listed hosts, through the host's proxy.
    Allowlist(HostList),
    /// Anywhere.
    All,
}

impl Network {
    /// The word of the config.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Network::None => "none",
            Network::Localhost => "localhost",
            Network::Allowlist(_) => "allowlist",
            Network::All => "all",
        }
    }

    /// Whether a host name or address literal may be connected to, before its addresses are looked at.
    pub fn admits_name(&self, host: &str) -> bool {
        match self {
            Network::None => false,
            Network::All => true,
            Network::Localhost => address::is_loopback_name(host),
            Network::Allowlist(hosts) => hosts.admits(host),
        }
    }

    /// What both allow.
    #[must_use]
    pub fn narrow(&self, other: &Network) -> Network {
        match (self, other) {
            (Network::None, _) | (_, Network::None) => Network::None,
            (Network::All, narrower) | (narrower, Network::All) => narrower.clone(),
            (Network::Localhost, Network::Localhost) => Network::Localhost,
            (Network::Localhost, Network::Allowlist(hosts))
            | (Network::Allowlist(hosts), Network::Localhost) => Network::Allowlist(hosts.loopback_only()),
            (Network::Allowlist(a), Network::Allowlist(b)) => Network::Allowlist(a.intersect(b)),
        }
    }
}
