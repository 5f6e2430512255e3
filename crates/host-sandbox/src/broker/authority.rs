//! A certificate authority of one run: its key stays in memory, and only the run's children believe it.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::collections::HashMap;
use std::io::Read as _;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The most hosts whose certificates are kept.
const HOSTS_MAX: usize = 256;
/// Where the machine's certificates are, by system.
const MACHINE: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
const MACHINE_BYTES_MAX: u64 = 8 << 20;

/// The machine's own certificates: programs that are pointed to ours need those of all other hosts too.
pub(super) fn machine_certificates() -> Vec<u8> {
    let mut text = Vec::new();
    if let Some(file) = MACHINE.iter().find_map(|path| std::fs::File::open(path).ok()) {
        let _ = file.take(MACHINE_BYTES_MAX).read_to_end(&mut text);
        text.push(b'\n');
    }
    text
}

pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    hosts: Mutex<HashMap<String, Arc<ServerConfig>>>,
}

impl Authority {
    pub(super) fn new() -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name.push(DnType::CommonName, "mono-agent, one run");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Authority { issuer, hosts: Mutex::default() })
    }

    /// Its certificate as text.
    pub(super) fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// How to answer a child in a host's name. The error is a sentence.
    pub(super) fn server(&self, host: &str) -> Result<Arc<ServerConfig>, String> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = hosts.get(host) {
            return Ok(Arc::clone(known));
        }
        let config = Arc::new(self.config(host).map_err(|why| format!("no certificate for {host}: {why}"))?);
        if hosts.len() < HOSTS_MAX {
            hosts.insert(host.to_owned(), Arc::clone(&config));
        }
        Ok(config)
    }

    fn config(&self, host: &str) -> Result<ServerConfig, String> {
        let text = |error: rcgen::Error| error.to_string();
        let mut params = CertificateParams::new(vec![host.to_owned()]).map_err(text)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(text)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(text)?;
        let chain: Vec<CertificateDer<'static>> = vec![certificate.der().clone(), self.issuer.der().clone()];
        let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(str::to_owned)?;
        let provider = rustls::crypto::ring::default_provider();
        let certified = CertifiedKey::from_der(chain, key, &provider).map_err(|error| error.to_string())?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(OneHost { host: host.to_owned(), certified: Arc::new(certified) }));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Answers in the name of one host, and of no other that a client may ask for.
#[derive(Debug)]
struct OneHost {
    host: String,
    certified: Arc<CertifiedKey>,
}

impl ResolvesServerCert for OneHost {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let same = match hello.server_name() {
            Some(name) => name.eq_ignore_ascii_case(&self.host),
            // An address can't be named there (RFC 6066, 3).
            None => self.host.parse::<IpAddr>().is_ok(),
        };
        same.then(|| Arc::clone(&self.certified))
    }
}
