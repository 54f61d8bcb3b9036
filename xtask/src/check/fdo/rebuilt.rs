//! Programs that `timewise fdo` makes of kernels of the suite: they do the same, and hot code was laid out.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// Kernels, and arguments with which they run for some tenths of a second.
const KERNELS: [(&str, &[&str]); 2] = [("interp", &["0", "40"]), ("qsortdiv", &["400"])];

/// What BOLT can do most with: it leaves functions with jump tables alone.
const FOR_BOLT: &str = "-Wl,--emit-relocs -fno-jump-tables";

/// Hot functions are to stand together, in a section of their own.
const FOR_CLANG: &str = "-Wl,-z,keep-text-section-prefix";

/// Has each kernel made anew with Clang and with BOLT, of which `llvm` is the folder, and prints what came of it.
///
/// # Errors
/// If that fails, if the result does something else, or if no hot code was laid out.
pub fn check(root: &Path, timewise: &Path, llvm: &Path, scratch: &Path) -> Result<()> {
    let (base, output) = (scratch.join("base"), scratch.join("rebuilt"));
    for (name, arguments) in KERNELS {
        let source = root.join(format!("suite/kernels/{name}.c"));
        let compiler = format!("{}/clang -O2 -fuse-ld=lld", llvm.display());
        let (from, to) = (source.display(), base.display());
        shell(&format!("{compiler} {FOR_BOLT} -o {to} {from} -lm"))?;
        let build = format!("{compiler} {FOR_CLANG} $FDO_FLAGS -o $OUTPUT {from} -lm");
        let made = |how: &[&str]| {
            let mut command = Command::new(timewise);
            command.arg("fdo").args(how).args(["--pairs", "6", "-o"]).arg(&output).arg("--").arg(&base);
            said_by(command.args(arguments))
        };
        let said = made(&["--bolt"])?;
        ensure!(!said.contains("contradict"), "{name}: {said}");
        ensure!(!said.contains("laid out no function"), "{name}: BOLT laid out no function\n{said}");
        println!("{name:14} {}", said.lines().last().unwrap_or_default());
        let said = made(&["--clang", &build])?;
        let sections = Command::new("readelf").arg("-SW").arg(&output).output().context("readelf")?;
        let sections = String::from_utf8_lossy(&sections.stdout).into_owned();
        ensure!(sections.contains(".text.hot"), "{name}: Clang takes no function for hot\n{said}");
        println!("{name:14} {}", said.lines().last().unwrap_or_default());
    }
    for file in [base, output] {
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}

/// What `timewise fdo` says; that nothing became faster is no fault here.
fn said_by(command: &mut Command) -> Result<String> {
    const NOT_FASTER: i32 = 3;
    let done = command.output().context("timewise")?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    ensure!(done.status.success() || done.status.code() == Some(NOT_FASTER), "{}: {said}", done.status);
    Ok(said)
}

fn shell(command: &str) -> Result<()> {
    let done = Command::new("sh").args(["-c", command]).output().context("sh")?;
    ensure!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}
