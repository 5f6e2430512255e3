//! The registry and the types agree: a config that sets every field has a typed form.

use crate::Findings;
use crate::environment::Environment;
use crate::paths::Bases;
use crate::registry::{Branch, Shape, tree};
use crate::resolved::Resolved;
use crate::settings::Settings;
use crate::spec::Dialect;
use serde_json::{Map, Value, json};

fn sample(shape: &Shape, branch: &Branch, path: &str) -> Value {
    match shape {
        Shape::Bool => json!(true),
        Shape::Int(least, most) => json!((*least).max(5).min(*most)),
        Shape::Number(least, _) => json!(least),
        Shape::Text | Shape::AnyText => json!("x"),
        Shape::Choice(choices) => json!(choices[0]),
        Shape::Model => json!("ollama:x"),
        Shape::EnvName => json!("SOME_NAME"),
        Shape::Path(_) => json!("p"),
        Shape::Url => json!("https://example.com/x"),
        Shape::Zone => json!("UTC"),
        Shape::Null => Value::Null,
        Shape::List(inner) => json!([sample(inner, &Branch::default(), path)]),
        Shape::Rows => json!([object(branch.item.as_deref().unwrap(), path)]),
        Shape::Map => object(branch, path),
        Shape::Open => json!({}),
        Shape::Either(shapes) => sample(&shapes[0], branch, path),
    }
}

fn object(branch: &Branch, path: &str) -> Value {
    let mut map = Map::new();
    for (key, child) in &branch.children {
        let below = if path.is_empty() { (*key).to_owned() } else { format!("{path}.{key}") };
        // These two exclude others, and have tests of their own.
        if below.ends_with(".key.apiKeyEnv") || below == "providers.local" {
            continue;
        }
        let value = match child.field {
            Some(field) => sample(&field.shape, child, &below),
            None => object(child, &below),
        };
        map.insert((*key).to_owned(), value);
    }
    if let Some(any) = branch.any.as_deref() {
        let key = if path == "pricing" { "ollama:x" } else { "key" };
        let below = format!("{path}.{key}");
        let value = match any.field {
            Some(field) => sample(&field.shape, any, &below),
            None => object(any, &below),
        };
        map.insert(key.to_owned(), value);
    }
    Value::Object(map)
}

// CFG-1, CFG-2
#[test]
fn every_field_has_a_typed_form() {
    let text = object(tree(), "").to_string();
    let document = crate::source::read(text.as_bytes()).unwrap();
    let mut findings = Findings::default();
    let mut walk = crate::check::Walk::new("all", &mut findings);
    walk.section(tree(), &document.root, "");
    assert!(!findings.has_error(), "{:#?}", findings.into_list());
    let env = Environment::new();
    let settings = Settings::resolve("all", Some(&document.root), &env, &mut findings);
    let bases = Bases { folder: "/f".into(), workspace: "/f/w".into(), home: None };
    let mcp = crate::McpConfig::default();
    let resolved = Resolved { dialect: Dialect::Json, config_file: None, bases, env, settings, mcp };
    let spec = resolved.spec(&mut findings);
    assert!(!findings.has_error(), "{:#?}", findings.into_list());
    let spec = spec.unwrap();
    assert_eq!(spec.artifacts.dir, std::path::Path::new("/f/p"));
    assert_eq!(spec.sandbox.writable_roots, [std::path::Path::new("/f/w/p")]);
    assert_eq!(spec.subagents.definitions[0].prompt_path.as_deref(), Some(std::path::Path::new("/f/p")));
    assert!(spec.memory.is_some() && spec.continuations.is_some());
    assert_eq!(spec.prices.len(), 2);
}

fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| pointers(value, &format!("{at}/{key}"), out))
        }
        Value::Array(items) => pointers(&items[0], &format!("{at}/0"), out),
        _ => {}
    }
}

// CFG-3: whatever one value is, it is either told or has a typed form, and no message has two lines.
#[test]
fn no_odd_value_slips_through() {
    let whole = object(tree(), "");
    let mut all = Vec::new();
    pointers(&whole, "", &mut all);
    let odd = [
        Value::Null,
        json!(false),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(i64::MAX),
        json!(""),
        json!("a\nb\u{1b}"),
        json!("~"),
        json!("1"),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"a": {"b": 1}}),
    ];
    for (index, pointer) in all.iter().enumerate() {
        // Two of them at each place, in turn: all would take too long.
        for value in (0..2).map(|k| &odd[(index + k * 5) % odd.len()]) {
            let mut config = whole.clone();
            *config.pointer_mut(pointer).unwrap() = value.clone();
            let document = crate::source::read(config.to_string().as_bytes()).unwrap();
            let mut findings = Findings::default();
            crate::check::Walk::new("all", &mut findings).section(tree(), &document.root, "");
            let env = Environment::new();
            let settings = Settings::resolve("all", Some(&document.root), &env, &mut findings);
            let bases = Bases { folder: "/f".into(), workspace: "/f/w".into(), home: None };
            let mcp = crate::McpConfig::default();
            let resolved = Resolved { dialect: Dialect::Json, config_file: None, bases, env, settings, mcp };
            crate::rules::check(&resolved, &mut findings);
            let spec = resolved.spec(&mut findings);
            assert!(spec.is_some() || findings.is_fatal(), "{pointer} = {value}");
            for finding in findings.into_list() {
                let said = &finding.diagnostic;
                assert!(said.code != crate::finding::code::BUG, "{pointer} = {value}: {}", said.message);
                assert!(!said.message.contains(['\n', '\u{1b}']), "{pointer} = {value}: {}", said.message);
                assert!(
                    said.hints.iter().all(|hint| !hint.contains(['\n', '\u{1b}'])),
                    "{pointer} = {value}"
                );
            }
        }
    }
}
