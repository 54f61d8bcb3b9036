//! Folders for what checks and measurements make.

use crate::counter::target_folder;
use anyhow::{Context, Result};
use std::fs::{File, TryLockError};
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A folder under cargo's that belongs to whoever holds this: two runs of one check, side by side, would take what the
/// other's programs wrote for what their own did.
pub struct Folder {
    folder: PathBuf,
    _lock: File,
}

impl Folder {
    /// The folder of that name, which is made if need be; waits for whoever has it.
    ///
    /// # Errors
    /// If it cannot be made or locked.
    pub fn of(root: &Path, name: &str) -> Result<Folder> {
        let folder = target_folder(root).join(name);
        let made = std::fs::create_dir_all(&folder).and_then(|()| File::open(&folder));
        let lock = made.with_context(|| folder.display().to_string())?;
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            eprintln!("xtask: waits for another that uses {}", folder.display());
        }
        lock.lock().with_context(|| folder.display().to_string())?;
        Ok(Folder { folder: folder.canonicalize()?, _lock: lock })
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        self
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.folder
    }
}
