//! Which redirects are followed.

use crate::fault::origin_of;
use host_ports::http::{HttpError, Redirects};
use http::{HeaderMap, StatusCode};
use url::Url;

/// What to do after a response's head.
#[derive(Debug)]
pub(crate) enum Step {
    /// Give it to the caller.
    Keep,
    /// Send the same request there.
    Follow(Url),
}

/// Decides on one response: 307 and 308 to the same scheme, host and port are followed, `hops` counts those
/// that were; all else that sends somewhere is refused before anything is sent there (T3-03).
pub(crate) fn step(
    rule: Redirects,
    from: &Url,
    status: StatusCode,
    headers: &HeaderMap,
    hops: u8,
) -> Result<Step, HttpError> {
    let Redirects::SameOrigin(hops_max) = rule else { return Ok(Step::Keep) };
    if !matches!(status.as_u16(), 300..=303 | 305..=308) {
        return Ok(Step::Keep);
    }
    let refused = |target: String| HttpError::RedirectRefused { origin: origin_of(from), target };
    let location = headers.get(http::header::LOCATION).and_then(|value| value.to_str().ok());
    let Some(location) = location else { return Err(refused("no readable place".to_owned())) };
    let Ok(target) = from.join(location) else { return Err(refused("an unreadable place".to_owned())) };
    let place = if target.host_str().is_some() { origin_of(&target) } else { target.scheme().to_owned() };
    let same = target.host_str().is_some() && target.origin() == from.origin();
    if !same || !target.username().is_empty() || target.password().is_some() {
        return Err(refused(place));
    }
    if !matches!(status.as_u16(), 307 | 308) {
        return Err(refused(format!("{place} with status {}", status.as_u16())));
    }
    if hops >= hops_max {
        return Err(refused(format!("{place} more than {hops_max} times")));
    }
    Ok(Step::Follow(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(from: &str, status: u16, location: &str, hops: u8) -> Result<Step, HttpError> {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::LOCATION, location.parse().unwrap());
        let status = StatusCode::from_u16(status).unwrap();
        step(Redirects::SameOrigin(3), &Url::parse(from).unwrap(), status, &headers, hops)
    }

    // T3-03
    #[test]
    fn another_origin_is_any_change_of_scheme_host_or_port() {
        let from = "https://a.example/x";
        for to in [
            "http://a.example/x",
            "https://b.example/x",
            "https://a.example:444/x",
            "//b.example/x",
            "https://a.example.b.example/",
            "https://user@a.example/",
            "file:///etc/passwd",
            "data:text/plain,x",
            "https://a.example@b.example/",
        ] {
            for status in [301, 302, 303, 307, 308] {
                let error = decide(from, status, to, 0).unwrap_err();
                assert!(matches!(error, HttpError::RedirectRefused { .. }), "{to}");
            }
        }
    }

    #[test]
    fn the_same_origin_is_followed_for_307_and_308_alone() {
        for (status, follow) in [(301, false), (302, false), (303, false), (307, true), (308, true)] {
            let step = decide("https://a.example/x", status, "https://a.example:443/y", 0);
            assert_eq!(matches!(step, Ok(Step::Follow(_))), follow, "{status}");
        }
        assert!(decide("https://a.example/x", 307, "/y", 3).is_err());
        assert!(matches!(decide("https://a.example/x", 304, "/y", 0), Ok(Step::Keep)));
        assert!(matches!(decide("https://a.example/x", 200, "/y", 0), Ok(Step::Keep)));
    }
}
