//! Carries the built front end (`web/dist`) in the program. Where it was not built, the list is empty and the console
//! says how to build it: neither node nor a network is needed to build this crate.
#![allow(clippy::disallowed_methods, reason = "a build script reads what it embeds")]

use std::fmt::Write as _;
use std::io::Write as _;
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
    let out = PathBuf::from(std::env::var("OUT_DIR").unwrap_or_default());
    let mut code = String::from("static ASSETS: &[(&str, &[u8])] = &[\n");
    for (at, (name, path)) in files.iter().enumerate() {
        let packed = out.join(format!("asset-{at}.gz"));
        if let Err(error) = pack(path, &packed) {
            println!("cargo::error={name} could not be packed: {error}");
        }
        let _infallible =
            writeln!(code, "    ({name:?}, include_bytes!({:?})),", packed.display().to_string());
    }
    code.push_str("];\n");
    if let Err(error) = std::fs::write(out.join("assets.rs"), code) {
        println!("cargo::error=the list of assets could not be written: {error}");
    }
}

/// Each file is carried as browsers take it: a third of its size.
fn pack(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&std::fs::read(from)?)?;
    std::fs::write(to, encoder.finish()?)
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
