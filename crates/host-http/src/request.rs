//! One HTTP/1.1 request, as far as a request-scoped address needs it.

use std::io;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The longest head, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// What counts of a request's head.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) host: Option<String>,
    pub(crate) bearer: Option<String>,
    pub(crate) length: Option<usize>,
    pub(crate) has_origin: bool,
    /// The client waits for a word before it sends the body.
    pub(crate) expects: bool,
}

/// Reads a head, and what came behind it. `None` for what is none.
pub(crate) async fn head(stream: &mut TcpStream) -> Option<(Head, Vec<u8>)> {
    let mut bytes = Vec::with_capacity(1024);
    loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Some((parse(&bytes)?, rest));
        }
        if bytes.len() > HEAD_BYTES_MAX || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// A header that stands twice, a body in pieces and anything odd make it no request.
fn parse(bytes: &[u8]) -> Option<Head> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut lines = text.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path, version) = (first.next()?, first.next()?, first.next()?);
    if first.next().is_some() || version != "HTTP/1.1" {
        return None;
    }
    let mut head = Head { method: method.to_owned(), path: path.to_owned(), ..Head::default() };
    for line in lines.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        let once = |slot: &mut Option<String>, value: &str| slot.replace(value.to_owned()).is_none();
        match name.to_ascii_lowercase().as_str() {
            "host" if !once(&mut head.host, value) => return None,
            "authorization" => {
                let (scheme, bearer) = value.split_once(' ')?;
                if !scheme.eq_ignore_ascii_case("bearer") || !once(&mut head.bearer, bearer.trim()) {
                    return None;
                }
            }
            "content-length" => {
                if head.length.is_some() || !value.bytes().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                head.length = Some(value.parse().ok()?);
            }
            "transfer-encoding" => return None,
            "origin" => head.has_origin = true,
            "expect" => head.expects = value.eq_ignore_ascii_case("100-continue"),
            name if name.is_empty() || name.contains(char::is_whitespace) => return None,
            _ => {}
        }
    }
    Some(head)
}

/// Reads a body of a known length behind what came with the head.
pub(crate) async fn body(
    stream: &mut TcpStream,
    mut body: Vec<u8>,
    length: usize,
    expects: bool,
) -> Option<Vec<u8>> {
    if expects && body.len() < length {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.ok()?;
    }
    let missing = length.saturating_sub(body.len());
    (&mut *stream).take(missing as u64).read_to_end(&mut body).await.ok()?;
    (body.len() == length).then_some(body)
}

/// Waits until the other side is gone. Bytes behind the request don't count.
pub(crate) async fn gone(stream: &TcpStream) {
    let mut scratch = [0u8; 512];
    loop {
        if stream.readable().await.is_err() {
            return;
        }
        match stream.try_read(&mut scratch) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let head = parse(
            b"POST /a HTTP/1.1\r\nHost: 127.0.0.1:9\r\nAUTHORIZATION: bearer x\r\ncontent-length: 3\r\n\r\n",
        )
        .unwrap();
        assert_eq!((head.method.as_str(), head.path.as_str(), head.length), ("POST", "/a", Some(3)));
        assert_eq!((head.host.as_deref(), head.bearer.as_deref()), (Some("127.0.0.1:9"), Some("x")));
        for bad in [
            "",
            "POST /a\r\n\r\n",
            "POST /a HTTP/1.0\r\n\r\n",
            "POST /a b HTTP/1.1\r\n\r\n",
            "POST /a HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n",
            "POST /a HTTP/1.1\r\ncontent-length: 3\r\ncontent-length: 3\r\n\r\n",
            "POST /a HTTP/1.1\r\ncontent-length: +3\r\n\r\n",
            "POST /a HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n",
            "POST /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
            "POST /a HTTP/1.1\r\nauthorization: Basic eDp5\r\n\r\n",
            "POST /a HTTP/1.1\r\n folded: x\r\n\r\n",
            "POST /a HTTP/1.1\r\nnonsense\r\n\r\n",
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
