//! Files that we write besides profiles: exports, pages, JSON.

use anyhow::{Context, bail};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use timewise_profile::store::replace::{self, Replacement};

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

/// Writes the file, through a link that stands there. Where a former one can be replaced, it is whole until the new one
/// is, also where there will be none.
///
/// # Errors
/// What writing met with, such as a full disk.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let bytes = bytes.as_ref();
    let written = match begin(path) {
        Ok(Some(replacement)) => put(replacement, bytes).or_else(|error| match error.kind() {
            // Another file system's, mounted on its name.
            ErrorKind::ResourceBusy => fs::write(path, bytes),
            _ => Err(error),
        }),
        Ok(None) => fs::write(path, bytes),
        Err(error) => Err(error),
    };
    written.with_context(|| refusal(path))
}

/// A file to take the place of `path`; none where that has to be written to as it is.
fn begin(path: &Path) -> io::Result<Option<Replacement>> {
    match fs::metadata(path) {
        // Pipes and devices take what they are given; what is open elsewhere, as a shell's output, or has another name is
        // read from there.
        Ok(former) if !former.is_file() || former.nlink() > 1 || is_descriptor(path) => return Ok(None),
        // A folder may allow to replace what must not be written to.
        Ok(_) => drop(OpenOptions::new().write(true).open(path)?),
        Err(error) if error.kind() == ErrorKind::NotFound => (),
        Err(error) => return Err(error),
    }
    match Replacement::begin(path) {
        Ok(replacement) => Ok(Some(replacement).filter(Replacement::keeps_owner)),
        // The folder is not ours to write in, or there is no longer name: its file may be all the same.
        Err(error) => match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::InvalidFilename => {
                Ok(None)
            }
            _ => Err(error),
        },
    }
}

fn put(replacement: Replacement, bytes: &[u8]) -> io::Result<()> {
    fs::write(replacement.temporary(), bytes)?;
    replacement.finish()
}

/// Whether a path leads through what a process has open, as `/dev/stdout` does.
fn is_descriptor(path: &Path) -> bool {
    let mut path = path.to_owned();
    loop {
        let folder = replace::parent(&path);
        if fs::canonicalize(folder).is_ok_and(|folder| folder.starts_with("/proc")) {
            return true;
        }
        match fs::read_link(&path) {
            Ok(next) => path = folder.join(next),
            Err(_) => return false,
        }
    }
}

/// What is said of a file that cannot be written.
pub fn refusal(path: &Path) -> String {
    format!("cannot write '{}'; choose another place", path.display())
}
