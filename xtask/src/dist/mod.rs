//! `cargo xtask dist`: one static executable in an archive, with what belongs to it.
//!
//! The C library is linked into it, so that it runs on any Linux for x86-64 whatever libraries are there.
//! `docs/carrying.md` says which kernels it needs.

mod alone;
mod archive;
mod notices;

use crate::counter::target_folder;
use alone::Kernel;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to do besides.
#[derive(Args)]
pub struct Options {
    /// Run the executable where there is nothing else, and as on Linux 4.9; needs root and busybox-static
    #[arg(long)]
    check: bool,
    /// Run it in this root folder of another system as well, as debootstrap makes one
    #[arg(long, value_name = "FOLDER", requires = "check")]
    root: Vec<PathBuf>,
}

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds the archive, and says where it is.
///
/// # Errors
/// If it does not build, is not static, or does not run.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let program = build(root)?;
    let elf = fs::read(&program).with_context(|| program.display().to_string())?;
    ensure!(is_static(&elf), "{}: needs a loader, and so a C library", program.display());
    let name = format!("timewise-{}-x86_64-linux", version(&program)?);
    let folder = target_folder(root).join("dist").join(&name);
    archive::fill(root, &program, &folder)?;
    fs::write(folder.join("LICENCES-OF-OTHERS"), notices::notices(root, TARGET)?)?;
    if options.check {
        for kernel in [Kernel::Own, Kernel::OfVersion4_9] {
            println!("alone, {kernel}: {}", alone::run_alone(&folder, kernel)?);
            for other in &options.root {
                println!("{}, {kernel}: {}", other.display(), alone::run_in(&folder, other, kernel)?);
            }
        }
    }
    let packed = archive::pack(root, &folder)?;
    println!(
        "{}: {} bytes; the executable alone has {}",
        packed.display(),
        packed.metadata()?.len(),
        elf.len()
    );
    Ok(())
}

fn build(root: &Path) -> Result<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo"))).context("no home folder")?;
    // Where it was built concerns nobody.
    let hidden = |folder: &Path, name: &str| format!("--remap-path-prefix={}={name}", folder.display());
    let flags = [
        "-Ctarget-feature=+crt-static".into(),
        "-Cstrip=debuginfo".into(),
        hidden(&home.join("registry/src"), "registry"),
        hidden(root, "timewise"),
    ];
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--target", TARGET, "--bin", "timewise"])
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .current_dir(root)
        .status()
        .context("cargo")?;
    ensure!(built.success(), "timewise does not build");
    Ok(target_folder(root).join(TARGET).join("release/timewise"))
}

/// Whether an ELF file of 64 bits names no loader.
fn is_static(elf: &[u8]) -> bool {
    const INTERPRETER: usize = 3;
    let number = |at: usize, bytes: usize| {
        let field = elf.get(at..at + bytes)?;
        Some(field.iter().rev().fold(0_usize, |sum, &byte| sum << 8 | usize::from(byte)))
    };
    let headers = || Some((number(32, 8)?, number(54, 2)?, number(56, 2)?));
    let Some((table, size, count)) = headers() else { return false };
    (0..count).all(|header| number(table + header * size, 4).is_some_and(|kind| kind != INTERPRETER))
}

fn version(program: &Path) -> Result<String> {
    let output = Command::new(program).arg("--version").output().context("the executable does not run")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.split_whitespace().last().context("no version")?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_a_loader_is_not_static() {
        assert!(!is_static(&fs::read("/bin/sh").unwrap()));
        assert!(!is_static(b"\x7fELF"));
        let mut none = vec![0; 64];
        none[54] = 56;
        assert!(is_static(&none));
    }
}
