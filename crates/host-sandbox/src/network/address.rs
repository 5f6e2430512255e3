//! Which addresses are anybody's, and which are this machine's or its neighbours'.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is on the public internet: not loopback, private, link-local (metadata services live
/// there), shared, documentation, multicast or reserved; also in its IPv6-mapped and translated forms.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4_is_public(v4),
        IpAddr::V6(v6) => match embedded_v4(v6) {
            Some(v4) => v4_is_public(v4),
            None => v6_is_public(v6),
        },
    }
}

fn v4_is_public(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    !(v4.is_loopback()
        || v4.is_private()
        || v4.is_link_local()
        || v4.is_broadcast()
        || v4.is_documentation()
        || v4.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19)))
}

fn v6_is_public(v6: Ipv6Addr) -> bool {
    let first = v6.segments()[0];
    // Only 2000::/3 is handed out; the documentation block lies inside of it.
    (first & 0xe000) == 0x2000 && !(first == 0x2001 && v6.segments()[1] == 0x0db8)
}

/// The IPv4 address that an IPv6 one stands for: mapped, compatible, 6to4 or NAT64.
fn embedded_v4(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = v6.segments();
    let low = || Ipv4Addr::from((u32::from(s[6]) << 16) | u32::from(s[7]));
    if let Some(v4) = v6.to_ipv4_mapped() {
        return Some(v4);
    }
    match s {
        [0, 0, 0, 0, 0, 0, hi, lo] if hi != 0 || lo > 1 => Some(low()),
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some(low()),
        [0x2002, a, b, ..] => Some(Ipv4Addr::from((u32::from(a) << 16) | u32::from(b))),
        _ => None,
    }
}

/// Whether a name or literal means this machine whatever a resolver says.
pub(crate) fn is_loopback_name(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost"
        || host.ends_with(".localhost")
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    // SBX-3
    #[test]
    fn only_public_addresses_are_public() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "::7f00:1",
            "ff02::1",
            "2001:db8::1",
        ] {
            assert!(!is_public(private.parse().expect("an address")), "{private}");
        }
        for public in ["1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8"] {
            assert!(is_public(public.parse().expect("an address")), "{public}");
        }
    }

    #[test]
    fn loopback_names_are_known_in_every_spelling() {
        for name in
            ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "::ffff:127.0.0.1"]
        {
            assert!(is_loopback_name(name), "{name}");
        }
        assert!(!is_loopback_name("localhost.evil.test"));
    }
}
