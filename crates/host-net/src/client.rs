//! The HTTP client.

use crate::egress::Egress;
use crate::fault::{Refused, from_client, origin_of};
use crate::redirect::{Step, step};
use crate::tls;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use host_ports::BoxFuture;
use host_ports::http::{Http, HttpError, HttpRequest, HttpResponse};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use url::{Host, Url};

/// How long a connection may take to stand.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long an unused connection is kept.
const POOL_IDLE: Duration = Duration::from_secs(60);
/// How many unused connections are kept for one host.
const POOL_PER_HOST: usize = 8;

/// What a client is made with; the default goes straight to anywhere.
#[derive(Clone, Default)]
pub struct NetSettings {
    /// A proxy for all requests (`http://…`), as the operator wrote it. Nothing is read from the
    /// environment. A client with an [`Egress`] rule uses none, since a proxy resolves names itself.
    pub proxy: Option<Url>,
    /// Who may be connected to; `None` = anybody.
    pub egress: Option<Arc<dyn Egress>>,
}

/// The [`Http`] port over real sockets. Cheap to make: the pools and root certificates come with the first
/// request that needs them.
pub struct NetHttp {
    settings: NetSettings,
    plain: OnceLock<Result<reqwest::Client, String>>,
    tls: OnceLock<Result<reqwest::Client, String>>,
}

impl NetHttp {
    /// A client; connects to nothing and loads nothing yet.
    pub fn new(settings: NetSettings) -> Self {
        NetHttp { settings, plain: OnceLock::new(), tls: OnceLock::new() }
    }

    /// A client that goes nowhere but where a rule lets it.
    pub fn confined(egress: Arc<dyn Egress>) -> Self {
        NetHttp::new(NetSettings { proxy: None, egress: Some(egress) })
    }

    /// The pool for a scheme: plain HTTP (a local model server) never waits for root certificates.
    fn client(&self, url: &Url) -> Result<&reqwest::Client, HttpError> {
        let (slot, with_tls) = match url.scheme() {
            "https" => (&self.tls, true),
            "http" if self.settings.proxy.as_ref().is_none_or(|proxy| proxy.scheme() == "http") => {
                (&self.plain, false)
            }
            "http" => (&self.tls, true),
            other => {
                let why = format!("{other}: is no scheme to connect with; use http: or https:");
                return Err(HttpError::Connect { origin: origin_of(url), why });
            }
        };
        let built = slot.get_or_init(|| build(&self.settings, with_tls));
        built.as_ref().map_err(|why| HttpError::Connect { origin: origin_of(url), why: why.clone() })
    }

    /// What the client's resolver never sees: the host as it is written, and literal addresses.
    fn check_host(&self, url: &Url) -> Result<(), HttpError> {
        let Some(egress) = &self.settings.egress else { return Ok(()) };
        let denied = |why| HttpError::Denied { origin: origin_of(url), why };
        let text = url.host_str().ok_or_else(|| denied("it names no host".to_owned()))?;
        egress.host(text, url.port_or_known_default().unwrap_or(0)).map_err(denied)?;
        let literal: Option<IpAddr> = match url.host() {
            Some(Host::Ipv4(v4)) => Some(v4.into()),
            Some(Host::Ipv6(v6)) => Some(v6.into()),
            _ => None,
        };
        literal.map_or(Ok(()), |address| egress.address(text, address).map_err(denied))
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let deadline = Instant::now() + request.head_timeout;
        let mut url = request.url.clone();
        let mut hops = 0;
        loop {
            let origin = origin_of(&url);
            self.check_host(&url)?;
            let mut out = reqwest::Request::new(request.method.clone(), url.clone());
            *out.headers_mut() = request.headers.clone();
            if !request.body.is_empty() {
                *out.body_mut() = Some(request.body.clone().into());
            }
            let sent = timeout_at(deadline, self.client(&url)?.execute(out)).await;
            let response = match sent {
                Err(_) => return Err(HttpError::Timeout { origin, after: request.head_timeout }),
                Ok(Err(error)) => return Err(from_client(&origin, &error)),
                Ok(Ok(response)) => response,
            };
            match step(request.redirects, &url, response.status(), response.headers(), hops)? {
                Step::Keep => return Ok(hand_over(origin, response, request.idle_timeout)),
                Step::Follow(next) => {
                    url = next;
                    hops += 1;
                }
            }
        }
    }
}

impl Http for NetHttp {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        Box::pin(self.exchange(request))
    }
}

fn build(settings: &NetSettings, with_tls: bool) -> Result<reqwest::Client, String> {
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE)
        .pool_max_idle_per_host(POOL_PER_HOST)
        .tcp_nodelay(true);
    // The plain client gets a TLS side without roots: it is never used, and reading roots takes its time.
    let config = if with_tls { tls::config() } else { tls::rootless() };
    builder = builder.tls_backend_preconfigured(config.map_err(|error| error.to_string())?);
    match (&settings.egress, &settings.proxy) {
        (Some(egress), _) => builder = builder.dns_resolver(Arc::new(Checked(egress.clone()))),
        (None, Some(proxy)) => {
            let proxy =
                reqwest::Proxy::all(proxy.clone()).map_err(|_| "the proxy's address is no URL".to_owned())?;
            builder = builder.proxy(proxy);
        }
        (None, None) => {}
    }
    builder.build().map_err(|error| error.without_url().to_string())
}

/// Resolves, checks every address, and hands on exactly what was checked.
struct Checked(Arc<dyn Egress>);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let egress = self.0.clone();
        Box::pin(async move {
            let host = name.as_str();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
            for address in &found {
                egress.address(host, address.ip()).map_err(Refused)?;
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Turns a response into the port's, with the idle time-out over its pieces.
fn hand_over(origin: String, response: reqwest::Response, idle: Option<Duration>) -> HttpResponse {
    let status = response.status();
    let headers = response.headers().clone();
    let pieces = response.bytes_stream().boxed();
    let body = stream::unfold(Some(pieces), move |pieces| {
        let origin = origin.clone();
        async move {
            let mut pieces = pieces?;
            let next = match idle {
                None => Ok(pieces.next().await),
                Some(after) => timeout(after, pieces.next()).await.map_err(|_| after),
            };
            let (item, rest): (Result<Bytes, HttpError>, _) = match next {
                Err(after) => (Err(HttpError::Timeout { origin, after }), None),
                Ok(None) => return None,
                Ok(Some(Ok(piece))) => (Ok(piece), Some(pieces)),
                Ok(Some(Err(error))) => (Err(broken(&origin, &error)), None),
            };
            Some((item, rest))
        }
    });
    HttpResponse { status, headers, body: body.boxed() }
}

/// A fault in the body is never "nothing was sent".
fn broken(origin: &str, error: &reqwest::Error) -> HttpError {
    match from_client(origin, error) {
        HttpError::Connect { origin, why } => HttpError::Broken { origin, why },
        other => other,
    }
}
