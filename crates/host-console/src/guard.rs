//! Who may ask the console, and from where (WEB-4, CHN-2).
//!
//! Three guards that don't depend on each other: the `Host` must be a name of the console's own (a page of someone
//! else's that points its name here is refused), a change needs an `Origin` of its own and a header that no form can
//! send, and where the console listens beyond this machine every request needs a cookie that a login token gave.

use crate::error::{Fault, Refused};
use crate::web::WebRequest;
use hmac::{Hmac, KeyInit as _, Mac as _};
use host_vocab::Secret;
use http::{Method, StatusCode};
use sha2::Sha256;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use subtle::ConstantTimeEq as _;

/// The header of every change.
const HEADER: &str = "x-mono-agent-console";
const COOKIE: &str = "mono_agent_console";
/// How long a login lasts, in seconds.
const LOGIN_SECONDS: i64 = 30 * 24 * 3600;
/// So many wrong tokens in a minute, and no more are looked at.
const FAILURES_MAX: u32 = 10;

/// What a person types to log in.
#[derive(Debug, Clone)]
pub struct LoginToken(Secret);

impl LoginToken {
    /// A token; shorter ones than 16 bytes are no keys.
    pub fn new(token: &str) -> Option<Self> {
        (token.len() >= 16).then(|| LoginToken(Secret::new(token.to_owned())))
    }
}

/// Who may ask.
#[derive(Debug, Clone)]
pub enum Access {
    /// It listens on this machine alone: whoever reaches it.
    Loopback,
    /// It listens beyond it: who has the token.
    Token(LoginToken),
}

/// The guards.
pub(crate) struct Guard {
    access: Access,
    /// Names besides the loopback ones, lower case.
    names: Vec<String>,
    failures: Mutex<(i64, u32)>,
}

impl Guard {
    pub(crate) fn new(access: Access, names: Vec<String>) -> Self {
        let names = names.into_iter().map(|name| name.to_ascii_lowercase()).collect();
        Guard { access, names, failures: Mutex::default() }
    }

    pub(crate) fn needs_login(&self) -> bool {
        matches!(self.access, Access::Token(_))
    }

    /// Whether the request is meant for this console.
    pub(crate) fn host(&self, request: &WebRequest) -> Result<(), Fault> {
        let refused = || {
            let message = "This name isn't one of the console's. `--allow-host NAME` adds one.";
            Refused::new(StatusCode::FORBIDDEN, "host_refused", message)
        };
        let mut hosts = request.headers.get_all(http::header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(refused()) };
        let name = host.to_str().ok().map(name_of).ok_or_else(refused)?;
        let known = matches!(name.as_str(), "localhost" | "127.0.0.1" | "[::1]")
            || self.names.contains(&name)
            || (self.needs_login() && is_private_address(&name));
        if known { Ok(()) } else { Err(refused()) }
    }

    /// Whether a request to the API comes from the console's own page.
    pub(crate) fn origin(&self, request: &WebRequest) -> Result<(), Fault> {
        let refused = || {
            Refused::new(
                StatusCode::FORBIDDEN,
                "origin_refused",
                "This request isn't from the console's page.",
            )
        };
        let host = request.header("host").unwrap_or_default();
        let own = |origin: &str| {
            ["http://", "https://"].iter().any(|scheme| origin.strip_prefix(scheme) == Some(host))
        };
        let origin = request.header("origin");
        if origin.is_some_and(|origin| !own(origin)) {
            return Err(refused());
        }
        if request.header("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err(refused());
        }
        if matches!(request.method, Method::GET | Method::HEAD) {
            return Ok(());
        }
        if origin.is_none() || request.header(HEADER) != Some("1") {
            return Err(refused());
        }
        Ok(())
    }

    /// Whether somebody logged in. `now` is the time in seconds.
    pub(crate) fn logged_in(&self, request: &WebRequest, now: i64) -> bool {
        let Access::Token(token) = &self.access else { return true };
        let cookies = request.headers.get_all(http::header::COOKIE).iter().filter_map(|it| it.to_str().ok());
        let mut values = cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, _)| *name == COOKIE)
            .map(|(_, value)| value);
        values.any(|value| {
            value.split_once('.').is_some_and(|(at, sum)| {
                let fresh = at.parse::<i64>().is_ok_and(|at| (0..LOGIN_SECONDS).contains(&(now - at)));
                fresh && bool::from(signed(token, at).as_bytes().ct_eq(sum.as_bytes()))
            })
        })
    }

    /// Takes a token; gives the cookie to set.
    pub(crate) fn login(&self, offered: &str, now: i64) -> Result<String, Fault> {
        let Access::Token(token) = &self.access else { return Ok(String::new()) };
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.0 != now / 60 {
            *failures = (now / 60, 0);
        }
        if failures.1 >= FAILURES_MAX {
            let message = "Too many wrong tokens. Wait a minute.";
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, "too_many", message));
        }
        if !bool::from(token.0.expose().as_bytes().ct_eq(offered.trim().as_bytes())) {
            failures.1 += 1;
            let message =
                "This isn't the console's token. It stands in the file that `mono-agent web` named.";
            return Err(Refused::new(StatusCode::UNAUTHORIZED, "login_failed", message));
        }
        let at = now.to_string();
        let sum = signed(token, &at);
        Ok(format!("{COOKIE}={at}.{sum}; Path=/; Max-Age={LOGIN_SECONDS}; HttpOnly; SameSite=Strict"))
    }

    /// The cookie that ends a login in this browser.
    pub(crate) fn logout(&self) -> String {
        format!("{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
    }
}

