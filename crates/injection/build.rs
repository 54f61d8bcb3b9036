//! Builds the payload that runs inside the program under count. It is linked without the standard library,
//! with a panic handler and features of its own, so it has its own cargo run and target folder.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join("payload");
    let crates = own.parent().expect("the folder of crates");
    // Relative, so that another checkout with the same target folder looks at its own files.
    for part in ["runtime", "tracer", "abi", "isa"] {
        println!("cargo::rerun-if-changed=../{part}");
    }
    let mut build = Command::new(env::var_os("CARGO").expect("set by cargo"));
    build
        .args(["build", "--release", "--locked", "--manifest-path"])
        .arg(crates.join("runtime/payload/Cargo.toml"))
        .arg("--target-dir")
        .arg(&out)
        // The flags and wrappers of the outer run are not meant for a freestanding program.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_TARGET_DIR");
    let names = env::vars_os().map(|(name, _)| name);
    // Nor are profiles: with checks it would need what it has not.
    for name in names.filter(|name| name.as_encoded_bytes().starts_with(b"CARGO_PROFILE_")) {
        build.env_remove(name);
    }
    let status = build.status().expect("cargo runs");
    assert!(status.success(), "the payload does not build");
    println!("cargo::rustc-env=TIMEWISE_PAYLOAD={}", out.join("release/timewise-payload").display());
}
