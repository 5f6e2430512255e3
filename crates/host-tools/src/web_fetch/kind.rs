//! What a body is: by what its server says, and by its first bytes where that says little.

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Json,
    Xml,
    Pdf,
    Text,
    Binary,
}

impl Kind {
    /// Its word in the outcome record.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Kind::Html => "html",
            Kind::Json => "json",
            Kind::Xml => "xml",
            Kind::Pdf => "pdf",
            Kind::Text => "text",
            Kind::Binary => "binary",
        }
    }
}

/// A `Content-Type`, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct MediaType {
    /// Type and subtype in lower case; empty = none.
    pub(super) essence: String,
    /// The charset.
    pub(super) charset: Option<String>,
}

impl MediaType {
    pub(super) fn parse(header: Option<&str>) -> Self {
        let mut parts = header.unwrap_or_default().split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim()
                .eq_ignore_ascii_case("charset")
                .then(|| value.trim().trim_matches(['"', '\'']).to_owned())
        });
        MediaType { essence, charset }
    }

    /// For an error: only what a media type can be made of.
    pub(super) fn shown(&self) -> String {
        let plain: String = self
            .essence
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || "/+-._".contains(*c))
            .take(80)
            .collect();
        if plain.is_empty() { "an unnamed type".to_owned() } else { plain }
    }
}

/// Decides.
pub(super) fn kind_of(media: &MediaType, bytes: &[u8]) -> Kind {
    if bytes.starts_with(b"%PDF-") {
        return Kind::Pdf;
    }
    let essence = media.essence.as_str();
    let declared = match essence {
        "text/html" | "application/xhtml+xml" => Some(Kind::Html),
        "application/json" | "text/json" => Some(Kind::Json),
        "application/xml" | "text/xml" => Some(Kind::Xml),
        "application/pdf" | "application/x-pdf" => Some(Kind::Pdf),
        "application/javascript"
        | "application/x-javascript"
        | "application/ecmascript"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/sql"
        | "application/x-sh"
        | "application/x-ndjson"
        | "application/jsonl"
        | "application/graphql"
        | "application/x-httpd-php"
        | "application/x-tex"
        | "application/x-www-form-urlencoded" => Some(Kind::Text),
        _ if essence.ends_with("+json") => Some(Kind::Json),
        _ if essence.ends_with("+xml") && !essence.starts_with("image/") => Some(Kind::Xml),
        _ if essence.starts_with("text/") => Some(Kind::Text),
        // Said by servers that don't know: what is inside decides.
        ""
        | "application/octet-stream"
        | "binary/octet-stream"
        | "application/unknown"
        | "unknown/unknown" => None,
        _ => Some(Kind::Binary),
    };
    match declared {
        Some(kind @ (Kind::Binary | Kind::Pdf)) => kind,
        Some(kind) if is_text(bytes, media) => kind,
        None if is_text(bytes, media) => by_content(bytes),
        _ => Kind::Binary,
    }
}

fn by_content(bytes: &[u8]) -> Kind {
    let head = &bytes[..bytes.len().min(1024)];
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start().to_ascii_lowercase();
    if head.starts_with(b"<!doctype html") || head.starts_with(b"<html") {
        Kind::Html
    } else if head.starts_with(b"<?xml") || head.starts_with(b"<rss") || head.starts_with(b"<feed") {
        Kind::Xml
    } else if matches!(head.first(), Some(b'{' | b'['))
        && serde_json::from_slice::<serde_json::Value>(bytes).is_ok()
    {
        Kind::Json
    } else {
        Kind::Text
    }
}

/// Whether bytes can be text: no NUL but in UTF-16, and hardly any control characters.
fn is_text(bytes: &[u8], media: &MediaType) -> bool {
    let wide = bytes.starts_with(b"\xff\xfe")
        || bytes.starts_with(b"\xfe\xff")
        || media.charset.as_deref().is_some_and(|it| it.to_ascii_lowercase().starts_with("utf-16"));
    if wide {
        return true;
    }
    let head = &bytes[..bytes.len().min(64 * 1024)];
    if memchr::memchr(0, head).is_some() {
        return false;
    }
    let odd = head.iter().filter(|c| matches!(c, 1..=8 | 11 | 14..=26 | 28..=31 | 127)).count();
    odd * 100 <= head.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    // TOO-4
    #[test]
    fn kinds() {
        let rows: [(&str, &[u8], Kind); 17] = [
            ("text/html; charset=utf-8", b"x", Kind::Html),
            ("TEXT/HTML", b"", Kind::Html),
            ("text/html", b"\x89PNG\r\n\x1a\n\0\0", Kind::Binary),
            ("application/ld+json", b"{}", Kind::Json),
            ("application/atom+xml", b"<feed/>", Kind::Xml),
            ("image/svg+xml", b"<svg/>", Kind::Binary),
            ("image/png", b"plain", Kind::Binary),
            ("application/zip", b"PK\x03\x04", Kind::Binary),
            ("application/octet-stream", b"fn main() {}", Kind::Text),
            ("application/octet-stream", b"\0\0\0", Kind::Binary),
            ("", b"  <!DOCTYPE HTML><p>", Kind::Html),
            ("", b"{\"a\":1}", Kind::Json),
            ("", b"{not json", Kind::Text),
            ("", b"<?xml version='1.0'?><rss/>", Kind::Xml),
            ("text/plain", b"%PDF-1.7 ", Kind::Pdf),
            ("text/plain; charset=utf-16le", b"a\0b\0", Kind::Text),
            ("video/mp4", b"", Kind::Binary),
        ];
        for (header, bytes, kind) in rows {
            assert_eq!(kind_of(&MediaType::parse(Some(header)), bytes), kind, "{header} {bytes:?}");
        }
        let media = MediaType::parse(Some("Text/HTML ; a=b; Charset=\"Shift_JIS\""));
        assert_eq!((media.essence.as_str(), media.charset.as_deref()), ("text/html", Some("Shift_JIS")));
        assert_eq!(MediaType::parse(Some("x/<b>\u{7f} y")).shown(), "x/by");
    }
}
