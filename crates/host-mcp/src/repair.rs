//! JSON as some servers write it: `NaN` and `Infinity` outside strings, lone surrogates and raw control
//! characters within. What is right already is left alone.

use serde_json::Value;
use std::borrow::Cow;

/// Parses a value, repairing what [`repaired`] can.
///
/// # Errors
/// Where even the repaired text is no JSON, or nests deeper than 128 levels.
pub(crate) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(error) => match repaired(text) {
            Cow::Owned(text) => serde_json::from_str(&text),
            Cow::Borrowed(_) => Err(error),
        },
    }
}

/// The text with every such fault mended: numbers that JSON lacks become `null`, lone surrogates `\ufffd`,
/// control characters their escapes.
pub(crate) fn repaired(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    let mut in_string = false;
    let replace = |out: &mut Option<String>, copied: &mut usize, from: usize, to: usize, with: &str| {
        let out = out.get_or_insert_with(|| String::with_capacity(text.len() + 16));
        out.push_str(&text[*copied..from]);
        out.push_str(with);
        *copied = to;
    };
    while at < bytes.len() {
        let rest = &bytes[at..];
        if !in_string {
            if let Some(word) =
                ["-Infinity", "Infinity", "NaN"].iter().find(|w| rest.starts_with(w.as_bytes()))
            {
                replace(&mut out, &mut copied, at, at + word.len(), "null");
                at += word.len();
                continue;
            }
            in_string = bytes[at] == b'"';
            at += 1;
            continue;
        }
        match bytes[at] {
            b'"' => {
                in_string = false;
                at += 1;
            }
            b'\\' => match unit(rest) {
                Some(0xd800..=0xdbff) if matches!(unit(&rest[6..]), Some(0xdc00..=0xdfff)) => at += 12,
                Some(0xd800..=0xdfff) => {
                    replace(&mut out, &mut copied, at, at + 6, "\\ufffd");
                    at += 6;
                }
                _ => at += 2,
            },
            control @ 0..=0x1f => {
                replace(&mut out, &mut copied, at, at + 1, &format!("\\u{control:04x}"));
                at += 1;
            }
            _ => at += 1,
        }
    }
    match out {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(&text[copied..]);
            Cow::Owned(out)
        }
    }
}

/// The code unit of a `\uXXXX` escape at the start of some bytes.
fn unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_servers_write_is_read() {
        assert_eq!(
            parse(r#"{"a":NaN,"b":[-Infinity,1],"c":"NaN"}"#).unwrap(),
            json!({"a":null,"b":[null,1],"c":"NaN"})
        );
        assert_eq!(
            parse(r#"["x\ud800y","\ud83d\ude00","\udc00"]"#).unwrap(),
            json!(["x\u{fffd}y", "😀", "\u{fffd}"])
        );
        assert_eq!(parse("[\"a\tb\"]").unwrap(), json!(["a\tb"]));
        assert!(parse("{\"a\":").is_err());
        assert!(parse(r#"["\"#).is_err());
    }

    proptest! {
        #[test]
        fn good_json_is_left_alone(text in "\\PC{0,40}") {
            let json = serde_json::to_string(&text).unwrap();
            let repaired = repaired(&json);
            prop_assert_eq!(repaired.as_ref(), json.as_str());
        }

        #[test]
        fn it_never_panics(text in "[\"\\\\ud8c0NaInfy\\t{}:,-]{0,40}") {
            let _ = parse(&text);
        }
    }
}
