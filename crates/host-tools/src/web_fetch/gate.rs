//! Doors that only a person may open: they are named, never forced (host-core facts 5.41).

use http::{HeaderMap, StatusCode};

/// What stands before the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    /// A test of whether a person is there.
    Challenge,
    /// A login.
    Authentication,
}

/// How much of a page is searched for the marks of a challenge, in bytes.
const SEARCH_BYTES_MAX: usize = 128 * 1024;
/// A page with more text than this, in characters, is more than a challenge.
const CHALLENGE_CHARS_MAX: usize = 600;

/// Marks of the known services, in lower case. They mean little on a page that has content of its own.
const SURE: &[&str] = &[
    "_cf_chl_opt",
    "/cdn-cgi/challenge-platform/",
    "captcha-delivery.com",
    "px-captcha",
    "_incapsula_resource",
    "awswafcookiedomainlist",
    "challenge.js\" defer",
    "<title>just a moment...</title>",
    "ddos-guard",
    "<title>attention required! | cloudflare</title>",
    "geo.captcha",
    "sgcaptcha",
    "/_sec/cp_challenge/",
];
/// Marks that prove something together with a refusal alone.
const LIKELY: &[&str] = &[
    "g-recaptcha",
    "h-captcha",
    "cf-turnstile",
    "verify you are human",
    "verify that you are human",
    "are you a robot",
    "unusual traffic",
    "enable javascript and cookies to continue",
    "captcha",
];

/// Looks for one.
pub(super) fn gate(status: StatusCode, headers: &HeaderMap, body: &str, text_chars: usize) -> Option<Gate> {
    let is_challenge = headers.get("cf-mitigated").is_some_and(|it| it.as_bytes() == b"challenge")
        || headers.contains_key("x-amzn-waf-action");
    if is_challenge {
        return Some(Gate::Challenge);
    }
    if matches!(status.as_u16(), 401 | 407) {
        return Some(Gate::Authentication);
    }
    if text_chars > CHALLENGE_CHARS_MAX && status.is_success() {
        return None;
    }
    let head = host_vocab::text::prefix(body, SEARCH_BYTES_MAX).to_ascii_lowercase();
    let has = |marks: &[&str]| marks.iter().any(|mark| head.contains(mark));
    let refused = matches!(status.as_u16(), 202 | 403 | 405 | 429 | 503);
    if has(SURE) || (refused && has(LIKELY)) {
        return Some(Gate::Challenge);
    }
    (status == StatusCode::FORBIDDEN && headers.contains_key(http::header::WWW_AUTHENTICATE))
        .then_some(Gate::Authentication)
}
