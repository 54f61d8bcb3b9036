//! Rules about single files: each Rust file says what lives there, none is a drawer for odds and
//! ends, and nothing names a place outside the repository.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// Past this length a file needs a reason; past it by far it needs a second idea taken out.
const LONG: usize = 500;

/// Names that say nothing about what lives in a file.
const DRAWERS: [&str; 5] = ["utils", "common", "types", "misc", "helpers"];

/// Texts that must not occur: places of one developer's machine. Put together here so that this
/// file does not contain them.
fn forbidden() -> Vec<String> {
    [["..", "/shared"], ["/wo", "rk/"], ["/root", "/."], ["/ho", "me/"]].map(|parts| parts.concat()).to_vec()
}

/// Paths of all files that git tracks or would track, relative to the root.
pub fn tracked(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output()
        .context("git ls-files")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let there = text.split_terminator('\0').filter(|p| root.join(p).is_file());
    Ok(there.map(str::to_string).collect())
}

/// The longest Rust files, longest first, those of [`LONG`] lines and more and at least five.
pub fn longest(root: &Path, files: &[String]) -> Result<Vec<(usize, String)>> {
    let mut lengths = Vec::new();
    for path in files.iter().filter(|p| p.ends_with(".rs")) {
        lengths.push((std::fs::read_to_string(root.join(path))?.lines().count(), path.clone()));
    }
    lengths.sort_by(|a, b| b.cmp(a));
    let keep = lengths.iter().filter(|(lines, _)| *lines >= LONG).count().max(5);
    lengths.truncate(keep);
    Ok(lengths)
}

/// Every broken rule, one sentence each.
pub fn faults(root: &Path, files: &[String]) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for path in files {
        let bytes = std::fs::read(root.join(path)).with_context(|| path.clone())?;
        // What is not text has no words in it.
        if let Ok(text) = std::str::from_utf8(&bytes) {
            faults.extend(faults_of(path, text));
        }
    }
    Ok(faults)
}

fn faults_of(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(stem) = path.strip_suffix(".rs") {
        if !text.starts_with("//!") {
            faults.push(format!("{path}: starts without a //! line that says what lives there"));
        }
        let name = stem.strip_suffix("/mod").unwrap_or(stem).rsplit('/').next().unwrap_or(stem);
        if DRAWERS.contains(&name) {
            faults.push(format!("{path}: its name says nothing of what lives there"));
        }
    }
    for word in forbidden() {
        if let Some(line) = text.lines().position(|line| line.contains(&word)) {
            faults.push(format!("{path}:{}: names {word}, which exists on one machine only", line + 1));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_file_passes() {
        assert_eq!(faults_of("crates/a/src/loops.rs", "//! Loops.\nfn f() {}\n"), [""; 0]);
    }

    #[test]
    fn bad_files_are_named_with_the_rule() {
        assert_eq!(faults_of("src/loops.rs", "fn f() {}\n").len(), 1);
        assert_eq!(faults_of("src/utils.rs", "//! Drawer.\n").len(), 1);
        assert_eq!(faults_of("src/utils/mod.rs", "//! Drawer.\n").len(), 1);
        let text = format!("first\nsee {}\n", forbidden()[0]);
        assert!(faults_of("README.md", &text)[0].starts_with("README.md:2: names"));
    }
}
