//! Builds the helper: a small program of its own that holds no more than the standard library, linked so that
//! it needs no loader. It is carried inside the host's program and started from memory.
#![allow(clippy::disallowed_methods, reason = "a build script starts the compiler as cargo tells it to")]

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
        "opt-level=s",
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
}
