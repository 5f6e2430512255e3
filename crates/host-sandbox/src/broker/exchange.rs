//! One request and its answer.

use super::Session;
use super::head::{self, Body, Request};
use super::mask::Mask;
use crate::proxy::{EgressDecision, EgressLog, Place};
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// The longest line that says how long a chunk is, and the longest trailer.
const LINE_BYTES_MAX: usize = 8 * 1024;
/// Interim answers before the real one.
const INTERIM_MAX: usize = 16;

/// Why a request goes no further.
pub(super) struct Refused {
    pub(super) status: &'static str,
    pub(super) why: String,
}

/// Tells the client.
pub(super) fn refuse(client: &mut impl Write, refused: &Refused) -> io::Result<()> {
    let (status, body) = (refused.status, format!("{}\n", refused.why));
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())?;
    client.flush()
}

/// The same without TLS: only on this machine's own loopback.
pub(crate) fn plain(
    session: &Session,
    log: &dyn EgressLog,
    place: &Place,
    request: &[u8],
    client: &mut TcpStream,
    upstream: &mut TcpStream,
) -> io::Result<()> {
    exchange(session, log, place, request, client, upstream)
}

/// Sends a request on with the values in it, and its answer back without them.
pub(super) fn exchange<C: Read + Write, U: Read + Write>(
    session: &Session,
    log: &dyn EgressLog,
    place: &Place,
    request: &[u8],
    client: &mut C,
    upstream: &mut U,
) -> io::Result<()> {
    let request = match head::prepare(session, place, request) {
        Ok(request) => request,
        Err(why) => {
            let status = "400 Bad Request";
            tell(log, place, false, why.to_owned());
            return refuse(client, &Refused { status, why: why.to_owned() });
        }
    };
    for (env, header) in &request.used {
        tell(log, place, true, format!("the value of {env} was put into the header {header}"));
    }
    if request.waits {
        client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        client.flush()?;
    }
    // A host may answer before it has read everything: its answer says more than our failure to send.
    let sent = send(&request, client, upstream);
    match answer(request.secrets, client, upstream) {
        Err(error) => sent.and(Err(error)),
        Ok(()) => Ok(()),
    }
}

fn tell(log: &dyn EgressLog, place: &Place, allowed: bool, why: String) {
    let Place { host, port } = place.clone();
    log.decided(&EgressDecision { host, port, protocol: "broker", allowed, address: None, why });
}

fn send(request: &Request, client: &mut impl Read, upstream: &mut impl Write) -> io::Result<()> {
    upstream.write_all(&request.head)?;
    match request.body {
        Body::Length(length) => copy_exactly(client, upstream, length)?,
        Body::Chunked => copy_chunks(client, upstream)?,
    }
    upstream.flush()
}

fn copy_exactly(from: &mut impl Read, to: &mut impl Write, length: u64) -> io::Result<()> {
    let copied = io::copy(&mut from.take(length), to)?;
    if copied == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn copy_chunks(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    loop {
        let line = read_line(from)?;
        let digits = line.split(|&byte| byte == b';' || byte == b'\r').next().unwrap_or_default();
        let size = std::str::from_utf8(digits).ok().map(str::trim);
        let size = size.filter(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_hexdigit()));
        let size = size.and_then(|it| u64::from_str_radix(it, 16).ok());
        let size = size.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a chunk has no size"))?;
        to.write_all(format!("{size:x}\r\n").as_bytes())?;
        if size == 0 {
            break;
        }
        copy_exactly(from, to, size)?;
        if read_line(from)? != b"\r\n" {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a chunk is longer than it says"));
        }
        to.write_all(b"\r\n")?;
    }
    // Trailers are dropped: nothing that we looked at stands in them.
    while read_line(from)? != b"\r\n" {}
    to.write_all(b"\r\n")
}

fn read_line(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let (mut line, mut byte) = (Vec::new(), [0; 1]);
    while !line.ends_with(b"\r\n") {
        if line.len() >= LINE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line of a body is too long"));
        }
        from.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    Ok(line)
}

/// Passes the answer back until the host closes, as it was asked to.
fn answer(secrets: Vec<Vec<u8>>, client: &mut impl Write, upstream: &mut impl Read) -> io::Result<()> {
    let mut mask = Mask::new(secrets);
    let mut interim = 0;
    let head = loop {
        let head = head::read(upstream)?;
        if !head::is_interim(&head) {
            break head;
        }
        interim += 1;
        if interim > INTERIM_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the host never answers"));
        }
    };
    client.write_all(&mask.push(&head::answer(&head)?))?;
    let mut chunk = vec![0; 32 * 1024];
    loop {
        match upstream.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => {
                client.write_all(&mask.push(&chunk[..n]))?;
                client.flush()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A host that hangs up without the last word of TLS: what came was checked and is passed on.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
    }
    client.write_all(&mask.finish())?;
    client.flush()
}
