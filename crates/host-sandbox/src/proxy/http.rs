//! The HTTP side: CONNECT (RFC 9110, 9.3.6) and plain requests with an absolute address (RFC 9112, 3.2.2).

use super::dial::{DialError, dial};
use super::{EgressLog, Place};
use crate::network::Network;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

/// The longest request head.
const HEAD_BYTES_MAX: usize = 32 * 1024;

/// A client that is connected to where it wanted to go.
pub(super) struct Connected {
    pub(super) upstream: TcpStream,
    pub(super) place: Place,
    /// The head of a plain request, which is still to be sent; with none the rest is bytes.
    pub(super) request: Option<Vec<u8>>,
}

struct Target {
    place: Place,
    /// What is sent on before the client's own bytes; empty for CONNECT.
    head: Vec<u8>,
    connect: bool,
}

/// Reads a request whose first byte was read already, and answers it. `Some` = connected.
pub(super) fn ask(
    client: &mut TcpStream,
    first: u8,
    network: &Network,
    log: &dyn EgressLog,
) -> io::Result<Option<Connected>> {
    let head = read_head(client, first)?;
    let Some(target) = parse(&head) else {
        answer(client, "400 Bad Request", "this proxy takes CONNECT host:port and plain http:// requests")?;
        return Ok(None);
    };
    let protocol = if target.connect { "connect" } else { "http" };
    match dial(network, log, protocol, &target.place.host, target.place.port) {
        Ok(upstream) => {
            if target.connect {
                client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            }
            let request = (!target.connect).then_some(target.head);
            Ok(Some(Connected { upstream, place: target.place, request }))
        }
        Err(DialError::Denied(why)) => answer(client, "403 Forbidden", &why).map(|()| None),
        Err(DialError::Unreachable(why)) => answer(client, "502 Bad Gateway", &why).map(|()| None),
    }
}

fn answer(client: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let body = format!("{why}\n");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}

/// Byte by byte, so that nothing of what follows the head is taken.
fn read_head(client: &mut TcpStream, first: u8) -> io::Result<Vec<u8>> {
    let mut head = vec![first];
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= HEAD_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the request's head is too long"));
        }
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(head)
}

fn parse(head: &[u8]) -> Option<Target> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, address, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = authority(address, None)?;
        return Some(Target { place: Place { host, port }, head: Vec::new(), connect: true });
    }
    let rest =
        address.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://")).map(|_| &address[7..])?;
    let (place, path) = match rest.find(['/', '?']) {
        Some(at) if rest.as_bytes()[at] == b'/' => (&rest[..at], rest[at..].to_owned()),
        Some(at) => (&rest[..at], format!("/{}", &rest[at..])),
        None => (rest, "/".to_owned()),
    };
    let (host, port) = authority(place, Some(80))?;
    // One request per connection, to the host that was checked and to no other.
    let mut out = format!("{method} {path} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n");
    for line in lines.take_while(|line| !line.is_empty()) {
        let name = line.split(':').next()?.trim().to_ascii_lowercase();
        if line.starts_with([' ', '\t']) {
            return None;
        }
        if !matches!(name.as_str(), "host" | "connection" | "keep-alive") && !name.starts_with("proxy-") {
            out.push_str(line);
            out.push_str("\r\n");
        }
    }
    out.push_str("\r\n");
    Some(Target { place: Place { host, port }, head: out.into_bytes(), connect: false })
}

/// `host:port`, `[v6]:port`; user names are refused.
fn authority(text: &str, port_default: Option<u16>) -> Option<(String, u16)> {
    if text.is_empty() || text.contains('@') {
        return None;
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (host, after.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().ok()?,
        None => port_default?,
    };
    let plain = !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:".contains(&b));
    (plain && port != 0).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    // SBX-3
    #[test]
    fn a_plain_request_goes_to_the_host_of_its_address_whatever_its_headers_say() {
        let request =
            b"GET http://a.test:81/x?y HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: z\r\nA: b\r\n\r\n";
        let target = parse(request).expect("a request");
        assert_eq!((target.place.host.as_str(), target.place.port, target.connect), ("a.test", 81, false));
        let head = String::from_utf8(target.head).expect("text");
        assert_eq!(head, "GET /x?y HTTP/1.1\r\nHost: a.test:81\r\nConnection: close\r\nA: b\r\n\r\n");
    }

    #[test]
    fn odd_requests_are_refused() {
        for bad in [
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT a.test HTTP/1.1\r\n\r\n",
            "CONNECT u@a.test:1 HTTP/1.1\r\n\r\n",
            "GET https://a.test/ HTTP/1.1\r\n\r\n",
            "CONNECT a.test:0 HTTP/1.1\r\n\r\n",
            "X\r\n\r\n",
            "CONNECT a/b:1 HTTP/1.1\r\n\r\n",
            "GET http://a.test/ HTTP/2\r\n\r\n",
        ] {
            assert!(parse(bad.as_bytes()).is_none(), "{bad:?}");
        }
        assert!(parse(b"CONNECT [::1]:80 HTTP/1.1\r\n\r\n").is_some());
    }
}
