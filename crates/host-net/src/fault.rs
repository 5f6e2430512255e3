//! From a client's fault to the port's error. Nothing of the request but its origin gets into the text.

use host_ports::http::HttpError;
use std::error::Error;
use url::Url;

/// The longest cause in an error, in characters.
const WHY_CHARS_MAX: usize = 240;

/// What the resolver hands through the client's error chain.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);

/// Scheme, host and port of a URL; never its path, query or user.
pub(crate) fn origin_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Tells a connection that never stood from one that broke.
pub(crate) fn from_client(origin: &str, error: &reqwest::Error) -> HttpError {
    let origin = origin.to_owned();
    if let Some(refused) = find::<Refused>(error) {
        return HttpError::Denied { origin, why: refused.0.clone() };
    }
    let why = causes(error);
    if error.is_connect() || error.is_builder() {
        HttpError::Connect { origin, why }
    } else {
        HttpError::Broken { origin, why }
    }
}

fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// The causes below the client's own message (which holds the whole URL), without repetition.
fn causes(error: &reqwest::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !said.iter().any(|earlier| earlier.contains(&text)) {
            said.push(text);
        }
        next = cause.source();
    }
    if said.is_empty() {
        said.push(if error.is_timeout() { "time-out" } else { "unknown cause" }.to_owned());
    }
    let all = said.join(": ");
    let hint = if all.contains("UnknownIssuer") {
        " (no root certificate of this machine vouches for it; is ca-certificates installed?)"
    } else {
        ""
    };
    host_vocab::text::one_line(&format!("{all}{hint}"), WHY_CHARS_MAX)
}
