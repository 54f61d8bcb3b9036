//! A terminal for the program that is ours to read.

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Makes a terminal of the same size as `like`: our end, and the program's. It passes bytes on as they
/// are, since the real terminal behind it does whatever a terminal does to them.
///
/// # Errors
/// The system's, if there is none left.
pub fn like(like: BorrowedFd) -> io::Result<(File, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let theirs = open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    let mut attributes = tcgetattr(&theirs)?;
    attributes.make_raw();
    tcsetattr(&theirs, OptionalActions::Now, &attributes)?;
    if let Ok(size) = tcgetwinsize(like) {
        tcsetwinsize(&theirs, size)?;
    }
    Ok((File::from(ours), theirs))
}
