//! What came through a pipe, kept on the disk to be read again.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

/// Input that was read so far. Whoever feeds a program from it may outlive the program.
#[derive(Clone, Debug)]
pub struct Spool(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    file: File,
    length: u64,
    /// Why not all of it was kept, if so.
    failure: Option<io::Error>,
}

impl Spool {
    /// An empty one, in a file without a name.
    ///
    /// # Errors
    /// The system's, if the temporary directory cannot be written to.
    pub fn new() -> io::Result<Spool> {
        let state = State { file: tempfile::tempfile()?, length: 0, failure: None };
        Ok(Spool(Arc::new(Mutex::new(state))))
    }

    /// Passes `source` on to `reader` as it comes, and keeps it, until either ends.
    ///
    /// # Errors
    /// The system's, if there can be no further thread.
    pub fn pass_on(
        &self,
        mut source: impl Read + Send + 'static,
        mut reader: impl Write + Send + 'static,
    ) -> io::Result<()> {
        let spool = self.clone();
        let work = move || {
            let mut buffer = vec![0; 1 << 16];
            loop {
                match source.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(length) => {
                        spool.keep(&buffer[..length]);
                        if reader.write_all(&buffer[..length]).is_err() {
                            break;
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
        };
        Builder::new().spawn(work).map(drop)
    }

    /// Gives `reader` what was kept.
    ///
    /// # Errors
    /// The one that kept the spool from being complete, or the system's if there can be no further thread.
    pub fn replay(&self, mut reader: impl Write + Send + 'static) -> io::Result<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = state.failure.take() {
            return Err(failure);
        }
        let (file, length) = (state.file.try_clone()?, state.length);
        let work = move || {
            let mut buffer = vec![0; 1 << 16];
            let mut at = 0;
            while at < length {
                let wanted = buffer.len().min((length - at) as usize);
                match file.read_at(&mut buffer[..wanted], at) {
                    Ok(0) | Err(_) => break,
                    Ok(got) => {
                        // Once nobody reads, the rest is not wanted.
                        if reader.write_all(&buffer[..got]).is_err() {
                            break;
                        }
                        at += got as u64;
                    }
                }
            }
        };
        Builder::new().spawn(work).map(drop)
    }

    fn keep(&self, bytes: &[u8]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failure.is_some() {
            return;
        }
        match state.file.write_all(bytes) {
            Ok(()) => state.length += bytes.len() as u64,
            Err(error) => state.failure = Some(error),
        }
    }
}
