//! The canary suite: every shape of secret in every carrier (QUA-5, T9-09, RUN-9).

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use host_redact::{REDACTED, Redactor, StreamRedactor};
use host_vocab::Secret;
use serde_json::{Value, json};
use std::sync::Arc;

const PEM: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAq83nCanaryBody\nzzzz1111+/==\n-----END RSA PRIVATE KEY-----";

/// Known shapes: (the text as it stands, the part that must not survive).
const SHAPES: &[(&str, &str)] = &[
    ("sk-zz-QRSTUVWX55667788.mnop_77AB", "QRSTUVWX55667788.mnop_77AB"),
    ("sk-abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx"),
    ("sk-proj-AbC1_dEf2-gHi3jKl4mNo5", "AbC1_dEf2"),
    ("sk-svcacct-0123456789abcdefABCDEF", "0123456789abcdefABCDEF"),
    ("sk-ant-api03-Qw3rtyUiop-AsDf", "Qw3rtyUiop"),
    ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "0123456789abcdefghij"),
    ("gho_0123456789abcdefghijABCDEFGHIJ012345", "0123456789abcdefghij"),
    ("ghs_0123456789abcdefghijABCDEFGHIJ012345", "0123456789abcdefghij"),
    ("GHP_0123456789abcdefghijABCDEFGHIJ012345", "0123456789abcdefghij"),
    ("github_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPq", "11ABCDEFG0aBcDeFgHiJkL"),
    ("xoxb-1-2-abc", "1-2-abc"),
    ("xoxp-123456789012-123456789012-AbCdEf", "123456789012-AbCdEf"),
    ("xapp-1-A0123456789-0123456789-abcdef", "A0123456789"),
    ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
    ("ASIAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
    ("AIzaSyA0123456789abcdefghijklmnopqrstuv", "SyA0123456789"),
    ("Bearer abc123DEF456ghi", "abc123DEF456ghi"),
    ("Authorization: Bearer opaquewords", "opaquewords"),
    (r#"{"Authorization":"Basic dTpwNHNz"}"#, "dTpwNHNz"),
    ("Basic dTpwNHNz", "dTpwNHNz"),
    ("authorization=Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "QWxhZGRpbjpvcGVuIHNlc2FtZQ"),
    (PEM, "MIIEowIBAAKCAQEAq83nCanaryBody"),
    (
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAACmFl\nQyNTUxOQAAACCanary",
        "b3BlbnNzaC1rZXktdjEAAAAACmFl",
    ),
    (
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMHcCAQEEIcanaryCanary01\n-----END EC PRIVATE KEY-----",
        "MHcCAQEEIcanaryCanary01",
    ),
    (
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBGcanaryCanary01\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
        "lQOYBGcanaryCanary01",
    ),
    ("curl -H 'Authorization: bearer opaque-words' x", "opaque-words"),
    ("{'Proxy-Authorization': 'Basic dTpw'}", "dTpw"),
    ("xoxe.xoxp-1-Mi0yLWFiYw", "Mi0yLWFiYw"),
    ("amqps://svc:a%2Fb%40c@mq.example:5671/vhost", "a%2Fb%40c"),
    ("postgres://u:p4ss@h/d", "p4ss"),
    ("redis://:hunter22@cache:6379", "hunter22"),
    ("https://user:p@ss:w0rd@example.com/x", "w0rd"),
    ("123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1", "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"),
    ("https://api.telegram.org/bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1/getMe", "AAHdqTcvCH1"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r", "dBjftJeZ4CVP"),
    ("glpat-AbCdEfGhIjKlMnOp1234", "AbCdEfGhIjKlMnOp1234"),
];

/// Configured values of several kinds.
const VALUES: &[&str] = &[
    "p4ss",
    "abc123xyz",
    "correct horse battery",
    "pä55wört-ñ",
    "quo\"te\\back/slash",
    "per%cent&amp+plus",
    "line one of a key file\nline two of a key file",
    "日本語の秘密",
];

/// Ways in which a text is put into something larger. Each gives a JSON value.
fn carriers(text: &str) -> Vec<(&'static str, Value)> {
    let tool_json = serde_json::to_string(&json!({ "out": text })).unwrap();
    vec![
        ("assistant text", json!({ "kind": "said", "text": format!("here: {text} — bye") })),
        ("bare", json!(text)),
        ("exec output", json!({ "stdout": format!("a\nX={text}\nb"), "exit": 0 })),
        ("arguments", json!({ "tool": "Exec", "arguments": { "args": ["-H", text] } })),
        ("tool error", json!({ "error": { "message": format!("failed ({text})") } })),
        ("object key", json!({ (text): 1, "other": { (format!("x {text} y")): [] } })),
        ("deep", json!([[[{ "a": [[text]] }]]])),
        ("json in text", json!({ "body": tool_json })),
        ("json in json in text", json!({ "body": serde_json::to_string(&tool_json).unwrap() })),
        ("percent", json!({ "url": format!("https://h/?q={}", percent(text)) })),
        ("percent of percent", json!({ "url": percent(&percent(text)) })),
        ("html", json!({ "page": format!("<b>{}</b>", html(text)) })),
        ("coloured", json!({ "out": format!("\u{1b}[01;31m\u{1b}[K{text}\u{1b}[m") })),
    ]
}

/// Ways in which only a configured value can still be told.
fn value_carriers(value: &str) -> Vec<(&'static str, String)> {
    let bytes = value.as_bytes();
    let with =
        |head: &str, engine: &dyn Fn(&[u8]) -> String| engine(&[head.as_bytes(), bytes, b" end"].concat());
    let std64 = |b: &[u8]| STANDARD.encode(b);
    let url64 = |b: &[u8]| URL_SAFE_NO_PAD.encode(b);
    let mut all = vec![
        ("base64", STANDARD.encode(bytes)),
        ("base64 url", URL_SAFE_NO_PAD.encode(bytes)),
        ("base64 at 1", with("x", &std64)),
        ("base64 at 2", with("xy", &std64)),
        ("base64 at 3", with("xyz", &url64)),
        ("hex", bytes.iter().map(|b| format!("{b:02x}")).collect()),
        ("HEX", bytes.iter().map(|b| format!("{b:02X}")).collect()),
        ("every byte percent", bytes.iter().map(|b| format!("%{b:02x}")).collect()),
        ("every letter escaped", value.encode_utf16().map(|u| format!("\\u{u:04x}")).collect()),
        ("full width", value.chars().map(wide).collect()),
        ("zero width inside", value.chars().flat_map(|c| [c, '\u{200b}']).collect()),
        ("soft hyphens inside", value.chars().flat_map(|c| [c, '\u{ad}']).collect()),
    ];
    use unicode_normalization::UnicodeNormalization;
    all.push(("nfd", value.nfd().collect()));
    all.push(("nfkc", value.nfkc().collect()));
    all
}

fn percent(text: &str) -> String {
    let safe = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    text.bytes().map(|b| if safe(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;").replace('\'', "&#39;")
}

fn wide(letter: char) -> char {
    match letter {
        '!'..='~' => char::from_u32(u32::from(letter) + 0xfee0).unwrap(),
        other => other,
    }
}

fn redactor() -> Redactor {
    Redactor::new(VALUES.iter().map(|value| Secret::new(*value)))
}

/// Everything that a text could be read as by someone who looks for the secret.
fn unwrapped(value: &Value) -> String {
    let mut out = String::new();
    fn walk(value: &Value, out: &mut String) {
        match value {
            Value::String(text) => {
                out.push_str(text);
                out.push('\n');
                if let Ok(inner @ (Value::String(_) | Value::Object(_))) = serde_json::from_str::<Value>(text)
                {
                    walk(&inner, out);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, out)),
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                out.push_str(key);
                out.push('\n');
                walk(value, out);
            }),
            _ => {}
        }
    }
    walk(value, &mut out);
    out
}

fn check(redactor: &Redactor, value: &Value, needles: &[String], what: &str) {
    let clean = redactor.value(value.clone());
    let shown = unwrapped(clean.get());
    for needle in needles {
        assert!(!shown.contains(needle.as_str()), "{what}: {needle:?} survives in {shown}");
    }
    assert!(shown.contains(REDACTED) || clean.get().to_string().contains(REDACTED), "{what}: {shown}");
    let again = redactor.value(clean.get().clone());
    assert_eq!(again.get(), clean.get(), "{what}: not idempotent");
}

// QUA-5, T9-09, RUN-9
#[test]
fn known_shapes_in_every_carrier() {
    let redactor = Redactor::default();
    for (text, secret) in SHAPES {
        for (carrier, value) in carriers(text) {
            let needles = [secret.to_string(), percent(secret), html(secret)];
            check(&redactor, &value, &needles, &format!("{text} as {carrier}"));
        }
    }
}

// QUA-5, T9-09
#[test]
fn configured_values_in_every_carrier() {
    let redactor = redactor();
    for secret in VALUES {
        for (carrier, value) in carriers(secret) {
            let escaped = serde_json::to_string(secret).unwrap().trim_matches('"').to_owned();
            let needles = [secret.to_string(), percent(secret), html(secret), escaped];
            check(&redactor, &value, &needles, &format!("{secret:?} as {carrier}"));
        }
    }
}

// QUA-5, T9-09
#[test]
fn configured_values_in_every_encoding() {
    let redactor = redactor();
    for secret in VALUES {
        for (carrier, text) in value_carriers(secret) {
            let clean = redactor.text(&format!("<{text}>")).into_inner();
            assert!(clean.contains(REDACTED), "{secret:?} as {carrier}: {clean}");
            let kept: String = clean.replace(REDACTED, "");
            // What is left are the neighbours in the same encoding, never most of the value.
            assert!(kept.chars().count() <= 14, "{secret:?} as {carrier}: {clean}");
            assert_eq!(redactor.text(&clean).into_inner(), clean);
            let (head, tail) = (clean.starts_with('<'), clean.ends_with('>'));
            assert!(head && tail, "{carrier}: the text around stays: {clean}");
        }
    }
}

// QUA-5
#[test]
fn an_encoding_broken_over_lines() {
    let redactor = Redactor::new([Secret::new("a-rather-long-secret-value-here")]);
    let encoded = STANDARD.encode("x a-rather-long-secret-value-here y");
    let broken = format!("{}\r\n  {}\n", &encoded[..20], &encoded[20..]);
    let clean = redactor.text(&broken).into_inner();
    assert!(clean.contains(REDACTED) && !clean.contains(&encoded[8..18]), "{clean}");
}

// T9-09: a value split over two chunks, at every place, and all shapes too.
#[test]
fn streams_cut_anywhere() {
    let redactor = Arc::new(redactor());
    let secrets = VALUES.iter().map(|v| (*v, *v)).chain(SHAPES.iter().copied());
    for (text, secret) in secrets {
        let whole = format!("before it came {text} and after it");
        let expected = redactor.text(&whole).into_inner();
        for (at, _) in whole.char_indices() {
            for live in [false, true] {
                let mut stream = if live {
                    StreamRedactor::live(redactor.clone())
                } else {
                    StreamRedactor::new(redactor.clone())
                };
                let mut out = stream.push(&whole[..at]);
                out += &stream.push(&whole[at..]);
                out += &stream.finish();
                assert!(!out.contains(secret), "{text:?} cut at {at} (live {live}): {out}");
                assert_eq!(out, expected, "{text:?} cut at {at} (live {live})");
            }
        }
    }
}

// T9-09: in small pieces, behind a lot of other output, and always bounded.
#[test]
fn streams_are_bounded_and_say_the_same() {
    let redactor = Arc::new(redactor());
    let filler = "some ordinary line of output, 0123456789 abcdef\n".repeat(40);
    for (text, secret) in SHAPES {
        let whole = format!("{filler}token: {text}\n{filler}");
        let mut stream = StreamRedactor::new(redactor.clone());
        let mut out = String::new();
        for letters in whole.chars().collect::<Vec<_>>().chunks(3) {
            out += &stream.push(&letters.iter().collect::<String>());
            assert!(stream.held_bytes() <= 96 * 1024);
        }
        out += &stream.finish();
        assert!(!out.contains(secret), "{text}");
        assert_eq!(out, redactor.text(&whole).into_inner());
    }
    let mut stream = StreamRedactor::new(redactor.clone());
    let mut out = stream.push("-----BEGIN PRIVATE KEY-----\n");
    for _ in 0..3000 {
        out += &stream.push("MIIEowIBAAKCAQEAq83nCanaryBodyMIIEowIBAAKCAQEAq83nCanaryBody1234\n");
        assert!(stream.held_bytes() <= 100 * 1024);
    }
    let mut words = StreamRedactor::live(Arc::new(Redactor::default()));
    assert_eq!(words.push("hello wor"), "hello ");
    assert_eq!(words.push("ld and"), "world ");
}

// T9-09
#[test]
fn ordinary_text_stays_to_the_byte() {
    let redactor = Redactor::new([Secret::new("S3cretValue")]);
    for text in [
        "",
        "The bearer of this letter, a basic understanding, bearer authentication and Basic auth.",
        "bearer internationalization; Basic realm=\"x\"; basic training",
        "sk-learn-compatible-estimators, task-0123456789012345, disk-usage-report-2024-01",
        "asiapacificsoutheast and akiaaaaaaaaaaaaaaaaa",
        "http://localhost:8080/a@b ssh://git@github.com:22/x git@github.com:org/repo https://[::1]:80/",
        "postgres://${USER}:${PASSWORD}@host/db redis://:***@h",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 12:30:59 123456:short",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "100% sure & certain \\ C:\\Users\\x \u{1b}[0m é ﬁ ｗｉｄｅ \u{200b} 日本",
        "eyJust a word. eyJ.a.b xoxo-hugs npm_config_registry hf_hub",
        "tokens: 812, password reset, cookie banner",
        "[redacted] and [redacted][redacted]",
    ] {
        assert_eq!(redactor.text(text).get(), text);
        assert!(!redactor.finds(text));
    }
    let value = json!({"a": ["x", 1, null, true, 1.5], "b": {"c": "é\u{301}"}, "päth": "a/b"});
    assert_eq!(redactor.value(value.clone()).get(), &value);
}

// T9-09: only the secret goes, the words around it stay.
#[test]
fn only_the_span_is_replaced() {
    let redactor = Redactor::new([Secret::new("S3cretValue")]);
    for (text, clean) in [
        ("é a=S3cretValue; ﬁn", "é a=[redacted]; ﬁn"),
        ("é Ｓ3cret\u{200b}Value ﬁn", "é [redacted] ﬁn"),
        ("postgres://u:p4ss@h/d", "postgres://u:[redacted]@h/d"),
        ("Authorization: Bearer abc123DEF456", "Authorization: Bearer [redacted]"),
        ("S3cretValueS3cretValue", "[redacted][redacted]"),
        ("key sk-abcdefghijklmnopqrstuvwx.", "key [redacted]."),
        (PEM, "[redacted]"),
    ] {
        assert_eq!(redactor.text(text).get(), clean);
    }
}

// QUA-5, T9-09: what a bound cut through is a secret all the same.
#[test]
fn halves_beside_a_cut_go() {
    let value = "hunter-RRSSTTUUVV-0099";
    let redactor = Redactor::new([Secret::new(value), Secret::new("pass phrase with spaces")]);
    for at in 6..value.len() - 6 {
        let (head, tail) = value.split_at(at);
        for text in [
            format!("x {head}\n[… 241001 of 261001 bytes left out here …]\n{tail} y"),
            format!("x {head}\n[… 12 of 99 bytes omitted here; ask again …]\n{tail} y"),
            format!("call_{head}…"),
        ] {
            let clean = redactor.text(&text).into_inner();
            assert!(!clean.contains(&head[..6]) && !clean.contains(&tail[tail.len() - 6..]), "{clean}");
            assert!(clean.contains('…'), "{clean}");
            assert_eq!(redactor.text(&clean).into_inner(), clean);
        }
    }
    assert_eq!(redactor.text("my pass phrase wi…").into_inner(), "my [redacted]…");
    // Without a cut it is an ordinary word, and so is a short beginning.
    for text in ["hunter-RRSSTTUU", "the hunt… goes on", "… and so on"] {
        assert_eq!(redactor.text(text).into_inner(), text);
    }
}
