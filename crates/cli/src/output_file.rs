//! The file that a profile is saved as: looked at before a program runs for an hour in vain.

use anyhow::bail;
use std::io::ErrorKind;
use std::path::Path;

/// Fails where saving would surely fail.
pub fn check(path: &Path) -> anyhow::Result<()> {
    let cannot = |why: String| anyhow::anyhow!("cannot save a profile as '{}': {why}", path.display());
    if path.exists() && !path.is_file() {
        bail!(cannot("it is not a regular file; choose another path with -o".into()));
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let shown = directory.display();
    match tempfile::tempfile_in(directory) {
        Ok(_) => Ok(()),
        Err(error) => Err(cannot(match error.kind() {
            ErrorKind::NotFound => {
                format!("there is no directory '{shown}'; create it or choose another path with -o")
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                format!("no permission to write in '{shown}'; choose another path with -o")
            }
            _ => format!("{error}; choose another path with -o"),
        })),
    }
}
