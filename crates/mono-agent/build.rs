//! Link options for the small release binary: the table of relocations packed (1 MB), functions that came out alike
//! kept once. Only where the toolchain's own linker, LLD, is used; elsewhere the binary is somewhat larger.
#![allow(clippy::disallowed_methods, reason = "a build script learns from the environment what cargo builds")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let is_lld = var("TARGET") == "x86_64-unknown-linux-gnu" && var("RUSTC_LINKER").is_empty();
    if var("PROFILE") == "release" && is_lld {
        // The dynamic loader reads the packed form from glibc 2.36 on (Debian 12).
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}
