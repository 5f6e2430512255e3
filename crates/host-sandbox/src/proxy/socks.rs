//! The SOCKS5 side (RFC 1928): no authentication, CONNECT alone.

use super::dial::{DialError, dial};
use super::http::Connected;
use super::{EgressLog, Place};
use crate::network::Network;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, TcpStream};

const SUCCEEDED: u8 = 0;
const NOT_ALLOWED: u8 = 2;
const UNREACHABLE: u8 = 4;
const NO_SUCH_COMMAND: u8 = 7;
const NO_SUCH_ADDRESS: u8 = 8;

/// Reads a request whose version byte was read already, and answers it. `Some` = connected; the rest is bytes.
pub(super) fn ask(
    client: &mut TcpStream,
    network: &Network,
    log: &dyn EgressLog,
) -> io::Result<Option<Connected>> {
    let [methods] = read(client)?;
    let mut list = vec![0; usize::from(methods)];
    client.read_exact(&mut list)?;
    if !list.contains(&0) {
        client.write_all(&[5, 0xff])?;
        return Ok(None);
    }
    client.write_all(&[5, 0])?;
    let [version, command, _, kind] = read(client)?;
    if version != 5 {
        return Ok(None);
    }
    let host = match kind {
        1 => Ipv4Addr::from(read::<4>(client)?).to_string(),
        4 => Ipv6Addr::from(read::<16>(client)?).to_string(),
        3 => {
            let [length] = read(client)?;
            let mut name = vec![0; usize::from(length)];
            client.read_exact(&mut name)?;
            match String::from_utf8(name) {
                Ok(name) if !name.is_empty() && !name.contains('\0') => name,
                _ => return refuse(client, NO_SUCH_ADDRESS),
            }
        }
        _ => return refuse(client, NO_SUCH_ADDRESS),
    };
    let port = u16::from_be_bytes(read(client)?);
    if command != 1 {
        return refuse(client, NO_SUCH_COMMAND);
    }
    match dial(network, log, "socks5", &host, port) {
        Ok(upstream) => {
            reply(client, SUCCEEDED)?;
            Ok(Some(Connected { upstream, place: Place { host, port }, request: None }))
        }
        Err(DialError::Denied(_)) => refuse(client, NOT_ALLOWED),
        Err(DialError::Unreachable(_)) => refuse(client, UNREACHABLE),
    }
}

fn read<const N: usize>(client: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn refuse(client: &mut TcpStream, code: u8) -> io::Result<Option<Connected>> {
    reply(client, code).map(|()| None)
}

fn reply(client: &mut TcpStream, code: u8) -> io::Result<()> {
    client.write_all(&[5, code, 0, 1, 0, 0, 0, 0, 0, 0])
}
