//! TLS: rustls on ring, with the machine's own root certificates.

use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;

/// Builds the TLS side of a client. The provider is named here and not installed for the process, so that
/// a library that embeds us keeps its own choice.
pub(crate) fn config() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for fault in &found.errors {
        tracing::debug!(%fault, "root certificates");
    }
    // A single odd certificate in the store is skipped; with none at all every handshake fails and says so.
    roots.add_parsable_certificates(found.certs);
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The same without any root certificate, for connections that use no TLS.
pub(crate) fn rootless() -> Result<ClientConfig, rustls::Error> {
    Ok(ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}
