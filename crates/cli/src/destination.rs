//! Files that we write besides profiles: exports, pages, JSON.

use anyhow::{Context, bail};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Fails if `output` is the profile `file` that it is made of, which would be lost.
///
/// # Errors
/// In that case, whatever name `output` gives it.
pub fn spare(file: &Path, output: &Path) -> anyhow::Result<()> {
    if is_same(file, output)? {
        bail!(
            "'{}' is the profile itself, which would be overwritten; choose another file",
            output.display()
        );
    }
    Ok(())
}

/// Whether two paths name one file, or would.
///
/// # Errors
/// If there is no working directory.
pub fn is_same(file: &Path, other: &Path) -> io::Result<bool> {
    let identity = |path: &Path| fs::metadata(path).map(|about| (about.dev(), about.ino())).ok();
    Ok(match identity(other) {
        Some(existing) => identity(file) == Some(existing),
        None => std::path::absolute(other)? == std::path::absolute(file)?,
    })
}

/// Fails where writing would surely fail, before a program runs for it. Leaves everything as it is.
///
/// # Errors
/// What speaks against the path.
pub fn check(path: &Path) -> anyhow::Result<()> {
    let is_new = !path.exists();
    if !is_new && !path.is_file() && !path.is_dir() {
        // A pipe, whose reader may come later.
        return Ok(());
    }
    let opened = OpenOptions::new().write(true).create(is_new).truncate(false).open(path);
    opened.with_context(|| refusal(path))?;
    if is_new {
        // What was empty a moment ago; if it is not ours to remove any more, it is not ours to complain.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// Writes the file, through a link that stands there.
///
/// # Errors
/// What writing met with, such as a full disk.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| refusal(path))
}

/// What is said of a file that cannot be written.
pub fn refusal(path: &Path) -> String {
    format!("cannot write '{}'; choose another place", path.display())
}
