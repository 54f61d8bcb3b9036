//! Opening files whose names come from somebody else: from a profile, debug information, or the program that is looked at.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file to read it. A pipe would wait for somebody to write to it, a device would never end, and to open it may
/// do something.
///
/// # Errors
/// The system's, or that it is not a regular file.
pub fn regular_file(path: &Path) -> io::Result<File> {
    let not_regular = || io::Error::other("not a regular file");
    if !path.metadata()?.is_file() {
        return Err(not_regular());
    }
    // It may have become something else since.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn what_has_no_end_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        for path in [&pipe, Path::new("/dev/zero"), folder.path()] {
            assert_eq!(
                regular_file(path).unwrap_err().to_string(),
                "not a regular file",
                "{}",
                path.display()
            );
        }
        assert_eq!(regular_file(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(regular_file(&std::env::current_exe().unwrap()).is_ok());
    }
}
