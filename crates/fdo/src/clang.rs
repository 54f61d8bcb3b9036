//! Compiling a program again with Clang, by a profile of the one before.

use crate::fault::FdoError;
use crate::run::run;
use crate::tools::{find, path_to};
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

/// Has a shell build the program at `output`, with `$OUTPUT` and `$FDO_FLAGS` set for it, and `clang` on its path.
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
    shell.args(["-c", command]).env("OUTPUT", output).env("FDO_FLAGS", flags).env("PATH", path_to("clang"));
    // What the shell ran is of interest, and not that it was a shell.
    run(&mut shell).map_err(|error| match error {
        FdoError::Failed { why, .. } => FdoError::Failed { tool: format!("the build '{command}'"), why },
        other => other,
    })?;
    match std::fs::metadata(output) {
        Ok(_) => Ok(()),
        Err(cause) => {
            Err(FdoError::System { what: "find what was to be built,", path: output.into(), cause })
        }
    }
}

/// Makes sure that the profile had a say in `made`, which was built as `base` was without.
///
/// # Errors
/// [`FdoError::Unchanged`]; or one of them cannot be read.
pub fn ensure_changed(base: &Path, made: &Path) -> Result<(), FdoError> {
    let read = |path: &Path| {
        std::fs::read(path).map_err(|cause| FdoError::System { what: "read", path: path.into(), cause })
    };
    if read(base)? == read(made)? { Err(FdoError::Unchanged) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_its_flags_is_told_from_one_with_them() {
        let folder = tempfile::tempdir().unwrap();
        let [base, made] = ["base", "made"].map(|name| folder.path().join(name));
        let profile = folder.path().join("samples.prof");
        for (command, is_told) in [("echo $FDO_FLAGS > $OUTPUT", false), ("echo -O2 > $OUTPUT", true)] {
            build(command, &base, None).unwrap();
            build(command, &made, Some(&profile)).unwrap();
            let told = ensure_changed(&base, &made);
            assert_eq!(matches!(told, Err(FdoError::Unchanged)), is_told, "{command}: {told:?}");
        }
        assert!(matches!(build(":", &made, None), Err(FdoError::System { .. })));
    }

    #[test]
    fn a_build_that_fails_is_named_with_its_last_words() {
        let output = tempfile::tempdir().unwrap();
        let said = |command: &str| build(command, &output.path().join("made"), None).unwrap_err().to_string();
        assert_eq!(said("exit 3"), "the build 'exit 3' failed: exit status: 3: it did not say why");
        assert!(said("echo a; echo b; echo c >&2; exit 3").ends_with(" failed: exit status: 3: b; c"));
    }

    #[test]
    fn builds_find_clang_where_only_a_package_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("found");
        match (find("clang", "clang-19"), build("command -v clang > $OUTPUT", &output, None)) {
            (Ok(clang), Ok(())) => {
                assert_eq!(std::fs::read_to_string(output).unwrap().trim_end(), clang.to_str().unwrap());
            }
            (found, built) => assert!(found.is_err() && built.is_err(), "{found:?} {built:?}"),
        }
    }
}
