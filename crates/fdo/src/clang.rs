//! Compiling a program again with Clang, by a profile of the one before.

use crate::fault::FdoError;
use crate::run::run;
use crate::tools::find;
use std::path::Path;
use std::process::Command;

/// What a program must be compiled with so that a profile can be told by its lines.
pub const DEBUG_FLAGS: &str = "-gline-tables-only -fdebug-info-for-profiling";

/// Makes what `clang -fprofile-sample-use` reads, at `output`, of a program and its branches as `llvm-profgen
/// --unsymbolized-profile` reads them: what that warns of.
///
/// # Errors
/// If there is no llvm-profgen, or it fails.
pub fn sample_profile(binary: &Path, branches: &str, output: &Path) -> Result<Vec<String>, FdoError> {
    let profgen = find("llvm-profgen", "llvm-19")?;
    let file = tempfile::NamedTempFile::new();
    let written = file.and_then(|file| std::fs::write(file.path(), branches).map(|()| file));
    let file = written.map_err(|cause| FdoError::System {
        what: "write a file in",
        path: std::env::temp_dir(),
        cause,
    })?;
    let option = |name: &str, path: &Path| format!("--{name}={}", path.display());
    let said = run(Command::new(profgen).arg("--use-offset=0").args([
        option("unsymbolized-profile", file.path()),
        option("binary", binary),
        option("output", output),
    ]))?;
    Ok(said.lines().filter(|line| line.contains("warning:")).map(String::from).collect())
}

/// Has a shell build the program at `output`, with `$OUTPUT` and `$FDO_FLAGS` set for it.
///
/// # Errors
/// If that fails, or makes no file.
pub fn build(command: &str, output: &Path, profile: Option<&Path>) -> Result<(), FdoError> {
    let mut flags = DEBUG_FLAGS.to_string();
    if let Some(profile) = profile {
        flags += &format!(" -fprofile-sample-use={}", profile.display());
    }
    // What a former build left must not be taken for this one's.
    let _ = std::fs::remove_file(output);
    let mut shell = Command::new("sh");
    run(shell.args(["-c", command]).env("OUTPUT", output).env("FDO_FLAGS", flags))?;
    match std::fs::metadata(output) {
        Ok(_) => Ok(()),
        Err(cause) => {
            Err(FdoError::System { what: "find what was to be built,", path: output.into(), cause })
        }
    }
}
