//! Between a child and a host that a secret may go to: TLS on both sides, in between a request at a time.

use super::exchange::{Refused, exchange, refuse};
use super::{Roots, Session, head};
use crate::proxy::{EgressLog, Place};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection, StreamOwned};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;

/// The side towards the hosts. The error is a sentence.
pub(super) fn client(roots: &Roots) -> Result<Arc<ClientConfig>, String> {
    let mut store = RootCertStore::empty();
    let believed: Vec<CertificateDer<'static>> = match roots {
        Roots::Machine => rustls_native_certs::load_native_certs().certs,
        Roots::Pem(pem) => CertificateDer::pem_slice_iter(pem).flatten().collect(),
    };
    store.add_parsable_certificates(believed);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Serves a child that begins TLS with such a host, over a connection to the host that was checked.
pub(crate) fn intercept(
    session: &Session,
    log: &dyn EgressLog,
    place: &Place,
    client: TcpStream,
    upstream: TcpStream,
) -> io::Result<()> {
    let host = head::bare_host(&place.host);
    let config = session.authority.server(&host).map_err(io::Error::other)?;
    let server = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut client = StreamOwned::new(server, client);
    let request = head::read(&mut client)?;
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::clone(&session.client), name).map_err(io::Error::other)?;
    let mut upstream = StreamOwned::new(connection, upstream);
    // Before anything of the request goes there, it must have shown who it is.
    if let Err(error) = upstream.conn.complete_io(&mut upstream.sock) {
        let why = format!("the host could not show that it is {}: {error}", place.host);
        return refuse(&mut client, &Refused { status: "502 Bad Gateway", why });
    }
    let done = exchange(session, log, place, &request, &mut client, &mut upstream);
    client.conn.send_close_notify();
    let _ = client.conn.complete_io(&mut client.sock);
    done
}
