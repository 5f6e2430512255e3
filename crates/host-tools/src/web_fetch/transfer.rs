//! Gets a response: each hop is checked, each byte is counted, and faults that pass are tried again.

use super::request::{Request, check_scheme_and_user};
use super::settings::WebFetchSettings;
use host_ports::http::{BoundedBody, Http, HttpError, HttpRequest, HttpResponse, Redirects};
use host_surface::ToolError;
use http::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER, USER_AGENT,
};
use http::{Method, StatusCode};
use std::time::Duration;
use url::Url;

const AGENT: &str = concat!("mono-agent/", env!("CARGO_PKG_VERSION"), " (WebFetch)");
const ACCEPTED: &str = "text/markdown, text/html, application/xhtml+xml, application/json;q=0.9, application/xml;q=0.8, */*;q=0.5";

/// A response with all of its body.
#[derive(Debug, Clone)]
pub(super) struct Fetched {
    /// Where it came from in the end.
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) content_type: Option<String>,
    pub(super) body: Vec<u8>,
    pub(super) redirects: u32,
}

/// What it took.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) attempts: u32,
    pub(super) redirects: u32,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum TransferError {
    /// The network policy or the address forbids a hop.
    #[error("{why}")]
    Denied { why: String, redirected: bool },
    /// A redirect leads to an address that is no page's.
    #[error("{0}")]
    BadRedirect(ToolError),
    /// The server sends around in circles, or nowhere.
    #[error("{0}")]
    Redirects(String),
    /// The body is over the bound.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// No answer, after all tries.
    #[error("{0}")]
    Unreachable(String),
    /// The time of the whole call is over.
    #[error("the call took longer than {0:?}")]
    Deadline(Duration),
}

/// Fetches, within the time of the whole call.
pub(super) async fn fetch(
    http: &dyn Http,
    request: &Request,
    settings: &WebFetchSettings,
) -> (Tally, Result<Fetched, TransferError>) {
    let mut tally = Tally::default();
    let total = settings.limits.total;
    let result = tokio::time::timeout(total, follow(http, request, settings, &mut tally)).await;
    (tally, result.unwrap_or(Err(TransferError::Deadline(total))))
}

async fn follow(
    http: &dyn Http,
    request: &Request,
    settings: &WebFetchSettings,
    tally: &mut Tally,
) -> Result<Fetched, TransferError> {
    let mut url = request.url.clone();
    let mut waits = settings.limits.waits.iter();
    loop {
        tally.attempts += 1;
        let outcome = exchange(http, request, settings, &url, tally.redirects > 0).await;
        let fetched = match outcome {
            Ok(fetched) => fetched,
            Err(Fault::Final(error)) => return Err(error),
            Err(Fault::Passing(why)) => match waits.next() {
                Some(wait) => {
                    tokio::time::sleep(*wait).await;
                    continue;
                }
                None => return Err(TransferError::Unreachable(why)),
            },
        };
        if let Some(next) = redirect(&fetched) {
            let next = next?;
            if tally.redirects >= settings.limits.redirects_max {
                let why = format!("the server redirects more than {} times", settings.limits.redirects_max);
                return Err(TransferError::Redirects(why));
            }
            check_hop(&next, settings)?;
            tally.redirects += 1;
            // A hop is part of the same attempt.
            tally.attempts -= 1;
            url = next;
            continue;
        }
        let passing = matches!(fetched.status.as_u16(), 408 | 425 | 429 | 500..=599);
        let Some(wait) = passing.then(|| waits.next()).flatten() else {
            return Ok(Fetched { redirects: tally.redirects, ..fetched });
        };
        match retry_after(&fetched.headers) {
            Some(asked) if asked > settings.limits.retry_after_max => {
                return Ok(Fetched { redirects: tally.redirects, ..fetched });
            }
            asked => tokio::time::sleep(asked.unwrap_or(*wait)).await,
        }
    }
}

/// Whether a fault is worth another try.
enum Fault {
    Passing(String),
    Final(TransferError),
}

