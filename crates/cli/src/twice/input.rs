//! Standard input that each run reads from the same place on.

use super::spool::Spool;
use anyhow::Context;
use rustix::fs::{FileType, SeekFrom};
use std::fs::{File, Metadata};
use std::io::{self, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;

/// Our standard input, by how it can be read again.
#[derive(Debug)]
pub enum Input {
    /// A terminal or the null device: the first run has it, a second one finds it at its end.
    Inherited,
    /// A file, from this position on; as it was then.
    File { start: u64, before: Version },
    /// A pipe, a socket, or a device: what came through is kept.
    Stream(Spool),
}

/// What changes when a file is written to.
#[derive(Debug, PartialEq, Eq)]
pub struct Version {
    size: u64,
    modified: (i64, i64),
}

impl Version {
    fn of(metadata: &Metadata) -> Version {
        Version { size: metadata.size(), modified: (metadata.mtime(), metadata.mtime_nsec()) }
    }
}

impl Input {
    /// Looks at what our standard input is.
    ///
    /// # Errors
    /// If it cannot be kept: the temporary directory is missing or full.
    pub fn of_process() -> anyhow::Result<Input> {
        let stdin = io::stdin();
        let about = rustix::fs::fstat(stdin.as_fd())?;
        let null = rustix::fs::makedev(1, 3);
        match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => {
                let start = rustix::fs::seek(stdin.as_fd(), SeekFrom::Current(0))?;
                Ok(Input::File { start, before: Version::of(&own_copy()?.metadata()?) })
            }
            FileType::CharacterDevice if about.st_rdev == null => Ok(Input::Inherited),
            FileType::CharacterDevice if rustix::termios::isatty(stdin.as_fd()) => Ok(Input::Inherited),
            FileType::Directory => Ok(Input::Inherited),
            _ => {
                let spool = Spool::new().context(
                    "cannot keep standard input for the second run in the temporary directory; \
                     set TMPDIR to one that can be written to, or sample only with --once",
                )?;
                Ok(Input::Stream(spool))
            }
        }
    }

    /// What the first run reads.
    ///
    /// # Errors
    /// The system's, if there are no descriptors left, or can be no further thread.
    pub fn first(&self) -> io::Result<Stdio> {
        match self {
            Input::Inherited | Input::File { .. } => Ok(Stdio::inherit()),
            Input::Stream(spool) => {
                let (reader, writer) = io::pipe()?;
                spool.pass_on(own_copy()?, writer)?;
                Ok(reader.into())
            }
        }
    }

    /// What a second run reads: the same again. Says so if it is not the same.
    ///
    /// # Errors
    /// If it could not be kept, or cannot be read again.
    pub fn again(&self) -> anyhow::Result<(Stdio, Option<String>)> {
        match self {
            Input::Inherited => Ok((Stdio::null(), None)),
            Input::File { start, before } => {
                // Opened anew where that is allowed, so that we leave the position where the first run
                // left it, for whoever reads on from there.
                let mut file = File::open("/proc/self/fd/0").or_else(|_| own_copy())?;
                file.seek(io::SeekFrom::Start(*start))?;
                let changed = (Version::of(&file.metadata()?) != *before).then(|| {
                    "the program or another changed the file on standard input; \
                     restore it before each run with --prepare COMMAND"
                        .to_string()
                });
                Ok((file.into(), changed))
            }
            Input::Stream(spool) => {
                let (reader, writer) = io::pipe()?;
                spool.replay(writer).context("standard input could not be kept for the second run")?;
                Ok((reader.into(), None))
            }
        }
    }
}

/// Our standard input as a file: another descriptor of the same position.
fn own_copy() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}
