//! Carries the built front end (`web/dist`) in the program. Where it was not built, the list is empty and the console
//! says how to build it: neither node nor a network is needed to build this crate.
#![allow(clippy::disallowed_methods, reason = "a build script reads what it embeds")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../web/dist");
    // A folder that isn't there yet is watched by the one above it.
    println!("cargo::rerun-if-changed=build.rs");
    let watched = if root.is_dir() { root.clone() } else { root.join("..") };
    println!("cargo::rerun-if-changed={}", watched.display());
    let mut files = Vec::new();
    collect(&root, &root, &mut files);
    files.sort();
    let mut code = String::from("static ASSETS: &[(&str, &[u8])] = &[\n");
    for (name, path) in &files {
        let _infallible = writeln!(code, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    code.push_str("];\n");
    let out = PathBuf::from(std::env::var("OUT_DIR").unwrap_or_default()).join("assets.rs");
    if let Err(error) = std::fs::write(&out, code) {
        println!("cargo::error=the list of assets could not be written: {error}");
    }
}

/// The files below a folder, by their names from its root; source maps are left out.
fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_none_or(|ending| ending != "map")
            && let Ok(name) = path.strip_prefix(root)
            && let Ok(path) = path.canonicalize()
        {
            files.push((name.to_string_lossy().replace('\\', "/"), path));
        }
    }
}
