//! Where LLVM's programs are.

use crate::fault::FdoError;
use std::ffi::OsString;
use std::path::PathBuf;

/// Versions that are looked for, best first.
const VERSIONS: std::ops::RangeInclusive<u32> = 14..=30;

/// The program `tool`: by its own name on the path, else the newest that Debian's packages have. `package` is what to
/// install if there is none.
///
/// # Errors
/// [`FdoError::Missing`].
pub fn find(tool: &'static str, package: &'static str) -> Result<PathBuf, FdoError> {
    let path = path();
    // By their full place: a link of another name makes some of them behave as another program.
    let mut places = std::env::split_paths(&path).chain(packaged());
    let found = places.find(|folder| folder.join(tool).is_file());
    found.map(|folder| folder.join(tool)).ok_or(FdoError::Missing { tool, package })
}

/// The path, and behind it the folder of the newest of Debian's packages that has `tool`: there it goes by a name with a
/// version on the path alone.
pub fn path_to(tool: &str) -> OsString {
    let own = path();
    let Some(folder) = packaged().find(|folder| folder.join(tool).is_file()) else { return own };
    let folders = std::env::split_paths(&own).chain([folder]);
    std::env::join_paths(folders).unwrap_or(own)
}

fn path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// Where Debian's packages have LLVM's programs, the newest first.
fn packaged() -> impl Iterator<Item = PathBuf> {
    VERSIONS.rev().map(|version| PathBuf::from(format!("/usr/lib/llvm-{version}/bin")))
}
