//! Standard output and error: the first run's reach the user, a second run's do not, and of both we
//! remember what they were. To the program both look alike: a terminal stays one, a file a file.

use super::fingerprint::Fingerprint;
use super::relay::{Relay, Relayed, Then};
use super::terminal;
use rustix::fs::{FileType, OFlags, SeekFrom, Stat, fcntl_getfl, fstat, seek};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::Stdio;

/// Where one of our outputs goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Terminal,
    /// A regular file.
    File,
    /// A pipe or a socket.
    Stream,
    /// A device: not looked at.
    Device,
}

/// Our standard output and error.
#[derive(Debug)]
pub struct Outputs {
    stdout: Kind,
    stderr: Kind,
    /// Both are the same file, so that what is written to them is mixed.
    shared: bool,
}

/// A program's standard output and error, to be launched with.
#[derive(Debug)]
pub struct Ends {
    /// Its standard output.
    pub stdout: Stdio,
    /// Its standard error.
    pub stderr: Stdio,
    /// What it writes.
    pub record: Record,
}

/// What a program wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// To standard output; `None` where that is not known.
    pub stdout: Option<Fingerprint>,
    /// To standard error, unless that is the same file.
    pub stderr: Option<Fingerprint>,
    /// Whether whoever read standard output went away after that much of it.
    pub cut: bool,
}

/// What a program writes, to be known once it ended.
#[derive(Debug)]
pub struct Record {
    stdout: Watch,
    /// `None` if it is mixed with standard output.
    stderr: Option<Watch>,
}

/// One output under observation.
#[derive(Debug)]
enum Watch {
    Nothing,
    /// A file, from a position on, up to the program's own position or, if it appends, to the end.
    File {
        content: File,
        position: OwnedFd,
        start: u64,
        appends: bool,
    },
    Relay(Relay),
}

impl Outputs {
    /// Looks at what ours are.
    ///
    /// # Errors
    /// The system's, if one is closed.
    pub fn of_process() -> io::Result<Outputs> {
        let (stdout, stderr) = (fstat(io::stdout())?, fstat(io::stderr())?);
        let identity = |about: &Stat| (about.st_dev, about.st_ino);
        Ok(Outputs {
            shared: identity(&stdout) == identity(&stderr),
            stdout: kind(&stdout, io::stdout().as_fd()),
            stderr: kind(&stderr, io::stderr().as_fd()),
        })
    }

    /// For the run that the user sees.
    ///
    /// # Errors
    /// The system's, if there are no descriptors left.
    pub fn first(&self) -> io::Result<Ends> {
        self.ends(shown)
    }

    /// For a run that nobody sees, after one that wrote `before`.
    ///
    /// # Errors
    /// Likewise, or if the temporary directory is full.
    pub fn again(&self, before: &Written) -> io::Result<Ends> {
        let limit = before.stdout.filter(|_| before.cut).map(|stdout| stdout.length);
        self.ends(|kind, real| hidden(kind, real, limit))
    }

    fn ends(&self, end: impl Fn(Kind, BorrowedFd) -> io::Result<(OwnedFd, Watch)>) -> io::Result<Ends> {
        let (out, stdout) = end(self.stdout, io::stdout().as_fd())?;
        let (err, stderr) = match self.shared {
            true => (out.try_clone()?, None),
            false => end(self.stderr, io::stderr().as_fd()).map(|(err, watch)| (err, Some(watch)))?,
        };
        Ok(Ends { stdout: out.into(), stderr: err.into(), record: Record { stdout, stderr } })
    }
}

fn kind(about: &Stat, end: BorrowedFd) -> Kind {
    match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Fifo | FileType::Socket => Kind::Stream,
        _ if rustix::termios::isatty(end) => Kind::Terminal,
        _ => Kind::Device,
    }
}

fn shown(kind: Kind, real: BorrowedFd) -> io::Result<(OwnedFd, Watch)> {
    let copy = real.try_clone_to_owned()?;
    Ok(match kind {
        Kind::Device => (copy, Watch::Nothing),
        Kind::File => {
            let appends = fcntl_getfl(real)?.contains(OFlags::APPEND);
            let start = if appends { fstat(real)?.st_size as u64 } else { seek(real, SeekFrom::Current(0))? };
            // To read what the program wrote, where we may: the descriptor itself is for writing.
            let path = format!("/proc/self/fd/{}", real.as_raw_fd());
            let position = real.try_clone_to_owned()?;
            let watch = File::open(path).map_or(Watch::Nothing, |content| Watch::File {
                content,
                position,
                start,
                appends,
            });
            (copy, watch)
        }
        Kind::Stream => {
            let (reader, writer) = io::pipe()?;
            let relay = Relay::start(File::from(OwnedFd::from(reader)), Then::Show(File::from(copy)))?;
            (writer.into(), Watch::Relay(relay))
        }
        Kind::Terminal => {
            let (ours, theirs) = terminal::like(real)?;
            (theirs, Watch::Relay(Relay::start(ours, Then::Show(File::from(copy)))?))
        }
    })
}

fn hidden(kind: Kind, real: BorrowedFd, limit: Option<u64>) -> io::Result<(OwnedFd, Watch)> {
    Ok(match kind {
        Kind::Device => (File::options().write(true).open("/dev/null")?.into(), Watch::Nothing),
        Kind::File => {
            let file = tempfile::tempfile()?;
            let position = file.try_clone()?.into();
            let watch = Watch::File { content: file.try_clone()?, position, start: 0, appends: false };
            (file.into(), watch)
        }
        Kind::Stream => {
            let (reader, writer) = io::pipe()?;
            (
                writer.into(),
                Watch::Relay(Relay::start(File::from(OwnedFd::from(reader)), Then::Forget(limit))?),
            )
        }
        Kind::Terminal => {
            let (ours, theirs) = terminal::like(real)?;
            (theirs, Watch::Relay(Relay::start(ours, Then::Forget(limit))?))
        }
    })
}

impl Watch {
    fn finish(self) -> Option<Relayed> {
        match self {
            Watch::Nothing => None,
            Watch::File { mut content, position, start, appends } => {
                let end = match appends {
                    true => content.metadata().ok()?.len(),
                    false => seek(&position, SeekFrom::Current(0)).ok()?,
                };
                content.seek(io::SeekFrom::Start(start)).ok()?;
                let fingerprint = Fingerprint::of(&mut content.take(end.saturating_sub(start))).ok()?;
                Some(Relayed { fingerprint, cut: false })
            }
            Watch::Relay(relay) => relay.finish(),
        }
    }
}

impl Record {
    /// What the program wrote, now that it has ended.
    pub fn finish(self) -> Written {
        let stdout = self.stdout.finish();
        let stderr = self.stderr.and_then(Watch::finish);
        Written {
            stdout: stdout.map(|relayed| relayed.fingerprint),
            stderr: stderr.map(|relayed| relayed.fingerprint),
            cut: stdout.is_some_and(|relayed| relayed.cut),
        }
    }
}
