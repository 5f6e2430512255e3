//! The page and its files, carried in the program.

use crate::shapes::Settings;
use crate::web::{WebBody, WebResponse};
use bytes::Bytes;
use http::{StatusCode, header};
use std::io::Write as _;
use std::sync::OnceLock;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// What stands in the place of the page where the front end was not built.
const NOT_BUILT: &str = "<!doctype html><html lang=\"en\" data-theme=\"system\" data-accent=\"evergreen\">\
<meta charset=\"utf-8\"><title>mono-agent</title><h1>The console's page is not built</h1>\
<p>This program was built without it. In the repository:</p>\
<pre>npm --prefix web ci &amp;&amp; npm --prefix web run build\ncargo build -p mono-agent</pre>\
<p>The console itself runs: its API answers below <code>/api/v1</code>.</p></html>";

fn find(name: &str) -> Option<&'static [u8]> {
    ASSETS.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}

/// The page, with the stored look in it.
pub(crate) fn page(settings: &Settings) -> WebResponse {
    let built = find("index.html").and_then(|bytes| std::str::from_utf8(bytes).ok());
    let html = built
        .unwrap_or(NOT_BUILT)
        .replacen("data-theme=\"system\"", &format!("data-theme=\"{}\"", settings.theme), 1)
        .replacen("data-accent=\"evergreen\"", &format!("data-accent=\"{}\"", settings.accent), 1);
    WebResponse::bytes(StatusCode::OK, "text/html; charset=utf-8", html)
        .with(header::CACHE_CONTROL, "no-cache")
}

/// A file beside the page; `None` = there is none of that name.
pub(crate) fn file(path: &str, gzip: bool) -> Option<WebResponse> {
    let name = path.trim_start_matches('/');
    if name == "index.html" {
        return None;
    }
    let at = ASSETS.iter().position(|(known, _)| *known == name)?;
    let media_type = media_type(name);
    let hashed = name.starts_with("assets/");
    let cache = if hashed { "public, max-age=31536000, immutable" } else { "no-cache" };
    let response = WebResponse::bytes(StatusCode::OK, media_type, Bytes::from_static(ASSETS[at].1))
        .with(header::CACHE_CONTROL, cache);
    if !gzip || !worth_it(media_type) {
        return Some(response);
    }
    let smaller = PACKED.get_or_init(|| ASSETS.iter().map(|_| OnceLock::new()).collect());
    let packed = smaller[at].get_or_init(|| packed(ASSETS[at].1)).clone();
    let mut response = response.with(header::CONTENT_ENCODING, "gzip").with(header::VARY, "accept-encoding");
    response.body = WebBody::Whole(packed);
    Some(response)
}

static PACKED: OnceLock<Vec<OnceLock<Bytes>>> = OnceLock::new();

/// Bytes made smaller.
pub(crate) fn packed(bytes: &[u8]) -> Bytes {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    // Writing to memory does not fail.
    let _ = out.write_all(bytes);
    out.finish().unwrap_or_default().into()
}

fn worth_it(media_type: &str) -> bool {
    !matches!(media_type, "image/png" | "font/woff2" | "application/octet-stream")
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" | "webmanifest" => "application/json",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
