//! A thread between what a program writes and where it goes.

use super::fingerprint::Fingerprint;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

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
    pub fn start(source: File, then: Then) -> Relay {
        let ended = Arc::new(AtomicBool::new(false));
        let (sender, result) = channel();
        let program_ended = Arc::clone(&ended);
        thread::spawn(move || pump(source, then, &program_ended, &sender));
        Relay { ended, result }
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
    let mut relayed = Relayed::default();
    let mut told = false;
    let mut since_end = 0;
    let mut buffer = vec![0; 1 << 16];
    while !relayed.cut {
        let over = ended.load(Ordering::Acquire);
        let patience = if over && !told { Timespec { tv_sec: 0, tv_nsec: 0 } } else { PATIENCE };
        let ready = poll(&mut [PollFd::new(&source, PollFlags::IN)], Some(&patience));
        if over && !told && (ready == Ok(0) || since_end >= MOST_UNREAD) {
            // Nobody may want to know.
            let _ = result.send(relayed);
            told = true;
        }
        if matches!(ready, Ok(0) | Err(Errno::INTR)) {
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
        let relay = Relay::start(source, Then::Show(real));
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
        let relay = Relay::start(source, Then::Forget(None));
        let enough = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&enough);
        let writer = thread::spawn(move || {
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
        drop(user);
        let relay = Relay::start(source, Then::Show(real));
        program.write_all(b"hello").unwrap();
        assert!(relay.finish().unwrap().cut);
        assert_eq!(program.write_all(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_limit_cuts_at_the_byte() {
        let (source, mut program) = pipe();
        let relay = Relay::start(source, Then::Forget(Some(3)));
        program.write_all(b"hello").unwrap();
        let relayed = relay.finish().unwrap();
        assert_eq!((relayed.fingerprint, relayed.cut), (Fingerprint::of(&mut &b"hel"[..]).unwrap(), true));
    }
}
