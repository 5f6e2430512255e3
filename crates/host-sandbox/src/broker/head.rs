//! The head of a request (RFC 9112): read, checked against the host that was asked for, and changed.

use super::{MASKED_BYTES_MIN, Session};
use crate::proxy::Place;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io::{self, Read};

/// The longest head.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Headers of one connection, which are not passed on (RFC 9110, 7.6.1); and what we do in another way.
const OF_A_CONNECTION: [&str; 8] = [
    "connection",
    "keep-alive",
    "te",
    "upgrade",
    "proxy-connection",
    "proxy-authorization",
    "expect",
    "accept-encoding",
];

/// How long a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Length(u64),
    Chunked,
}

/// A request that may go on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Its head, with the values in their places.
    pub(super) head: Vec<u8>,
    pub(super) body: Body,
    /// Whether the client waits for a word before it sends its body.
    pub(super) waits: bool,
    /// What was put in: (the variable, the header).
    pub(super) used: Vec<(String, String)>,
    /// What must not come back.
    pub(super) secrets: Vec<Vec<u8>>,
}

/// Reads a head byte by byte, so that nothing of what follows is taken.
pub(super) fn read(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= HEAD_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a head is too long"));
        }
        from.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(head)
}

/// A host without brackets and a last dot, in lower case.
pub(super) fn bare_host(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

/// Checks a request and puts the values in. The error is a sentence.
pub(super) fn prepare(session: &Session, place: &Place, head: &[u8]) -> Result<Request, &'static str> {
    let text = std::str::from_utf8(head).map_err(|_| "the request's head is not text")?;
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let words: Vec<&str> = first.split(' ').collect();
    let &[method, target, "HTTP/1.1" | "HTTP/1.0"] = words.as_slice() else {
        return Err("the request's first line is not one of HTTP/1.1");
    };
    let names_a_path = target.starts_with('/') || (method == "OPTIONS" && target == "*");
    if !names_a_path {
        return Err("the request must name a path, not a whole address");
    }
    let mut request = Request {
        head: format!("{method} {target} HTTP/1.1\r\n").into_bytes(),
        body: Body::Length(0),
        waits: false,
        used: Vec::new(),
        secrets: Vec::new(),
    };
    let (mut hosts, mut length, mut chunked) = (0, None, false);
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').ok_or("a header has no colon")?;
        if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
            || name.is_empty()
        {
            return Err("a header's name is not one");
        }
        if value.contains(['\r', '\n', '\0']) {
            return Err("a header's value has a line break in it");
        }
        let (name, value) = (name.to_ascii_lowercase(), value.trim_matches([' ', '\t']));
        match name.as_str() {
            "host" => {
                hosts += 1;
                if !is_place(place, value) {
                    return Err("the Host header names another host than the one that was connected to");
                }
            }
            "content-length" => {
                let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
                let parsed =
                    value.parse::<u64>().ok().filter(|_| digits).ok_or("Content-Length is no number")?;
                if length.replace(parsed).is_some() {
                    return Err("there is more than one Content-Length");
                }
            }
            "transfer-encoding" => {
                if chunked || !value.eq_ignore_ascii_case("chunked") {
                    return Err("no Transfer-Encoding but chunked is taken");
                }
                chunked = true;
            }
            "expect" => request.waits = value.eq_ignore_ascii_case("100-continue"),
            _ => {}
        }
        if !OF_A_CONNECTION.contains(&name.as_str()) {
            let value = put_in(session, place, &name, value, &mut request);
            request.head.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
    }
    if hosts != 1 {
        return Err("there must be exactly one Host header");
    }
    request.body = match (length, chunked) {
        (Some(_), true) => return Err("there are both Content-Length and Transfer-Encoding"),
        (None, true) => Body::Chunked,
        (length, false) => Body::Length(length.unwrap_or(0)),
    };
    // One request a connection, and an answer that can be looked through.
    request.head.extend_from_slice(b"connection: close\r\naccept-encoding: identity\r\n\r\n");
    Ok(request)
}

/// Whether a Host header names the place that was connected to.
fn is_place(place: &Place, value: &str) -> bool {
    let (host, port) = match value.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (value, None),
    };
    bare_host(host) == bare_host(&place.host) && port.is_none_or(|port| port.parse() == Ok(place.port))
}

/// A header's value with the values of secrets in it, where they may stand in this header.
fn put_in(session: &Session, place: &Place, name: &str, value: &str, request: &mut Request) -> String {
    let mut value = value.to_owned();
    for lent in session.for_host(&place.host) {
        let frames = matches!(name, "host" | "content-length" | "transfer-encoding");
        if frames || !lent.secret.headers.iter().any(|header| header.eq_ignore_ascii_case(name)) {
            continue;
        }
        let secret = lent.secret.value.expose();
        let changed = if value.contains(&lent.placeholder) {
            Some(value.replace(&lent.placeholder, secret))
        } else {
            in_basic(&value, &lent.placeholder, secret)
        };
        if let Some(changed) = changed {
            request.used.push((lent.secret.env.clone(), name.to_owned()));
            request.secrets.push(secret.as_bytes().to_vec());
            if let Some((_, credentials)) = changed.split_once(' ') {
                request.secrets.push(credentials.as_bytes().to_vec());
            }
            value = changed;
        }
    }
    request.secrets.retain(|secret| secret.len() >= MASKED_BYTES_MIN);
    value
}

/// The same in `Basic` credentials (RFC 7617), where the placeholder is a part of what is encoded.
fn in_basic(value: &str, placeholder: &str, secret: &str) -> Option<String> {
    let (scheme, encoded) =
        value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))?;
    let plain = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    plain
        .contains(placeholder)
        .then(|| format!("{scheme} {}", STANDARD.encode(plain.replace(placeholder, secret))))
}

/// An answer's head for a connection that ends with it. The error says that it is none.
pub(super) fn answer(head: &[u8]) -> io::Result<Vec<u8>> {
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "the host's answer is not one of HTTP/1.1");
    if !head.starts_with(b"HTTP/1.") {
        return Err(broken());
    }
    let end = head.len().checked_sub(4).ok_or_else(broken)?;
    let mut out = Vec::with_capacity(head.len() + 24);
    for (place, line) in head[..end].split(|&byte| byte == b'\n').enumerate() {
        let name: Vec<u8> =
            line.iter().take_while(|&&byte| byte != b':').map(u8::to_ascii_lowercase).collect();
        if place == 0 || !matches!(name.as_slice(), b"connection" | b"keep-alive") {
            out.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(b"connection: close\r\n\r\n");
    Ok(out)
}

/// Whether an answer's head is only an interim one (RFC 9110, 15.2).
pub(super) fn is_interim(head: &[u8]) -> bool {
    head.get(9..12).is_some_and(|code| code[0] == b'1' && code != b"101")
}
