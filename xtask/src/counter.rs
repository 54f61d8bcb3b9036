//! The command that counts: built once, then put before a program.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A built command that counts a program without a word of its own and ends as the program ended.
pub struct Counter {
    program: PathBuf,
}

impl Counter {
    /// Builds it, optimised.
    ///
    /// # Errors
    /// If it does not build.
    pub fn build(root: &Path) -> Result<Counter> {
        Ok(Counter { program: build_example(root, "executions")? })
    }

    /// Builds the one that counts paths as well, in a second run, whose output it shows.
    ///
    /// # Errors
    /// If it does not build.
    pub fn of_paths(root: &Path) -> Result<Counter> {
        Ok(Counter { program: build_example(root, "inside")? })
    }

    /// What to put before a program so that its counts go to `file`.
    pub fn prefix(&self, file: &Path) -> Vec<String> {
        self.prefix_with(&[], file)
    }

    /// Likewise, with options of the command.
    pub fn prefix_with(&self, options: &[&str], file: &Path) -> Vec<String> {
        let [program, file] = [self.program.as_path(), file].map(|path| path.to_string_lossy());
        [&[&*program], options, &[&*file]].concat().into_iter().map(str::to_string).collect()
    }
}

/// Builds an example of one of the packages, optimised: its path.
///
/// # Errors
/// If it does not build.
pub fn build_example(root: &Path, name: &str) -> Result<PathBuf> {
    let built = Command::new(env!("CARGO"))
        // Not of its package alone: libraries would be built once more, with fewer features than the command's.
        .args(["build", "--quiet", "--release", "--example", name])
        .current_dir(root)
        .status()
        .context("cargo")?;
    ensure!(built.success(), "the example {name} does not build");
    Ok(target_folder(root).join("release/examples").join(name))
}

/// Where cargo puts what it builds.
pub fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}
