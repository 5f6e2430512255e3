//! What kind of place an address is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of place an address is. Everything but [`AddressKind::Public`] is refused to a tool that may
/// fetch what a model names (TOO-4), unless it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressKind {
    /// The open Internet.
    Public,
    /// This machine (127.0.0.0/8, ::1).
    Loopback,
    /// A private network (RFC 1918, RFC 6598, RFC 4193).
    Private,
    /// The local link (169.254.0.0/16, fe80::/10).
    LinkLocal,
    /// A cloud's metadata service.
    Metadata,
    /// The unspecified address, which many systems take for this machine.
    Unspecified,
    /// Many receivers.
    Multicast,
    /// Set aside for documentation, benchmarks, protocols or the future.
    Reserved,
}

impl AddressKind {
    /// The kind in words, for an error.
    pub const fn as_str(self) -> &'static str {
        match self {
            AddressKind::Public => "public",
            AddressKind::Loopback => "loopback",
            AddressKind::Private => "private",
            AddressKind::LinkLocal => "link-local",
            AddressKind::Metadata => "cloud metadata",
            AddressKind::Unspecified => "unspecified",
            AddressKind::Multicast => "multicast",
            AddressKind::Reserved => "reserved",
        }
    }
}

/// Says what kind of place an address is. IPv4 addresses inside IPv6 (mapped, compatible, 6to4, NAT64,
/// Teredo) are judged as the IPv4 address that they lead to.
pub fn classify(address: IpAddr) -> AddressKind {
    match address {
        IpAddr::V4(v4) => classify_v4(v4),
        IpAddr::V6(v6) => classify_v6(v6),
    }
}

fn classify_v4(address: Ipv4Addr) -> AddressKind {
    let [a, b, c, _] = address.octets();
    // Alibaba's metadata service sits in the shared range, Oracle's classic one in 192.0.0.0/24.
    if matches!(
        address.octets(),
        [169, 254, 169, 254] | [169, 254, 170, 2 | 23] | [100, 100, 100, 200] | [192, 0, 0, 192]
    ) || address.octets() == [168, 63, 129, 16]
    {
        return AddressKind::Metadata;
    }
    match (a, b, c) {
        (0, 0, 0) if address.is_unspecified() => AddressKind::Unspecified,
        (0, ..) => AddressKind::Reserved,
        (127, ..) => AddressKind::Loopback,
        (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => AddressKind::Private,
        (169, 254, _) => AddressKind::LinkLocal,
        (224..=239, ..) => AddressKind::Multicast,
        (192, 0, 0 | 2)
        | (198, 18 | 19, _)
        | (198, 51, 100)
        | (203, 0, 113)
        | (192, 88, 99)
        | (240.., ..) => AddressKind::Reserved,
        _ => AddressKind::Public,
    }
}

fn classify_v6(address: Ipv6Addr) -> AddressKind {
    if address.is_unspecified() {
        return AddressKind::Unspecified;
    }
    if address.is_loopback() {
        return AddressKind::Loopback;
    }
    if let Some(inner) = inner_v4(address) {
        return classify_v4(inner);
    }
    let [first, second, ..] = address.segments();
    // AWS answers metadata on fd00:ec2::254 and its neighbours.
    if first == 0xfd00 && second == 0x0ec2 {
        return AddressKind::Metadata;
    }
    match first {
        0xfc00..=0xfdff => AddressKind::Private,
        0xfe80..=0xfebf => AddressKind::LinkLocal,
        0xfec0..=0xfeff => AddressKind::Private,
        0xff00..=0xffff => AddressKind::Multicast,
        0x2001 if second == 0x0db8 || second < 0x0200 => AddressKind::Reserved,
        0x2000..=0x3ffe => AddressKind::Public,
        _ => AddressKind::Reserved,
    }
}

/// The IPv4 address that an IPv6 address is a clothing of.
fn inner_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = address.segments();
    let tail = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match s {
        // ::ffff:a.b.c.d and ::ffff:0:a.b.c.d
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => Some(tail(high, low)),
        // ::a.b.c.d
        [0, 0, 0, 0, 0, 0, high, low] => Some(tail(high, low)),
        // 6to4
        [0x2002, high, low, ..] => Some(tail(high, low)),
        // NAT64
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(tail(high, low)),
        [0x64, 0xff9b, 1, .., high, low] => Some(tail(high, low)),
        // Teredo keeps the client's address inverted in its last bits.
        [0x2001, 0, .., high, low] => Some(tail(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> AddressKind {
        classify(text.parse().unwrap())
    }

    // TOO-4
    #[test]
    fn only_the_open_internet_is_public() {
        let table = [
            ("8.8.8.8", AddressKind::Public),
            ("1.1.1.1", AddressKind::Public),
            ("172.15.0.1", AddressKind::Public),
            ("172.32.0.1", AddressKind::Public),
            ("100.63.0.1", AddressKind::Public),
            ("2606:4700::1111", AddressKind::Public),
            ("127.0.0.1", AddressKind::Loopback),
            ("127.9.9.9", AddressKind::Loopback),
            ("::1", AddressKind::Loopback),
            ("0.0.0.0", AddressKind::Unspecified),
            ("0.1.2.3", AddressKind::Reserved),
            ("::", AddressKind::Unspecified),
            ("10.0.0.1", AddressKind::Private),
            ("172.16.0.1", AddressKind::Private),
            ("172.31.255.255", AddressKind::Private),
            ("192.168.1.1", AddressKind::Private),
            ("100.64.0.1", AddressKind::Private),
            ("fc00::1", AddressKind::Private),
            ("fd12:3456::1", AddressKind::Private),
            ("fec0::1", AddressKind::Private),
            ("169.254.1.1", AddressKind::LinkLocal),
            ("fe80::1", AddressKind::LinkLocal),
            ("169.254.169.254", AddressKind::Metadata),
            ("169.254.170.2", AddressKind::Metadata),
            ("100.100.100.200", AddressKind::Metadata),
            ("168.63.129.16", AddressKind::Metadata),
            ("fd00:ec2::254", AddressKind::Metadata),
            ("224.0.0.1", AddressKind::Multicast),
            ("ff02::1", AddressKind::Multicast),
            ("255.255.255.255", AddressKind::Reserved),
            ("192.0.2.1", AddressKind::Reserved),
            ("198.18.0.1", AddressKind::Reserved),
            ("2001:db8::1", AddressKind::Reserved),
        ];
        for (text, expected) in table {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    // TOO-4
    #[test]
    fn a_v4_address_in_v6_clothes_is_still_seen() {
        for text in [
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "2002:a9fe:a9fe::",
            "64:ff9b::169.254.169.254",
            "2001:0:1:2:3:4:5601:5601",
        ] {
            assert_eq!(kind(text), AddressKind::Metadata, "{text}");
        }
        assert_eq!(kind("::ffff:10.0.0.1"), AddressKind::Private);
        assert_eq!(kind("::ffff:8.8.8.8"), AddressKind::Public);
    }
}
