//! Laws of stage 1 (RUN-9), and the walk (reference rules 14.9 and 14.11).

use host_redact::{DEPTH_MAX, ITEMS_MAX, KEYS_MAX, REDACTED, Redactor, StreamRedactor};
use host_vocab::Secret;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::Arc;

fn secret() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9]{4,12}", "[A-Za-z0-9+/%\\\\\"& ü]{4,16}", "\\PC{4,10}", Just("acte".to_owned())]
}

/// A text in which secrets stand, cut and mixed with markers and encodings' signs.
fn text(secrets: Vec<String>) -> impl Strategy<Value = String> {
    let part = prop_oneof![
        proptest::sample::select(secrets.clone()),
        proptest::sample::select(secrets).prop_map(|s| s.chars().take(3).collect()),
        "\\PC{0,8}",
        "[a-z \\\\%&\\n]{0,8}",
        Just(REDACTED.to_owned()),
        Just("[redac".to_owned()),
        Just("Bearer abc123DEF4".to_owned()),
        Just("a://b:".to_owned()),
        Just("@h".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----".to_owned()),
    ];
    proptest::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

fn case() -> impl Strategy<Value = (Vec<String>, String)> {
    proptest::collection::vec(secret(), 1..4).prop_flat_map(|secrets| (Just(secrets.clone()), text(secrets)))
}

fn json(secrets: Vec<String>) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text(secrets.clone()).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        let key = prop_oneof![text(secrets.clone()), Just("apiKey".to_owned()), "[a-z]{1,3}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn redactor(secrets: &[String]) -> Redactor {
    Redactor::new(secrets.iter().map(Secret::new))
}

fn kept(text: &str) -> String {
    text.replace(REDACTED, "\u{0}")
}

/// The same shape: kinds and sizes, where nothing was replaced as a whole.
fn same_structure(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (_, Value::String(marker)) if marker == REDACTED => true,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_structure(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.values().zip(b.values()).all(|(a, b)| same_structure(a, b))
        }
        (Value::String(_), Value::String(_)) => true,
        (a, b) => a == b,
    }
}

fn strings(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            out.push(key.clone());
            strings(value, out);
        }),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

    // RUN-9, QUA-5
    #[test]
    fn text_is_idempotent_and_no_value_survives((secrets, text) in case()) {
        let redactor = redactor(&secrets);
        let once = redactor.text(&text).into_inner();
        prop_assert_eq!(redactor.text(&once).into_inner(), once.clone());
        for secret in &secrets {
            prop_assert!(!kept(&once).contains(secret.as_str()), "{:?} in {:?}", secret, once);
        }
    }

    // RUN-9, QUA-5
    #[test]
    fn values_keep_their_structure((secrets, value) in proptest::collection::vec(secret(), 1..4)
        .prop_flat_map(|secrets| (Just(secrets.clone()), json(secrets))))
    {
        let redactor = redactor(&secrets);
        let once = redactor.value(value.clone()).into_inner();
        let twice = redactor.value(once.clone()).into_inner();
        prop_assert_eq!(&twice, &once);
        prop_assert!(same_structure(&value, &once), "{} became {}", value, once);
        let mut all = Vec::new();
        strings(&once, &mut all);
        for secret in &secrets {
            prop_assert!(all.iter().all(|text| !kept(text).contains(secret.as_str())), "{:?} in {}", secret, once);
        }
    }

    // QUA-5: what has nothing to do with a secret is untouched.
    #[test]
    fn other_text_is_untouched(text in "[a-zäöü ,.!?\\n]{0,200}") {
        let redactor = Redactor::new([Secret::new("S3CR3T-VALUE"), Secret::new("0000-1111")]);
        prop_assert_eq!(redactor.text(&text).into_inner(), text);
    }

    // T9-09: pieces of a stream never let a value through.
    #[test]
    fn streams_let_no_value_through(
        (secrets, text) in case(),
        cuts in proptest::collection::vec(0_usize..40, 0..8),
        live in any::<bool>(),
    ) {
        let redactor = Arc::new(redactor(&secrets));
        let mut stream =
            if live { StreamRedactor::live(redactor.clone()) } else { StreamRedactor::new(redactor.clone()) };
        let (mut out, mut rest) = (String::new(), text.as_str());
        for cut in cuts {
            let at = rest.char_indices().nth(cut).map_or(rest.len(), |(at, _)| at);
            out += &stream.push(&rest[..at]);
            rest = &rest[at..];
        }
        out += &stream.push(rest);
        out += &stream.finish();
        for secret in &secrets {
            prop_assert!(!kept(&out).contains(secret.as_str()), "{:?} in {:?}", secret, out);
        }
    }
}

