//! From bytes to text, whatever a server says of them.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How far into a document its own word on its encoding may stand, in bytes.
const PRESCAN_BYTES: usize = 2048;
/// How much is looked at to guess, in bytes.
const GUESS_BYTES: usize = 256 * 1024;

/// Decoded text. What can't be decoded is `�`.
///
/// In order: a byte order mark; UTF-8 where the bytes are that (no other encoding looks like it by chance);
/// what the server, then the document says, if it fits; a guess.
pub(super) fn decode(bytes: &[u8], from_server: Option<&str>) -> String {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark..]).0.into_owned();
    }
    let label = |label: &str| Encoding::for_label(label.trim().as_bytes());
    let declared = from_server.and_then(label);
    let wide = declared.is_some_and(|it| it == UTF_16LE || it == UTF_16BE);
    if !wide
        && let Ok(text) = std::str::from_utf8(bytes)
        && !text.is_ascii()
    {
        return text.to_owned();
    }
    let said = declared.into_iter().chain(prescan(bytes).and_then(label));
    let mut best: Option<(usize, String)> = None;
    for encoding in said.filter(|it| *it != UTF_8).chain(std::iter::once_with(|| guess(bytes))) {
        let (text, wrong) = encoding.decode_without_bom_handling(bytes);
        let faults = if wrong { text.chars().filter(|c| *c == '\u{fffd}').count().max(1) } else { 0 };
        if faults == 0 {
            return text.into_owned();
        }
        if best.as_ref().is_none_or(|(fewest, _)| faults < *fewest) {
            best = Some((faults, text.into_owned()));
        }
    }
    best.map(|(_, text)| text).unwrap_or_default()
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    if bytes.is_ascii() {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes[..bytes.len().min(GUESS_BYTES)], true);
    detector.guess(None, Utf8Detection::Allow)
}

/// What the head of a document says: `charset=…` in HTML, `encoding="…"` in XML.
fn prescan(bytes: &[u8]) -> Option<&str> {
    let head = &bytes[..bytes.len().min(PRESCAN_BYTES)];
    let lower = head.to_ascii_lowercase();
    for (mark, within) in [(&b"encoding="[..], &b"<?xml"[..]), (b"charset=", b"<meta")] {
        let Some(from) = memchr::memmem::find(&lower, within) else { continue };
        if let Some(at) = memchr::memmem::find(&lower[from..], mark) {
            let rest = &head[from + at + mark.len()..];
            let start = rest.iter().position(|c| !matches!(c, b'"' | b'\'' | b' '))?;
            let rest = &rest[start..];
            let len = rest.iter().position(|c| !c.is_ascii_alphanumeric() && !b"-_:".contains(c))?;
            return std::str::from_utf8(&rest[..len]).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    // TOO-4
    #[test]
    fn what_the_bytes_are_outweighs_what_is_said_of_them() {
        let (latin, _, _) = encoding_rs::WINDOWS_1252.encode("<p>Größe für über die Straße, naïve café</p>");
        let utf8 = "<p>Größe für über</p>".as_bytes();
        // Said to be UTF-8 and isn't; said to be Latin 1 and is UTF-8; nothing said; nonsense said.
        assert!(decode(&latin, Some("utf-8")).contains("Größe für über die Straße"));
        assert!(decode(utf8, Some("iso-8859-1")).contains("Größe für über"));
        assert!(decode(&latin, None).contains("naïve café"));
        assert!(decode(utf8, Some("klingon")).contains("Größe"));
        assert_eq!(decode(b"\xef\xbb\xbfa", Some("utf-16")), "a");
        assert_eq!(decode(b"\xff\xfea\0b\0", None), "ab");
        assert_eq!(decode(b"plain", Some("shift_jis")), "plain");
    }

    // TOO-4
    #[test]
    fn the_documents_own_word_counts_where_the_server_says_nothing() {
        let text = "<?xml version=\"1.0\" encoding=\"windows-1251\"?><a>Привет, мир</a>";
        let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(text);
        assert!(decode(&bytes, None).contains("Привет, мир"));
        let page = "<html><head><meta charset='Shift_JIS'><title>日本語のページ</title>";
        let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(page);
        assert!(decode(&bytes, None).contains("日本語のページ"));
        assert!(decode(&bytes, Some("utf-8")).contains("日本語のページ"));
        let page = "<meta http-equiv=Content-Type content='text/html; charset=euc-kr'>한국어";
        let (bytes, _, _) = encoding_rs::EUC_KR.encode(page);
        assert!(decode(&bytes, Some("iso-8859-1")).len() > 10);
        assert!(decode(&bytes, None).contains("한국어"));
    }
}
