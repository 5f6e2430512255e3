//! Dependencies point down, and each crate that reaches the world has one owner.

#![allow(clippy::unwrap_used, reason = "what can't be set up fails the test")]

use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::BTreeMap;

/// The layer of each crate: the table of ARCHITECTURE.md.
const LAYERS: &[(&str, u8)] = &[
    ("host-vocab", 0),
    ("host-turn", 1),
    ("host-policy", 1),
    ("host-redact", 1),
    ("host-event", 2),
    ("host-ports", 3),
    ("host-surface", 4),
    ("host-run", 5),
    ("host-history", 5),
    ("host-tools", 6),
    ("host-mcp", 6),
    ("host-apps", 6),
    ("host-memory", 6),
    ("host-model", 6),
    ("host-channels", 6),
    ("host-api", 6),
    ("host-console", 6),
    ("host-files", 7),
    ("host-sandbox", 7),
    ("host-net", 7),
    ("host-http", 7),
    ("host-store", 7),
    ("host-config", 8),
    ("host-app", 9),
    ("mono-agent", 10),
];

/// Beside the layers: for tests and measurements alone.
const BESIDE: &[&str] = &["host-testkit", "host-bench"];

/// What only one crate may use: (crate, owner).
const OWNED: &[(&str, &str)] = &[
    ("rmcp", "host-mcp"),
    ("rusqlite", "host-store"),
    ("reqwest", "host-net"),
    ("clap", "mono-agent"),
    ("landlock", "host-sandbox"),
    ("rustyline", "host-channels"),
];

fn dependencies() -> BTreeMap<String, Vec<String>> {
    let metadata = MetadataCommand::new().no_deps().other_options(["--offline".to_owned()]).exec().unwrap();
    metadata
        .packages
        .iter()
        .map(|package| {
            let normal = package.dependencies.iter().filter(|it| it.kind == DependencyKind::Normal);
            (package.name.to_string(), normal.map(|it| it.name.clone()).collect())
        })
        .collect()
}

#[test]
fn every_dependency_goes_to_a_lower_layer() {
    let layers: BTreeMap<&str, u8> = LAYERS.iter().copied().collect();
    let mut faults = Vec::new();
    for (package, needs) in dependencies() {
        if BESIDE.contains(&package.as_str()) {
            continue;
        }
        let Some(mine) = layers.get(package.as_str()) else {
            faults.push(format!("{package} has no layer: add it to LAYERS and to ARCHITECTURE.md"));
            continue;
        };
        for need in needs.iter().filter(|it| it.starts_with("host-") || *it == "mono-agent") {
            match layers.get(need.as_str()) {
                Some(theirs) if theirs < mine => {}
                Some(_) => faults.push(format!("{package} must not depend on {need}: it is no lower layer")),
                None => {
                    faults.push(format!("{package} must not depend on {need}, which is beside the layers"))
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_world_has_owners() {
    let mut faults = Vec::new();
    for (package, needs) in dependencies() {
        if BESIDE.contains(&package.as_str()) {
            continue;
        }
        for (owned, owner) in OWNED {
            if needs.iter().any(|it| it == owned) && package != *owner {
                faults.push(format!("{package} uses {owned}, which belongs to {owner}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_architecture_page_names_every_crate_and_stays_short() {
    let page = include_str!("../../../ARCHITECTURE.md");
    assert!(page.lines().count() <= 300);
    for package in dependencies().keys() {
        assert!(page.contains(&format!("`{package}`")), "ARCHITECTURE.md does not name {package}");
    }
}
