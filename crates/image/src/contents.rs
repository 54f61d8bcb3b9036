//! The bytes of a file, of which only those are read that are asked for.

use object::read::ReadCacheOps;
use std::fmt;
use std::fs::File;
use std::io::{self, Cursor};
use std::sync::Arc;

/// A file that is read piece by piece, and not without end: headers that contradict themselves may ask
/// for the same bytes in ever new pieces.
pub struct Contents {
    source: Box<dyn ReadCacheOps + Send>,
    length: u64,
    /// Bytes that may still be read.
    left: u64,
}

/// Pieces of a file overlap when a whole section is read and later a part of it. A file that is in
/// order stays far below this many times its length.
const READS: u64 = 4;

/// What small files may ask for, whatever their length: names are looked for in pieces of this order.
const SLACK: u64 = 1 << 20;

impl Contents {
    /// Those of a regular file.
    pub fn of_file(file: File) -> io::Result<Contents> {
        let length = file.metadata()?.len();
        Ok(Contents::new(file, length))
    }

    /// Those that are in memory.
    pub fn of_memory(data: Arc<[u8]>) -> Contents {
        let length = data.len() as u64;
        Contents::new(Cursor::new(data), length)
    }

    fn new(source: impl ReadCacheOps + Send + 'static, length: u64) -> Contents {
        Contents {
            source: Box::new(source),
            length,
            left: length.saturating_mul(READS).saturating_add(SLACK),
        }
    }

    fn spend(&mut self, size: usize) -> Result<(), ()> {
        self.left = self.left.checked_sub(size as u64).ok_or(())?;
        Ok(())
    }
}

impl ReadCacheOps for Contents {
    fn len(&mut self) -> Result<u64, ()> {
        Ok(self.length)
    }

    fn seek(&mut self, position: u64) -> Result<u64, ()> {
        self.source.seek(position)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ()> {
        self.spend(buffer.len())?;
        self.source.read(buffer)
    }

    fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), ()> {
        self.spend(buffer.len())?;
        self.source.read_exact(buffer)
    }
}

impl fmt::Debug for Contents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Contents").field("length", &self.length).finish_non_exhaustive()
    }
}
