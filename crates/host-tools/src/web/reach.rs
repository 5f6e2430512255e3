//! Where the web tools may go: the sandbox's network policy, as they see it (TOO-4).

use std::sync::Arc;
use url::Url;

/// Says of a host, as a URL writes it, whether it is on the list.
pub trait HostRule: Send + Sync {
    /// Whether it is.
    fn admits(&self, host: &str) -> bool;
}

/// The network policy (`sandbox.network`). It governs the web tools whether or not commands are confined,
/// since the host itself sends these requests.
#[derive(Clone)]
pub enum WebReach {
    /// Nowhere.
    None,
    /// To a search service on this machine alone.
    Localhost,
    /// To the hosts of a list.
    Allowlist(Arc<dyn HostRule>),
    /// To every public address.
    All,
}

impl WebReach {
    /// Whether a page of this host may be fetched.
    pub fn admits(&self, url: &Url) -> bool {
        url.host_str().is_some_and(|host| self.admits_host(host))
    }

    /// The same of a host, as a URL writes it.
    pub fn admits_host(&self, host: &str) -> bool {
        match self {
            WebReach::None | WebReach::Localhost => false,
            WebReach::Allowlist(list) => list.admits(bare(host)),
            WebReach::All => true,
        }
    }

    /// Whether a search service on this machine may be asked, by its host.
    pub fn admits_local_service(&self, host: &str) -> bool {
        matches!(self, WebReach::Localhost) || self.admits_host(host)
    }

    /// The setting's word.
    pub fn as_str(&self) -> &'static str {
        match self {
            WebReach::None => "none",
            WebReach::Localhost => "localhost",
            WebReach::Allowlist(_) => "allowlist",
            WebReach::All => "all",
        }
    }
}

impl std::fmt::Debug for WebReach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A host without the brackets of IPv6.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}
