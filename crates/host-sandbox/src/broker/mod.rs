//! Secrets that a child uses and never sees (SBX-7): it gets a placeholder, and the host's proxy puts the value
//! in, in the headers and for the hosts that were named, on connections that it opened and checked itself.

mod authority;
mod exchange;
mod head;
mod mask;
mod tls;

pub(crate) use exchange::plain;
pub(crate) use tls::intercept;

use crate::network::HostList;
use authority::Authority;
use host_vocab::Secret;
use rustls::ClientConfig;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// One secret, and where it may go.
#[derive(Debug, Clone)]
pub struct BrokeredSecret {
    /// The variable in which the child finds the placeholder.
    pub env: String,
    /// The value itself.
    pub value: Secret,
    /// The hosts that it may go to.
    pub hosts: HostList,
    /// The headers in which it may stand, in any case. `Host` and what frames a body are none of them.
    pub headers: Vec<String>,
}

/// Who is believed to be a host that a secret goes to.
#[derive(Debug, Clone, Default)]
pub enum Roots {
    /// Whom this machine believes.
    #[default]
    Machine,
    /// Whom these certificates (PEM) vouch for, and nobody else.
    Pem(Vec<u8>),
}

/// What an agent lends to its children.
#[derive(Debug, Clone, Default)]
pub struct Broker {
    /// The secrets.
    pub secrets: Vec<BrokeredSecret>,
    /// Who is believed to be their hosts.
    pub roots: Roots,
}

/// How many runs' placeholders are remembered; an older run's stop to mean anything.
const SESSIONS_MAX: usize = 64;
/// The shortest value that is also taken out of answers: shorter ones stand there by chance.
const MASKED_BYTES_MIN: usize = 8;
/// Where the certificates are inside.
pub(crate) const CERTIFICATES_INSIDE: &str = "/run/mono-agent/certificates.pem";
/// The variables by which programs find certificates.
const CERTIFICATE_VARIABLES: [&str; 10] = [
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "NPM_CONFIG_CAFILE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
];

/// What all runs of an agent share.
pub(crate) struct Broking {
    secrets: Vec<BrokeredSecret>,
    roots: Roots,
    client: OnceLock<Result<Arc<ClientConfig>, String>>,
    sessions: Mutex<VecDeque<(String, Arc<Session>)>>,
}

/// What one run has: its placeholders, and an authority that vouches for the hosts towards its children.
pub(crate) struct Session {
    lent: Vec<Lent>,
    authority: Authority,
    client: Arc<ClientConfig>,
    /// Whom children believe: the machine's certificates and ours.
    pub(crate) certificates: Vec<u8>,
}

/// A secret under its placeholder.
pub(crate) struct Lent {
    secret: BrokeredSecret,
    placeholder: String,
}

impl Broking {
    pub(crate) fn new(broker: Broker) -> Self {
        let usable = |secret: &BrokeredSecret| {
            let value = secret.value.expose();
            let fits = !value.is_empty() && value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
            if !fits {
                tracing::warn!(env = %secret.env, "a secret that is empty or can't stand in a header is not lent");
            }
            fits
        };
        Broking {
            secrets: broker.secrets.into_iter().filter(usable).collect(),
            roots: broker.roots,
            client: OnceLock::new(),
            sessions: Mutex::default(),
        }
    }

    /// The secrets that are lent.
    pub(crate) fn secrets(&self) -> &[BrokeredSecret] {
        &self.secrets
    }

    /// What a run has, made at its first use; without a run, for one child alone. `None` = nothing is lent.
    pub(crate) fn session(&self, run: Option<&str>) -> io::Result<Option<Arc<Session>>> {
        if self.secrets.is_empty() {
            return Ok(None);
        }
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, session)) = sessions.iter().find(|(known, _)| Some(known.as_str()) == run) {
            return Ok(Some(Arc::clone(session)));
        }
        let session = Arc::new(self.fresh()?);
        if let Some(run) = run {
            if sessions.len() >= SESSIONS_MAX {
                sessions.pop_front();
            }
            sessions.push_back((run.to_owned(), Arc::clone(&session)));
        }
        Ok(Some(session))
    }

    fn fresh(&self) -> io::Result<Session> {
        let client =
            self.client.get_or_init(|| tls::client(&self.roots)).clone().map_err(io::Error::other)?;
        let authority = Authority::new().map_err(io::Error::other)?;
        let mut certificates = authority::machine_certificates();
        certificates.extend_from_slice(authority.certificate().as_bytes());
        let lent = self.secrets.iter().map(|secret| {
            let mut random = [0; 16];
            getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
            let placeholder = format!("placeholder-{}", host_vocab::text::hex(&random));
            Ok(Lent { secret: secret.clone(), placeholder })
        });
        Ok(Session { lent: lent.collect::<io::Result<_>>()?, authority, client, certificates })
    }
}

impl Session {
    /// What a child has in its environment.
    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        let certificates =
            CERTIFICATE_VARIABLES.map(|name| (name.to_owned(), CERTIFICATES_INSIDE.to_owned()));
        let lent = self.lent.iter().map(|lent| (lent.secret.env.clone(), lent.placeholder.clone()));
        certificates.into_iter().chain(lent).collect()
    }

    /// Whether a secret may go to a host.
    pub(crate) fn covers(&self, host: &str) -> bool {
        self.for_host(host).next().is_some()
    }

    fn for_host(&self, host: &str) -> impl Iterator<Item = &Lent> {
        self.lent.iter().filter(move |lent| lent.secret.hosts.admits(host))
    }
}