fn signed(token: &LoginToken, at: &str) -> String {
    let key = token.0.expose().as_bytes();
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return String::new() };
    mac.update(b"mono-agent console login ");
    mac.update(at.as_bytes());
    host_vocab::text::hex(&mac.finalize().into_bytes())
}

/// A `Host` without its port, lower case.
fn name_of(host: &str) -> String {
    let host = host.trim().to_ascii_lowercase();
    if let Some(end) = host.find(']') {
        return host[..=end].to_owned();
    }
    host.rsplit_once(':').map_or(host.clone(), |(name, _)| name.to_owned())
}

fn is_private_address(name: &str) -> bool {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(it)) => {
            it.is_private() || it.is_link_local() || it.is_loopback() || it.octets()[0] == 100
        }
        Ok(IpAddr::V6(it)) => it.is_unique_local() || it.is_unicast_link_local() || it.is_loopback(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt as _;

    fn request(method: Method, headers: &[(&str, &str)]) -> WebRequest {
        let mut made = http::HeaderMap::new();
        for (name, value) in headers {
            made.append(http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        let body = futures_util::stream::empty().boxed();
        WebRequest { method, path: "/".into(), query: String::new(), headers: made, body }
    }

    // WEB-4
    #[test]
    fn only_names_of_the_console_are_answered() {
        let local = Guard::new(Access::Loopback, vec!["Box.local".into()]);
        let host = |name: &str| local.host(&request(Method::GET, &[("host", name)])).is_ok();
        for name in ["127.0.0.1:5050", "localhost", "[::1]:1", "box.local:5050", "BOX.LOCAL"] {
            assert!(host(name), "{name}");
        }
        for name in ["evil.example:5050", "127.0.0.1.evil.example", "192.168.0.2:5050", "", "localhost.evil"]
        {
            assert!(!host(name), "{name}");
        }
        assert!(local.host(&request(Method::GET, &[("host", "localhost"), ("host", "x")])).is_err());
        let open = Guard::new(Access::Token(LoginToken::new(&"t".repeat(32)).unwrap()), vec![]);
        assert!(open.host(&request(Method::GET, &[("host", "192.168.0.2:5050")])).is_ok());
        assert!(open.host(&request(Method::GET, &[("host", "8.8.8.8")])).is_err());
    }

    // WEB-4
    #[test]
    fn a_change_comes_from_the_consoles_own_page() {
        let guard = Guard::new(Access::Loopback, vec![]);
        let post = |more: &[(&str, &str)]| {
            let mut headers = vec![("host", "localhost:5")];
            headers.extend_from_slice(more);
            guard.origin(&request(Method::POST, &headers)).is_ok()
        };
        let (own, header) = (("origin", "http://localhost:5"), ("x-mono-agent-console", "1"));
        assert!(post(&[own, header]));
        assert!(!post(&[own]) && !post(&[header]) && !post(&[("origin", "http://localhost:6"), header]));
        assert!(!post(&[("origin", "null"), header]));
        assert!(!post(&[own, header, ("sec-fetch-site", "same-site")]));
        let get = |more: &[(&str, &str)]| {
            let mut headers = vec![("host", "localhost:5")];
            headers.extend_from_slice(more);
            guard.origin(&request(Method::GET, &headers)).is_ok()
        };
        assert!(get(&[]) && get(&[("sec-fetch-site", "none")]));
        assert!(!get(&[("sec-fetch-site", "cross-site")]) && !get(&[("origin", "http://evil.example")]));
    }

    // WEB-4, CHN-2
    #[test]
    fn a_login_is_a_cookie_that_only_the_token_makes() {
        assert!(LoginToken::new("short").is_none());
        let guard = Guard::new(Access::Token(LoginToken::new(&"t".repeat(32)).unwrap()), vec![]);
        assert_eq!(guard.login("nonsense", 60).unwrap_err().code, "login_failed");
        let set = guard.login(&"t".repeat(32), 60).unwrap();
        assert!(set.contains("HttpOnly; SameSite=Strict"));
        let cookie = set.split(';').next().unwrap().to_owned();
        let with = |cookie: &str, now| guard.logged_in(&request(Method::GET, &[("cookie", cookie)]), now);
        assert!(with(&format!("a=b; {cookie}"), 100));
        assert!(!with(&cookie, 60 + LOGIN_SECONDS), "it lasts a month");
        assert!(!with(&cookie.replace("=60.", "=61."), 100), "its time can't be changed");
        assert!(!with("", 100) && !with("mono_agent_console=1", 100));
        for _ in 0..20 {
            let _ = guard.login("x", 60);
        }
        assert_eq!(guard.login(&"t".repeat(32), 60).unwrap_err().code, "too_many");
        assert!(guard.login(&"t".repeat(32), 121).is_ok());
    }
}
