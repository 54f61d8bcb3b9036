//! Saving: all or nothing, and never at the cost of the former file.

use super::replace::{self, Replacement};
use super::{branches, code, counts, events, intervals, paths, runs, samples, schema, simulations, tallies};
use crate::check::Inconsistency;
use crate::model::Profile;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A profile was not saved. A former file of the same name is unchanged.
#[derive(Debug, thiserror::Error)]
#[error("cannot save the profile as '{}': {cause}{}", path.display(), former(*.former_kept))]
pub struct SaveError {
    /// Where it should have gone.
    pub path: PathBuf,
    /// Why it did not.
    pub cause: SaveCause,
    /// True if a former file stands there, whole.
    pub former_kept: bool,
}

/// Why a profile was not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveCause {
    /// The path is a directory, a device or the like.
    #[error("this is not a regular file; choose another path")]
    NotAFile,
    /// The directory does not exist.
    #[error("there is no directory '{}'; create it or choose another path", .0.display())]
    NoDirectory(PathBuf),
    /// What should be the directory is none.
    #[error("'{}' is not a directory; choose another path", .0.display())]
    NotADirectory(PathBuf),
    /// The directory is no place for files.
    #[error("'{}' takes no files; choose another path", .0.display())]
    NoFiles(PathBuf),
    /// The directory must not be written to.
    #[error("no permission to write in '{}'; choose another path or allow writing there", .0.display())]
    Permission(PathBuf),
    /// Nobody may write to the file system.
    #[error("the file system of '{}' is read-only; choose another path", .0.display())]
    ReadOnly(PathBuf),
    /// The device is full.
    #[error("no space is left in '{}'; free some or choose another path", .0.display())]
    Full(PathBuf),
    /// A limit of the process or the user forbids a file of this size.
    #[error(
        "the file would be larger than the limit allows; raise it (ulimit -f, quota) or choose another path"
    )]
    Limit,
    /// The profile contradicts itself, which is a fault of this program.
    #[error("the profile is inconsistent: {0}; this is a fault in timewise, please report it")]
    Inconsistent(Inconsistency),
    /// The system refused for another reason.
    #[error("{0}; choose another path")]
    System(io::Error),
    /// The database library refused for another reason.
    #[error("the database cannot be written: {0}; choose another path")]
    Database(rusqlite::Error),
}

fn former(kept: bool) -> &'static str {
    if kept { "; the former file there is unchanged" } else { "" }
}

impl Profile {
    /// Saves the profile as `path`. A former file of that name is renamed to `path` + `.old`, but only
    /// when the new one is complete and on the disk.
    ///
    /// # Errors
    /// [`SaveError`] with what to do about it; the former file is intact then.
    pub fn save(&self, path: &Path) -> Result<(), SaveError> {
        self.try_save(path).map_err(|cause| SaveError::of(path, cause))
    }

    /// Fails where saving as `path` would surely fail: to be known before the work that is to be saved.
    ///
    /// # Errors
    /// The [`SaveError`] that saving would meet with.
    pub fn check_place(path: &Path) -> Result<(), SaveError> {
        begin(path).map(drop).map_err(|cause| SaveError::of(path, cause))
    }

    fn try_save(&self, path: &Path) -> Result<(), SaveCause> {
        self.check().map_err(SaveCause::Inconsistent)?;
        let directory = replace::parent(path);
        let replacement = begin(path)?;
        self.write(replacement.temporary())
            .map_err(|error| from_database(error, replacement.temporary(), directory))?;
        replacement.finish_beside_former().map_err(|error| from_system(error, directory))
    }

    /// Writes the profile into the empty file `path`.
    fn write(&self, path: &Path) -> rusqlite::Result<()> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut database = Connection::open_with_flags(path, flags)?;
        // Nobody else knows the file yet and a failure removes it: no journal, no locks, and one sync
        // when it is complete. The profile was checked, and a child process may stand before its parent.
        database.execute_batch(
            "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
             PRAGMA locking_mode = EXCLUSIVE; PRAGMA foreign_keys = OFF;",
        )?;
        let transaction = database.transaction()?;
        schema::create(&transaction)?;
        runs::write(&transaction, self)?;
        code::write(&transaction, self)?;
        samples::write(&transaction, self)?;
        events::write(&transaction, self)?;
        tallies::write(&transaction, self)?;
        counts::write(&transaction, self)?;
        intervals::write(&transaction, self)?;
        paths::write(&transaction, self)?;
        branches::write(&transaction, self)?;
        simulations::write(&transaction, self)?;
        schema::write_row_counts(&transaction)?;
        transaction.commit()?;
        database.close().map_err(|(_, error)| error)
    }
}

impl SaveError {
    fn of(path: &Path, cause: SaveCause) -> SaveError {
        SaveError { path: path.to_owned(), cause, former_kept: path.is_file() }
    }
}

/// Makes the file that is to become `path`.
fn begin(path: &Path) -> Result<Replacement, SaveCause> {
    if path.exists() && !path.is_file() {
        return Err(SaveCause::NotAFile);
    }
    Replacement::begin(path).map_err(|error| from_system(error, replace::parent(path)))
}

fn from_system(error: io::Error, directory: &Path) -> SaveCause {
    let directory = directory.to_owned();
    match error.kind() {
        ErrorKind::NotFound if !directory.exists() => SaveCause::NoDirectory(directory),
        ErrorKind::NotADirectory => SaveCause::NotADirectory(directory),
        // As in /proc.
        ErrorKind::NotFound | ErrorKind::Unsupported => SaveCause::NoFiles(directory),
        ErrorKind::PermissionDenied => SaveCause::Permission(directory),
        ErrorKind::ReadOnlyFilesystem => SaveCause::ReadOnly(directory),
        ErrorKind::StorageFull => SaveCause::Full(directory),
        ErrorKind::FileTooLarge | ErrorKind::QuotaExceeded => SaveCause::Limit,
        _ => SaveCause::System(error),
    }
}

fn from_database(error: rusqlite::Error, temporary: &Path, directory: &Path) -> SaveCause {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => SaveCause::Full(directory.to_owned()),
        // SQLite keeps the system's reason to itself: the same file is asked to grow once more.
        Some(ErrorCode::SystemIoFailure) => match grow(temporary) {
            Err(reason) => from_system(reason, directory),
            Ok(()) => SaveCause::Database(error),
        },
        _ => SaveCause::Database(error),
    }
}

fn grow(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(&[0; 1 << 16])?;
    file.sync_all()
}
