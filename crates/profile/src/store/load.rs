//! Loading, with a clear word on every file that is not a whole profile of a known version.

use super::header::{self, Header};
use super::{code, counts, runs, samples, schema};
use crate::check::Inconsistency;
use crate::model::Profile;
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A file was not loaded.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the profile '{}': {cause}", path.display())]
pub struct LoadError {
    /// The file.
    pub path: PathBuf,
    /// Why it was not loaded.
    pub cause: LoadCause,
}

/// Why a file was not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadCause {
    /// There is no such file.
    #[error("there is no such file; record one with: timewise run -- PROGRAM")]
    Missing,
    /// It is a directory, a device or the like.
    #[error("this is not a regular file; name a .tw file")]
    NotAFile,
    /// It must not be read.
    #[error("no permission to read it; run as its owner or allow reading")]
    Permission,
    /// It is not an SQLite database.
    #[error("this is not a timewise profile; name a .tw file that timewise wrote")]
    NotADatabase,
    /// It is an SQLite database of another program.
    #[error("this is an SQLite database of another program; name a .tw file that timewise wrote")]
    Foreign,
    /// It was written by a newer program.
    #[error("its format is version {found}, this timewise knows up to version {known}; use a newer timewise")]
    Newer {
        /// The file's version.
        found: u32,
        /// The newest version that this program knows.
        known: u32,
    },
    /// Its end is missing.
    #[error(
        "it is truncated: {found_bytes} of {expected_bytes} bytes are there; copy it again or record anew"
    )]
    Truncated {
        /// Length that the file should have.
        expected_bytes: u64,
        /// Length that it has.
        found_bytes: u64,
    },
    /// A table lacks rows.
    #[error("it is damaged: {found} of {noted} rows of {table} are there; copy it again or record anew")]
    RowsMissing {
        /// The table.
        table: &'static str,
        /// Rows that were written.
        noted: i64,
        /// Rows that are there.
        found: i64,
    },
    /// Its contents are not what a whole file holds.
    #[error("it is damaged: {0}; copy it again or record anew")]
    Damaged(rusqlite::Error),
    /// Its rows contradict each other.
    #[error("it is damaged: {0}; copy it again or record anew")]
    Inconsistent(Inconsistency),
    /// The system refused for another reason.
    #[error("{0}; name a .tw file that can be read")]
    System(io::Error),
}

impl From<rusqlite::Error> for LoadCause {
    fn from(error: rusqlite::Error) -> LoadCause {
        LoadCause::Damaged(error)
    }
}

impl Profile {
    /// Loads the file `path`.
    ///
    /// # Errors
    /// [`LoadError`] if it is not a whole profile of a version that this program knows, with what to do
    /// about it.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        try_load(path).map_err(|cause| LoadError { path: path.to_owned(), cause })
    }
}

fn try_load(path: &Path) -> Result<Profile, LoadCause> {
    check_header(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => LoadCause::Missing,
        ErrorKind::PermissionDenied => LoadCause::Permission,
        _ => LoadCause::System(error),
    })??;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags)?;
    // A damaged or forged file must not make the library trust what it says of itself.
    database.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    let mut profile = Profile::default();
    runs::read(&database, &mut profile)?;
    code::read(&database, &mut profile)?;
    samples::read(&database, &mut profile)?;
    counts::read(&database, &mut profile)?;
    if let Some((table, noted, found)) = schema::wrong_row_count(&database)? {
        return Err(LoadCause::RowsMissing { table, noted, found });
    }
    profile.check().map_err(LoadCause::Inconsistent)?;
    Ok(profile)
}

/// Tells from the first bytes and the length whether the file can be a whole profile.
fn check_header(path: &Path) -> io::Result<Result<(), LoadCause>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Err(LoadCause::NotAFile));
    }
    let found_bytes = metadata.len();
    Ok(match header::read(&file)? {
        None => Err(LoadCause::NotADatabase),
        Some(Header { expected_bytes, .. }) if found_bytes < header::LENGTH => {
            Err(LoadCause::Truncated { expected_bytes, found_bytes })
        }
        Some(Header { application_id, .. }) if application_id != schema::APPLICATION_ID => {
            Err(LoadCause::Foreign)
        }
        Some(Header { user_version, .. }) if user_version > schema::VERSION => {
            Err(LoadCause::Newer { found: user_version, known: schema::VERSION })
        }
        Some(Header { expected_bytes, .. }) if found_bytes < expected_bytes => {
            Err(LoadCause::Truncated { expected_bytes, found_bytes })
        }
        Some(_) => Ok(()),
    })
}
