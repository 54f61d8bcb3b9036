//! Loading, with a clear word on every file that is not a whole profile of a known version.

use super::header::{self, Header};
use super::reader::Reader;
use super::{branches, code, counts, events, intervals, paths, runs, samples, schema, simulations, tallies};
use crate::check::Inconsistency;
use crate::model::Profile;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
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
    /// It was written by an older program.
    #[error(
        "its format is version {found}, this timewise reads versions {oldest} to {newest}; record anew, or use the timewise that \
         wrote it"
    )]
    Older {
        /// The file's version.
        found: u32,
        /// The oldest version that this program reads.
        oldest: u32,
        /// The newest.
        newest: u32,
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
    /// A table lacks rows, or has more than were written.
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
    #[error("it is damaged: {}; copy it again or record anew", in_one_line(.0))]
    Damaged(rusqlite::Error),
    /// Its rows contradict each other.
    #[error("it is damaged: {0}; copy it again or record anew")]
    Inconsistent(Inconsistency),
    /// The system refused for another reason.
    #[error("{0}; name a .tw file that can be read")]
    System(io::Error),
}

/// The database quotes what it does not understand, whatever that is.
fn in_one_line(error: &rusqlite::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().replace(char::is_control, " ")
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
    // To open a pipe would wait for somebody to write to it.
    if !path.metadata().map_err(from_system)?.is_file() {
        return Err(LoadCause::NotAFile);
    }
    let file = File::open(path).map_err(from_system)?;
    let version = check_header(&file).map_err(from_system)??;
    let metadata = file.metadata().map_err(from_system)?;
    let mut reader = Reader::open(path, metadata.len(), version)?;
    if is_replaced(path, &metadata) {
        // Some of what was opened may be the former file. The new one was whole when it took its place.
        return try_load(path);
    }
    let mut profile = Profile::default();
    runs::read(&mut reader, &mut profile)?;
    code::read(&mut reader, &mut profile)?;
    samples::read(&mut reader, &mut profile)?;
    events::read(&mut reader, &mut profile)?;
    tallies::read(&mut reader, &mut profile)?;
    counts::read(&mut reader, &mut profile)?;
    intervals::read(&mut reader, &mut profile)?;
    paths::read(&mut reader, &mut profile)?;
    branches::read(&mut reader, &mut profile)?;
    simulations::read(&mut reader, &mut profile)?;
    profile.check().map_err(LoadCause::Inconsistent)?;
    Ok(profile)
}

fn from_system(error: io::Error) -> LoadCause {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => LoadCause::Missing,
        ErrorKind::PermissionDenied => LoadCause::Permission,
        _ => LoadCause::System(error),
    }
}

/// Whether another file has this name by now.
fn is_replaced(path: &Path, former: &Metadata) -> bool {
    let identity = |file: &Metadata| (file.dev(), file.ino());
    path.metadata().is_ok_and(|file| identity(&file) != identity(former))
}

/// Tells from the first bytes and the length whether the file can be a whole profile, and its version.
fn check_header(file: &File) -> io::Result<Result<u32, LoadCause>> {
    let found_bytes = file.metadata()?.len();
    Ok(match header::read(file)? {
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
        Some(Header { user_version, .. }) if user_version < schema::OLDEST => {
            Err(LoadCause::Older { found: user_version, oldest: schema::OLDEST, newest: schema::VERSION })
        }
        Some(Header { expected_bytes, .. }) if found_bytes < expected_bytes => {
            Err(LoadCause::Truncated { expected_bytes, found_bytes })
        }
        Some(Header { user_version, .. }) => Ok(user_version),
    })
}