// RUN-9: non-numeric values under sensitive keys go, numbers stay.
#[test]
fn sensitive_keys() {
    let value = json!({
        "token": "x", "maxTokens": 4096, "access_token": {"a": 1}, "cookies": ["a"], "API-Key": true,
        "clientSecret": null, "password": "", "credentialType": "oauth", "nested": [{"X-Authorization": "abc"}],
        "api key": "stays", "token_count": 1.5
    });
    assert_eq!(
        Redactor::default().value(value).into_inner(),
        json!({
            "token": REDACTED, "maxTokens": 4096, "access_token": REDACTED, "cookies": REDACTED,
            "API-Key": REDACTED, "clientSecret": null, "password": REDACTED, "credentialType": REDACTED,
            "nested": [{"X-Authorization": REDACTED}], "api key": "stays", "token_count": 1.5
        })
    );
}

// RUN-9: renaming is deterministic and loses nothing.
#[test]
fn keys_are_renamed_without_collision() {
    let redactor = Redactor::new([Secret::new("alpha-key"), Secret::new("omega-key")]);
    let value = json!({"alpha-key": 1, "[redacted]": 2, "omega-key": 3, "[redacted]#3": 4, "x alpha-key": 5, "x omega-key": 6});
    let clean = redactor.value(value.clone()).into_inner();
    assert_eq!(
        clean.to_string(),
        r#"{"[redacted]#2":1,"[redacted]":2,"[redacted]#4":3,"[redacted]#3":4,"x [redacted]":5,"x [redacted]#2":6}"#
    );
    assert_eq!(redactor.value(value).into_inner(), clean);
    assert_eq!(redactor.value(clean.clone()).into_inner(), clean);
}

// The limits of the walk, each with its marker, and stable when walked again.
#[test]
fn limits_of_the_walk() {
    let redactor = Redactor::default();
    let mut deep = json!("x");
    for _ in 0..DEPTH_MAX + 3 {
        deep = json!([deep]);
    }
    let wide = Value::from(vec![1; ITEMS_MAX + 5]);
    let keys: Map<String, Value> = (0..KEYS_MAX + 5).map(|at| (format!("k{at}"), json!(at))).collect();
    let many = Value::from(vec![Value::from(vec![json!("y"); 900]); 20]);
    for (value, marker) in [
        (deep, "[max-depth]"),
        (wide, "[max-items]"),
        (Value::Object(keys), "[max-keys]"),
        (many, "[max-nodes]"),
    ] {
        let once = redactor.value(value).into_inner();
        assert!(once.to_string().contains(marker), "{marker}");
        assert_eq!(redactor.value(once.clone()).into_inner(), once, "{marker}");
    }
    let mut fits = json!("x");
    for _ in 0..DEPTH_MAX {
        fits = json!([fits]);
    }
    assert_eq!(redactor.value(fits.clone()).into_inner(), fits);
}

// REM-4
#[test]
fn environment_variables() {
    let variables = [
        ("T_API_KEY", "abc123xyz"),
        ("SECRET_FILE", "/run/secrets/one"),
        ("HOME", "/home/someone"),
        ("SHORT_TOKEN", "abc"),
        ("MAX_TOKENS", "8000"),
    ];
    let redactor = Redactor::from_environment(variables);
    assert_eq!(
        redactor.text("abc123xyz /run/secrets/one /home/someone abc 8000").get(),
        "[redacted] /run/secrets/one /home/someone abc [redacted]"
    );
    let more = redactor.with_more([Secret::new("/home/someone")]);
    assert_eq!(more.text("abc123xyz /home/someone").get(), "[redacted] [redacted]");
    assert_eq!(format!("{more:?}"), "Redactor { values: 3 }");
    let number = Redactor::new([Secret::new("123456789012")]);
    assert_eq!(number.value(json!([123456789012_u64, 5])).into_inner(), json!([REDACTED, 5]));
}
