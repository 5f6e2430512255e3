//! The part of `docs/policy.md` that this crate writes.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of files in the repository")]

use host_policy::deprecated_names_page;
use std::path::Path;

const BEGIN: &str =
    "<!-- begin: old names. Written by `UPDATE_DOCS=1 cargo test -p host-policy docs_`. -->\n";
const END: &str = "<!-- end: old names -->\n";

/// The page's section: one heading lower than the page of its own.
fn section() -> String {
    format!("#{}", deprecated_names_page())
}

// POL-10: `UPDATE_DOCS=1 cargo test -p host-policy docs_` writes the section anew.
#[test]
fn docs_old_names_are_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the mark where the section begins");
    let (written, after) = rest.split_once(END).expect("the page has the mark where the section ends");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", section())).unwrap();
        return;
    }
    assert!(written == section(), "docs/policy.md is not what the table says; run with UPDATE_DOCS=1");
}
