//! Checking a name, resolving it, checking what it resolved to, and connecting to exactly that.

use super::{EgressDecision, EgressLog};
use crate::network::{Network, is_public};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Why nothing was connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DialError {
    /// The policy refuses it; a sentence.
    Denied(String),
    /// It could not be reached; a sentence.
    Unreachable(String),
}

/// Connects to a host that the policy lets through, to an address that was checked.
pub(super) fn dial(
    network: &Network,
    log: &dyn EgressLog,
    protocol: &'static str,
    host: &str,
    port: u16,
) -> Result<TcpStream, DialError> {
    let tell = |allowed, address, why: &str| {
        let (host, why) = (host.to_owned(), why.to_owned());
        log.decided(&EgressDecision { host, port, protocol, allowed, address, why });
    };
    let denied = |why: String| {
        tell(false, None, &why);
        Err(DialError::Denied(why))
    };
    if !network.admits_name(host) {
        return denied(format!("the sandbox's network ({}) does not allow this host", network.as_str()));
    }
    let addresses = match resolve(host, port) {
        Ok(addresses) => addresses,
        Err(_) => return Err(DialError::Unreachable("the name could not be resolved".to_owned())),
    };
    let allowed: Vec<SocketAddr> =
        addresses.into_iter().filter(|address| admits_address(network, host, address.ip())).collect();
    if allowed.is_empty() {
        return denied(
            "the name resolves to a private or local address, which is not listed itself".to_owned(),
        );
    }
    for address in allowed {
        if let Ok(stream) = TcpStream::connect_timeout(&address, CONNECT_MAX) {
            tell(true, Some(address.ip()), "allowed by the policy");
            return Ok(stream);
        }
    }
    tell(true, None, "allowed by the policy, but nobody answered");
    Err(DialError::Unreachable("nobody answered there".to_owned()))
}

fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let bare = host.trim_matches(['[', ']']).trim_end_matches('.');
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    if bare.eq_ignore_ascii_case("localhost") || bare.to_ascii_lowercase().ends_with(".localhost") {
        return Ok(vec![
            SocketAddr::from(([127, 0, 0, 1], port)),
            SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, port)),
        ]);
    }
    (bare, port).to_socket_addrs().map(Iterator::collect)
}

/// A public address, a loopback one where that is what the policy is about, or one that is listed as it is.
fn admits_address(network: &Network, host: &str, ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    match network {
        Network::None => false,
        Network::All => true,
        Network::Localhost => ip.is_loopback(),
        Network::Allowlist(hosts) => {
            let named = ip.is_loopback()
                && crate::network::is_loopback_name(host)
                && hosts.names_exactly(host.trim_matches(['[', ']']));
            is_public(ip) || named || hosts.names_exactly(&ip.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::HostList;

    // SBX-3
    #[test]
    fn an_allowed_name_does_not_open_a_private_address() {
        let list = |entries: &[&str]| Network::Allowlist(HostList::parse(entries).expect("valid"));
        let loopback: IpAddr = "127.0.0.1".parse().expect("an address");
        let metadata: IpAddr = "169.254.169.254".parse().expect("an address");
        let public: IpAddr = "1.1.1.1".parse().expect("an address");
        let rebinding = list(&["evil.test", "*.evil.test"]);
        assert!(admits_address(&rebinding, "evil.test", public));
        for bad in [loopback, metadata, "::ffff:127.0.0.1".parse().expect("an address")] {
            assert!(!admits_address(&rebinding, "evil.test", bad), "{bad}");
        }
        assert!(admits_address(&list(&["localhost"]), "localhost", loopback));
        assert!(!admits_address(&list(&["*.localhost"]), "a.localhost", loopback));
        assert!(admits_address(&list(&["evil.test", "127.0.0.1"]), "evil.test", loopback));
        assert!(admits_address(&Network::Localhost, "localhost", loopback));
        assert!(!admits_address(&Network::Localhost, "localhost", public));
    }
}
