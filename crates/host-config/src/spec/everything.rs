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
