//! Builds the helper: a small program of its own that holds no more than the standard library, linked so that
//! it needs no loader. It is carried inside the host's program and started from memory.
#![allow(clippy::disallowed_methods, reason = "a build script starts the compiler as cargo tells it to")]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=helper");
    println!("cargo::rerun-if-changed=src/wire.rs");
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let out = PathBuf::from(var("OUT_DIR")).join("helper");
    let mut rustc = Command::new(var("RUSTC"));
    rustc.args(["--edition=2024", "--crate-type=bin", "--crate-name=sandbox_helper", "helper/main.rs"]);
    rustc.arg("--target").arg(var("TARGET")).arg("-o").arg(&out);
    for option in [
        "target-feature=+crt-static",
        "relocation-model=static",
        "opt-level=z",
        "panic=abort",
        "strip=symbols",
        "codegen-units=1",
    ] {
        rustc.arg("-C").arg(option);
    }
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={linker}"));
    }
    let built = rustc.status().is_ok_and(|status| status.success());
    assert!(
        built,
        "the sandbox's helper could not be built; it is linked statically and needs the C library's static \
         archive (libc6-dev, glibc-static or musl-dev)"
    );
    // Packed it takes less than half the room; unpacking it once takes a few milliseconds.
    let packed = std::fs::read(&out).and_then(|program| {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&program)?;
        std::fs::write(out.with_extension("deflate"), encoder.finish()?)
    });
    assert!(packed.is_ok(), "the sandbox's helper could not be packed: {packed:?}");
}
