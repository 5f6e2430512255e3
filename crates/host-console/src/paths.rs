//! Paths, queries and names as they are sent.

/// The segments of a path, percent-decoded; `None` where one is no UTF-8.
pub(crate) fn segments(path: &str) -> Option<Vec<String>> {
    path.split('/').filter(|it| !it.is_empty()).map(decoded).collect()
}

/// One parameter of a query.
pub(crate) fn parameter(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key == name).then(|| decoded(&value.replace('+', " ")))?
    })
}

/// Percent-decoded text; `None` where it is no UTF-8.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(out).ok()
}

/// A name for a header of its own (RFC 8187).
pub(crate) fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _infallible = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// What a browser is told to call a file. No byte of the name can end the header or name a folder.
pub(crate) fn disposition(how: &str, name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || " -._()".contains(c) { c } else { '_' })
        .collect();
    format!("{how}; filename=\"{plain}\"; filename*=UTF-8''{}", encoded(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_names() {
        assert_eq!(segments("/api/v1/a%20b/"), Some(vec!["api".into(), "v1".into(), "a b".into()]));
        assert_eq!(segments("/%ff"), None);
        assert_eq!(parameter("q=a+b%26c&limit=5", "q").as_deref(), Some("a b&c"));
        assert_eq!(parameter("q=1", "limit"), None);
        assert_eq!(decoded("%4"), None);
        let told = disposition("attachment", "a\"\r\nX: y/é.txt");
        assert_eq!(
            told,
            "attachment; filename=\"a___X_ y__.txt\"; filename*=UTF-8''a%22%0D%0AX%3A%20y%2F%C3%A9.txt"
        );
    }
}
