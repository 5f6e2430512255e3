//! Who may be connected to.

use crate::address::{AddressKind, classify};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Decides on connections before they open. A client with such a rule asks it for the host as it is
/// written and for every address that the name resolves to, and connects to exactly those addresses. One
/// refused address refuses the whole name: a name that leads inside is no name to trust.
pub trait Egress: Send + Sync {
    /// Whether a host, as the URL names it, may be asked for at all.
    ///
    /// # Errors
    /// The rule that refuses it, in words without secrets.
    fn host(&self, host: &str, port: u16) -> Result<(), String>;

    /// Whether one resolved address of a host may be connected to.
    ///
    /// # Errors
    /// The rule that refuses it, in words without secrets.
    fn address(&self, host: &str, address: IpAddr) -> Result<(), String>;
}

/// The open Internet and nothing else, but for the hosts that are listed (TOO-4).
#[derive(Debug, Clone, Default)]
pub struct PublicOnly {
    listed: BTreeSet<String>,
}

impl PublicOnly {
    /// A rule with exceptions: host names or addresses, as a URL writes them; case does not matter.
    pub fn except(hosts: impl IntoIterator<Item = String>) -> Self {
        PublicOnly { listed: hosts.into_iter().map(|host| plain(&host)).collect() }
    }
}

impl Egress for PublicOnly {
    fn host(&self, _host: &str, _port: u16) -> Result<(), String> {
        Ok(())
    }

    fn address(&self, host: &str, address: IpAddr) -> Result<(), String> {
        let kind = classify(address);
        if kind == AddressKind::Public || self.listed.contains(&plain(host)) {
            return Ok(());
        }
        Err(format!("{} is a {} address", plain(host), kind.as_str()))
    }
}

/// A host without the brackets of IPv6, without a final dot, in lower case.
fn plain(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_host_is_let_through_by_its_name_alone() {
        let rule = PublicOnly::except(["Box.local".to_owned(), "[::1]".to_owned()]);
        let inside = "10.0.0.9".parse().unwrap();
        assert!(rule.address("box.local.", inside).is_ok());
        assert!(rule.address("::1", "::1".parse().unwrap()).is_ok());
        assert_eq!(rule.address("evil.example", inside).unwrap_err(), "evil.example is a private address");
        assert!(rule.address("evil.example", "8.8.8.8".parse().unwrap()).is_ok());
    }
}
