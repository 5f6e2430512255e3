//! The page and its files, carried in the program.

use crate::shapes::Settings;
use crate::web::WebResponse;
use bytes::Bytes;
use http::{StatusCode, header};
use std::io::{Read as _, Write as _};

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// What stands in the place of the page where the front end was not built.
const NOT_BUILT: &str = "<!doctype html><html lang=\"en\" data-theme=\"system\" data-accent=\"evergreen\">\
<meta charset=\"utf-8\"><title>mono-agent</title><h1>The console's page is not built</h1>\
<p>This program was built without it. In the repository:</p>\
<pre>npm --prefix web ci &amp;&amp; npm --prefix web run build\ncargo build -p mono-agent</pre>\
<p>The console itself runs: its API answers below <code>/api/v1</code>.</p></html>";

/// A file of the page, packed by gzip.
fn find(name: &str) -> Option<&'static [u8]> {
    ASSETS.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // What the build packed can be unpacked.
    let _ = flate2::read::GzDecoder::new(packed).read_to_end(&mut out);
    out
}

/// The page, with the stored look in it.
pub(crate) fn page(settings: &Settings) -> WebResponse {
    let built = find("index.html").and_then(|packed| String::from_utf8(unpacked(packed)).ok());
    let html = built
        .as_deref()
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
    let packed = find(name)?;
    let media_type = media_type(name);
    let hashed = name.starts_with("assets/");
    let cache = if hashed { "public, max-age=31536000, immutable" } else { "no-cache" };
    let body = if gzip { Bytes::from_static(packed) } else { unpacked(packed).into() };
    let response = WebResponse::bytes(StatusCode::OK, media_type, body)
        .with(header::CACHE_CONTROL, cache)
        .with(header::VARY, "accept-encoding");
    Some(if gzip { response.with(header::CONTENT_ENCODING, "gzip") } else { response })
}

/// Bytes made smaller.
pub(crate) fn packed(bytes: &[u8]) -> Bytes {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    // Writing to memory does not fail.
    let _ = out.write_all(bytes);
    out.finish().unwrap_or_default().into()
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