async fn exchange(
    http: &dyn Http,
    request: &Request,
    settings: &WebFetchSettings,
    url: &Url,
    redirected: bool,
) -> Result<Fetched, Fault> {
    let limits = &settings.limits;
    let mut out = HttpRequest::new(Method::GET, url.clone());
    out.headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    out.headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
    out.headers.extend(request.headers.clone());
    out.head_timeout = limits.request;
    out.idle_timeout = Some(limits.request);
    out.redirects = Redirects::Return;
    let work = async {
        let response = http.send(out).await?;
        let (status, headers) = (response.status, response.headers.clone());
        let body = body(response, limits.body_bytes_max).await?;
        Ok::<_, HttpError>((status, headers, body))
    };
    let (status, headers, body) = match tokio::time::timeout(limits.request, work).await {
        Err(_) => return Err(Fault::Passing(format!("no whole answer within {:?}", limits.request))),
        Ok(Err(error)) => return Err(fault(error, redirected)),
        Ok(Ok(done)) => done,
    };
    let Some(body) = body else { return Err(Fault::Final(TransferError::TooLarge(limits.body_bytes_max))) };
    let content_type = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).map(str::to_owned);
    Ok(Fetched { url: url.clone(), status, headers, content_type, body, redirects: 0 })
}

/// The body, or `None` where it is over the bound. Of a redirect nothing is read.
async fn body(response: HttpResponse, bytes_max: usize) -> Result<Option<Vec<u8>>, HttpError> {
    if is_redirect(response.status) && response.headers.contains_key(LOCATION) {
        return Ok(Some(Vec::new()));
    }
    let announced = response.headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|it| it > bytes_max as u64) {
        return Ok(None);
    }
    let BoundedBody { bytes, cut } = response.read_bounded(bytes_max).await?;
    Ok((!cut).then_some(bytes))
}

fn fault(error: HttpError, redirected: bool) -> Fault {
    match error {
        HttpError::Denied { origin, why } => {
            let why = format!("{origin} is refused: {why}");
            Fault::Final(TransferError::Denied { why, redirected })
        }
        HttpError::RedirectRefused { target, .. } => {
            Fault::Final(TransferError::Redirects(format!("the redirect to {target} is refused")))
        }
        HttpError::Connect { origin, why } => Fault::Passing(format!("no connection to {origin}: {why}")),
        HttpError::Broken { origin, why } => {
            Fault::Passing(format!("the connection to {origin} broke: {why}"))
        }
        HttpError::Timeout { origin, after } => {
            Fault::Passing(format!("{origin} did not answer within {after:?}"))
        }
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Where a response sends to; `None` = it is one to read.
fn redirect(fetched: &Fetched) -> Option<Result<Url, TransferError>> {
    if !is_redirect(fetched.status) {
        return None;
    }
    let place = fetched.headers.get(LOCATION)?;
    let next = std::str::from_utf8(place.as_bytes()).ok().and_then(|it| fetched.url.join(it.trim()).ok());
    let broken =
        || TransferError::Redirects("the server redirects to an address that can't be read".to_owned());
    Some(next.map(without_fragment).ok_or_else(broken))
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

/// The rules of the first address hold for every later one.
fn check_hop(next: &Url, settings: &WebFetchSettings) -> Result<(), TransferError> {
    check_scheme_and_user(next).map_err(|mut error| {
        error.message = format!("the server redirects to an address that is refused: {}", error.message);
        TransferError::BadRedirect(error)
    })?;
    if settings.reach.admits(next) {
        return Ok(());
    }
    let host = next.host_str().unwrap_or_default();
    let policy = settings.reach.as_str();
    let why = format!(
        "the server redirects to {host}, which the network policy ({policy}) does not let this agent reach"
    );
    Err(TransferError::Denied { why, redirected: true })
}

/// The wait that a server asks for, where it gives it in seconds; a date counts as too long to wait.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    Some(value.parse().map_or(Duration::MAX, Duration::from_secs))
}
