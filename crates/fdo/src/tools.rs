//! Where LLVM's programs are.

use crate::fault::FdoError;
use std::path::{Path, PathBuf};

/// Versions that are looked for, best first.
const VERSIONS: std::ops::RangeInclusive<u32> = 14..=30;

/// The program `tool`: by its own name on the path, else the newest that Debian's packages have. `package` is what to
/// install if there is none.
///
/// # Errors
/// [`FdoError::Missing`].
pub fn find(tool: &'static str, package: &'static str) -> Result<PathBuf, FdoError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(tool));
    // By their full place: a link of another name makes some of them behave as another program.
    let packaged =
        VERSIONS.rev().map(|version| Path::new("/usr/lib").join(format!("llvm-{version}/bin/{tool}")));
    on_path.chain(packaged).find(|file| file.is_file()).ok_or(FdoError::Missing { tool, package })
}
