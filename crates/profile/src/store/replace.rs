//! Putting a finished file in the place of a former one, which is whole until then.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

/// A file under a temporary name beside its place, removed again unless it is put there.
pub struct Replacement {
    place: PathBuf,
    temporary: PathBuf,
    former: Option<Metadata>,
    keeps_owner: bool,
}

impl Replacement {
    /// Makes an empty file beside `place`, in the same directory so that it can be renamed into it.
    ///
    /// # Errors
    /// What the directory has against it.
    pub fn begin(place: &Path) -> io::Result<Self> {
        let place = behind_links(place);
        let temporary = with_suffix(&place, &format!(".new-{}", std::process::id()));
        // Left over from a process of the same id that was killed.
        let _ = fs::remove_file(&temporary);
        let former = fs::metadata(&place).ok();
        // Until it has the former one's permissions, nobody else may read what that may have kept to its owner.
        let mode = if former.is_some() { 0o600 } else { 0o666 };
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        let keeps_owner = former.as_ref().is_none_or(|former| give(&file, former).is_ok());
        Ok(Self { place, temporary, former, keeps_owner })
    }

    /// Whether the file belongs to whom the former one does: to the user who runs us otherwise.
    pub fn keeps_owner(&self) -> bool {
        self.keeps_owner
    }

    /// The path to write to.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Puts the file in its place, with the permissions of a former one. When this returns, also after an error,
    /// the place holds either the new file or the former one, whole, and so it does at every moment in between.
    ///
    /// # Errors
    /// What the system has against it.
    pub fn finish(self) -> io::Result<()> {
        self.complete()?;
        self.put_in_place()
    }

    /// Likewise, and the former file stays as `FILE.old`.
    ///
    /// # Errors
    /// Likewise.
    pub fn finish_beside_former(self) -> io::Result<()> {
        self.complete()?;
        // It may have come, or gone, meanwhile.
        match self.keep_former() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            kept => kept?,
        }
        self.put_in_place()
    }

    fn complete(&self) -> io::Result<()> {
        let file = File::open(&self.temporary)?;
        if let Some(former) = &self.former {
            file.set_permissions(former.permissions())?;
        }
        file.sync_all()
    }

    fn put_in_place(&self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.place)?;
        // The names are on the disk once the directory is; some file systems cannot sync one.
        if let Ok(directory) = File::open(parent(&self.place)) {
            let _ = directory.sync_all();
        }
        Ok(())
    }

    /// Gives the former file its second name, `FILE.old`, without taking the first away.
    fn keep_former(&self) -> io::Result<()> {
        let link = with_suffix(&self.temporary, ".old");
        let old = with_suffix(&self.place, ".old");
        let _ = fs::remove_file(&link);
        match fs::hard_link(&self.place, &link) {
            Ok(()) => {
                fs::rename(&link, &old).inspect_err(|_| {
                    let _ = fs::remove_file(&link);
                })?;
                // Renaming one name of a file to another name of the same file does nothing.
                let _ = fs::remove_file(&link);
                Ok(())
            }
            // A file system without hard links: copy, so that the place is never empty.
            Err(_) => fs::copy(&self.place, &link).and_then(|_| fs::rename(&link, &old)).inspect_err(|_| {
                let _ = fs::remove_file(&link);
            }),
        }
    }
}

/// Leaves a file its second name alone, `FILE.old`: nothing took its place, and the first would promise that it did.
/// Gives that name; `None` if there is no such file.
///
/// # Errors
/// What the system has against it.
pub fn set_aside(place: &Path) -> io::Result<Option<PathBuf>> {
    let place = behind_links(place);
    if !place.is_file() {
        return Ok(None);
    }
    let old = with_suffix(&place, ".old");
    fs::rename(&place, &old)?;
    Ok(Some(old))
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After `finish` the name is gone already.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Has the file belong to whom another does.
fn give(file: &File, other: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (other.uid(), other.gid()) {
        return Ok(());
    }
    // Its group at least, which may have been given more than others were.
    fchown(file, Some(other.uid()), Some(other.gid())).inspect_err(|_| {
        let _ = fchown(file, None, Some(other.gid()));
    })
}

/// What a link points to is replaced and not the link, also where nothing is yet.
fn behind_links(place: &Path) -> PathBuf {
    let mut end = place.to_owned();
    // As many as the kernel follows: further ones go round in a circle.
    for _ in 0..40 {
        let Ok(next) = fs::read_link(&end) else { break };
        end = parent(&end).join(next);
    }
    fs::canonicalize(&end).unwrap_or(end)
}

/// The directory that holds `path`.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
