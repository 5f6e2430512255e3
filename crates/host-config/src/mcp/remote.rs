//! The part of an entry that only a remote server has.

use super::entry::Entry;
use super::names::{is_header_name, is_header_value, is_transport_header};
use super::server::{HttpKind, HttpSpec};
use crate::finding::code;
use crate::secrets::{has_url_password, is_credential_header, is_secret_name};
use host_vocab::{Place, Secret, text::one_line};

const HEADER_WAY_OUT: &str =
    "use \"headersFromEnv\": {\"NAME\": \"MY_VARIABLE\"}; the variable holds the whole value";

/// Reads what a remote server has.
pub(super) fn read(entry: &mut Entry<'_>, kind: HttpKind) -> Option<HttpSpec> {
    let mut seen: Vec<(String, &'static str)> = Vec::new();
    let headers = literal_headers(entry, &mut seen);
    let headers_from_env = headers_from_env(entry, &mut seen);
    let headers_from_file = headers_from_file(entry, &mut seen);
    let url = address(entry)?;
    Some(HttpSpec { url, kind, headers, headers_from_env, headers_from_file })
}

fn address(entry: &mut Entry<'_>) -> Option<url::Url> {
    let at = entry.place_of("url");
    let text = entry.text("url")?;
    entry.note_placeholder("`url`", &text, &at, "write the address out");
    let url = url::Url::parse(&text).ok()?;
    if has_url_password(&text) || !url.username().is_empty() {
        entry.suspect(at.clone(), "`url` holds a user name or a password".into(), HEADER_WAY_OUT);
    }
    if let Some((name, _)) = url.query_pairs().find(|(name, value)| is_secret_name(name) && !value.is_empty())
    {
        let message = format!("`url` holds what looks like a secret in `{}`", one_line(&name, 40));
        entry.suspect(at.clone(), message, HEADER_WAY_OUT);
    }
    if url.fragment().is_some() {
        entry.suspect(at, "what follows `#` in `url` is never sent".into(), "take it away");
    }
    Some(url)
}

/// Whether a header may be sent; what speaks against it is a finding.
fn admit(
    entry: &mut Entry<'_>,
    name: &str,
    at: &Place,
    seen: &mut Vec<(String, &'static str)>,
    key: &'static str,
) -> bool {
    let shown = one_line(name, 64);
    if !is_header_name(name) {
        let message = format!("`{shown}` is no name of a header");
        entry.bad(code::BAD_VALUE, at.clone(), message, "a name has letters, digits and `-`");
        return false;
    }
    let lower = name.to_ascii_lowercase();
    if let Some((_, other)) = seen.iter().find(|(known, _)| *known == lower) {
        let message = format!("the header `{shown}` stands twice, in `{other}` and in `{key}`");
        entry.bad(code::CONFLICT, at.clone(), message, "keep one of the two");
        return false;
    }
    seen.push((lower, key));
    if is_transport_header(name) {
        let message = format!("the header `{shown}` is set by the transport; its value here is not used");
        entry.suspect(at.clone(), message, "take it away");
    }
    true
}

fn literal_headers(entry: &mut Entry<'_>, seen: &mut Vec<(String, &'static str)>) -> Vec<(String, Secret)> {
    let mut headers = Vec::new();
    for (name, value, at) in entry.texts_of("headers") {
        if !admit(entry, &name, &at, seen, "headers") {
            continue;
        }
        if !is_header_value(&value) {
            let message = format!("the value of the header `{name}` holds a control character");
            entry.bad(code::BAD_VALUE, at, message, "write it on one line");
            continue;
        }
        entry.note_placeholder(&format!("the header `{name}`"), &value, &at, HEADER_WAY_OUT);
        if is_credential_header(&name, &value) {
            let message = format!("the header `{name}` looks like a credential in a file");
            entry.suspect(at, message, HEADER_WAY_OUT);
        }
        headers.push((name, Secret::new(value)));
    }
    headers
}

fn headers_from_env(entry: &mut Entry<'_>, seen: &mut Vec<(String, &'static str)>) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    let disabled = entry.is_on("disabled");
    for (name, variable, at) in entry.texts_of("headersFromEnv") {
        if !admit(entry, &name, &at, seen, "headersFromEnv") {
            continue;
        }
        let shown = one_line(&variable, 64);
        match entry.env.get(&variable) {
            Some(value) if !value.is_empty() && !is_header_value(value.trim()) => {
                let message =
                    format!("the variable `{shown}` for the header `{name}` holds a control character");
                entry.bad(code::BAD_VALUE, at, message, "write its value on one line");
            }
            Some(value) if !value.is_empty() => {}
            // An unset variable costs this server alone, and it is named (T1-07).
            _ if !disabled => {
                let message = format!("the variable `{shown}` for the header `{name}` is not set");
                entry.bad(code::MCP_ENTRY, at, message, "set it where the host starts, or in `.env`");
            }
            _ => {}
        }
        headers.push((name, variable));
    }
    headers
}

fn headers_from_file(
    entry: &mut Entry<'_>,
    seen: &mut Vec<(String, &'static str)>,
) -> Vec<(String, std::path::PathBuf)> {
    let mut headers = Vec::new();
    for (name, file, at) in entry.texts_of("headersFromFile") {
        if admit(entry, &name, &at, seen, "headersFromFile") {
            let path = entry.resolve(&file, &at);
            headers.push((name, path));
        }
    }
    headers
}
