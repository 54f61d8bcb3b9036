//! A thread between what a program writes and where it goes.

use super::fingerprint::Fingerprint;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;

/// How long a relay waits for output before it looks whether the program has ended.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// At least what a pipe or terminal holds unless root enlarged it: what comes after that much, counted from
/// the program's end, was written by others.
const MOST_UNREAD: u64 = 1 << 20;

/// A thread that reads what the program writes.
#[derive(Debug)]
pub struct Relay {
    ended: Arc<AtomicBool>,
    result: Receiver<Relayed>,
}

/// What went through a relay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Relayed {
    /// What it was.
    pub fingerprint: Fingerprint,
    /// Whether it was stopped before its end.
    pub cut: bool,
}

/// What a relay does with what it reads.
#[derive(Debug)]
pub enum Then {
    /// Shows it to the user.
    Show(File),
    /// Nothing, but it stops reading after so many bytes, if any: as the user's end did before.
    Forget(Option<u64>),
}

impl Relay {
    /// Begins to read `source`.
    ///
    /// # Errors
    /// The system's, if there can be no further thread.
    pub fn start(source: File, then: Then) -> io::Result<Relay> {
        let ended = Arc::new(AtomicBool::new(false));
        let (sender, result) = channel();
        let program_ended = Arc::clone(&ended);
        Builder::new().spawn(move || pump(source, then, &program_ended, &sender))?;
        Ok(Relay { ended, result })
    }

    /// What went through, now that the program has ended.
    pub fn finish(self) -> Option<Relayed> {
        self.ended.store(true, Ordering::Release);
        self.result.recv().ok()
    }
}

/// Passes on all that `source` gives, and tells what it was when the program has ended and nothing of its
/// own is left, or at the end of the source. Processes that the program leaves behind may write on: that is
/// passed on too, for as long as we live.
fn pump(mut source: File, mut then: Then, ended: &AtomicBool, result: &Sender<Relayed>) {
    // The program is to find nobody reading already when it writes first, where that is so.
    let mut relayed = Relayed { cut: matches!(then, Then::Forget(Some(0))), ..Relayed::default() };
    let mut told = false;
    let mut since_end = 0;
    let mut buffer = vec![0; 1 << 16];
    let shows_end = shows_end(&then);
    while !relayed.cut {
        let over = ended.load(Ordering::Acquire);
        let patience = if over && !told { Timespec { tv_sec: 0, tv_nsec: 0 } } else { PATIENCE };
        let user = match &then {
            Then::Show(real) if shows_end => real,
            _ => &source,
        };
        let mut ends = [PollFd::new(&source, PollFlags::IN), PollFd::new(user, PollFlags::empty())];
        let polled = poll(&mut ends, Some(&patience));
        let has_more = polled.is_err() || !ends[0].revents().is_empty();
        // Then what the program writes next is to fail, as it would by itself.
        relayed.cut = ends[1].revents().intersects(PollFlags::ERR);
        if relayed.cut {
            break;
        }
        if over && !told && (!has_more || since_end >= MOST_UNREAD) {
            // Nobody may want to know.
            let _ = result.send(relayed);
            told = true;
        }
        if !has_more || polled == Err(Errno::INTR) {
            continue;
        }
        let room = match then {
            Then::Forget(Some(limit)) => buffer.len().min((limit - relayed.fingerprint.length) as usize),
            _ => buffer.len(),
        };
        let bytes = match source.read(&mut buffer[..room]) {
            // A terminal whose last user is gone gives an error.
            Ok(0) | Err(_) => break,
            Ok(length) => &buffer[..length],
        };
        relayed.fingerprint.add(bytes);
        since_end += if over { bytes.len() as u64 } else { 0 };
        relayed.cut = match &mut then {
            Then::Show(real) => show(real, bytes).is_err(),
            Then::Forget(limit) => *limit == Some(relayed.fingerprint.length),
        };
    }
    // Closing our end tells the program that nobody reads on, as it would be told.
    drop(source);
    let _ = result.send(relayed);
}

/// Whether it shows at the user's end that nobody will read any more: a pipe with a name another reader may come to.
fn shows_end(then: &Then) -> bool {
    let Then::Show(real) = then else { return false };
    let opened = fs::read_link(format!("/proc/self/fd/{}", real.as_raw_fd()));
    opened.is_ok_and(|name| name.as_os_str().as_bytes().starts_with(b"pipe:"))
}

/// Writes all, also where the user's end does not wait by itself.
fn show(shown: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match shown.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match poll(&mut [PollFd::new(shown, PollFlags::OUT)], None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;

    fn pipe() -> (File, File) {
        let (reader, writer) = io::pipe().unwrap();
        (File::from(OwnedFd::from(reader)), File::from(OwnedFd::from(writer)))
    }

    #[test]
    fn all_is_shown_even_if_somebody_keeps_the_pipe_open() {
        let (source, mut program) = pipe();
        let (mut user, real) = pipe();
        let relay = Relay::start(source, Then::Show(real)).unwrap();
        program.write_all(b"hello").unwrap();
        let relayed = relay.finish().unwrap();
        assert_eq!((relayed.fingerprint, relayed.cut), (Fingerprint::of(&mut &b"hello"[..]).unwrap(), false));
        let mut shown = [0; 5];
        user.read_exact(&mut shown).unwrap();
        assert_eq!(&shown, b"hello");
        // A process that the program left behind writes on.
        program.write_all(b" again").unwrap();
        let mut shown = [0; 6];
        user.read_exact(&mut shown).unwrap();
        assert_eq!(&shown, b" again");
    }

    #[test]
    fn a_process_left_behind_that_never_pauses_is_not_waited_for() {
        let (source, mut program) = pipe();
        let relay = Relay::start(source, Then::Forget(None)).unwrap();
        let enough = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&enough);
        let writer = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                program.write_all(&[0; 4096]).unwrap();
            }
        });
        assert!(relay.finish().is_some());
        enough.store(true, Ordering::Relaxed);
        writer.join().unwrap();
    }

    #[test]
    fn a_reader_that_goes_away_is_felt_by_the_program() {
        let (source, mut program) = pipe();
        let (user, real) = pipe();
        let relay = Relay::start(source, Then::Show(real)).unwrap();
        program.write_all(b"hello").unwrap();
        // Also by one that writes no more than a pipe holds.
        drop(user);
        assert!(relay.finish().unwrap().cut);
        assert_eq!(program.write_all(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn nothing_is_read_where_nobody_reads() {
        let (user, real) = pipe();
        drop(user);
        for then in [Then::Forget(Some(0)), Then::Show(real)] {
            let (source, mut program) = pipe();
            let relay = Relay::start(source, then).unwrap();
            let relayed = relay.finish().unwrap();
            assert_eq!((relayed.fingerprint.length, relayed.cut), (0, true));
            assert_eq!(program.write_all(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        }
    }

    #[test]
    fn a_limit_cuts_at_the_byte() {
        let (source, mut program) = pipe();
        let relay = Relay::start(source, Then::Forget(Some(3))).unwrap();
        program.write_all(b"hello").unwrap();
        let relayed = relay.finish().unwrap();
        assert_eq!((relayed.fingerprint, relayed.cut), (Fingerprint::of(&mut &b"hel"[..]).unwrap(), true));
    }
}
