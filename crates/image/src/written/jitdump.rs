//! Jitdumps: a header, then records of code that was loaded or moved, with source lines before the code that
//! they are of (Linux, tools/perf/Documentation/jitdump-specification.txt).

use super::{WrittenFunction, WrittenLine, name_of};
use crate::names::LONGEST;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::sync::Arc;

/// "JiTD", in the machine's byte order.
const MAGIC: u32 = 0x4a69_5444;
const HEADER_BYTES: u64 = 40;
const RECORD_HEADER_BYTES: u64 = 16;

const LOAD: u32 = 0;
const MOVE: u32 = 1;
const LINES: u32 = 2;
const CLOSE: u32 = 3;

/// What a record says.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    /// There is a function now.
    Load(WrittenFunction),
    /// The function at one address lies at another now.
    Move { from: u64, to: u64 },
}

/// The records of a file in turn.
pub struct Changes<F: Read + Seek> {
    file: BufReader<F>,
    /// Where the next record begins.
    next: u64,
    /// Lines of the function that is loaded next, and its address.
    lines: (u64, Vec<WrittenLine>),
}

impl<F: Read + Seek> Changes<F> {
    /// Reads the header.
    pub fn read(mut file: BufReader<F>) -> io::Result<Changes<F>> {
        let invalid = |what| io::Error::new(io::ErrorKind::InvalidData, what);
        let magic = u32_of(&mut file)?;
        let _version = u32_of(&mut file)?;
        let header_bytes = u32_of(&mut file)?;
        if magic != MAGIC {
            return Err(invalid("not a jitdump of a machine like this"));
        }
        let next = u64::from(header_bytes).max(HEADER_BYTES);
        Ok(Changes { file, next, lines: (0, Vec::new()) })
    }

    /// The next change; `None` at the end, which may be in the middle of a record.
    pub fn next(&mut self) -> io::Result<Option<Change>> {
        while let Some((kind, size)) = whole(self.header())? {
            // A record that holds less than it should is passed over.
            if let Some(Some(change)) = whole(self.body(kind, size))? {
                return Ok(Some(change));
            }
            if kind == CLOSE {
                break;
            }
        }
        Ok(None)
    }

    /// Kind and size of the next record.
    fn header(&mut self) -> io::Result<(u32, u64)> {
        // Relative, so that what is in the buffer already is not read again.
        let at = self.file.stream_position()?;
        self.file.seek_relative(self.next.wrapping_sub(at) as i64)?;
        let kind = u32_of(&mut self.file)?;
        let size = u64::from(u32_of(&mut self.file)?).max(RECORD_HEADER_BYTES);
        let _time = u64_of(&mut self.file)?;
        self.next = self.next.saturating_add(size);
        Ok((kind, size))
    }

    fn body(&mut self, kind: u32, size: u64) -> io::Result<Option<Change>> {
        let mut body = self.file.by_ref().take(size - RECORD_HEADER_BYTES);
        match kind {
            LOAD => {
                let [_pid_and_tid, _, start, length, _] = words(&mut body)?;
                let name = text(&mut body)?;
                let (of, lines) = std::mem::take(&mut self.lines);
                let lines = if of == start { lines } else { Vec::new() };
                let addresses = start..start.saturating_add(length);
                Ok(Some(Change::Load(WrittenFunction { addresses, name, lines })))
            }
            MOVE => {
                let [_pid_and_tid, _, from, to] = words(&mut body)?;
                Ok(Some(Change::Move { from, to }))
            }
            LINES => {
                let [of, count] = words(&mut body)?;
                self.lines = (of, lines(&mut body, of, count)?);
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

/// What was read, or `None` where the bytes ended before it.
fn whole<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        other => other.map(Some),
    }
}

/// Lines of the function at `start`, as many as the record holds, if that is less than it states.
fn lines(body: &mut impl BufRead, start: u64, count: u64) -> io::Result<Vec<WrittenLine>> {
    let mut lines: Vec<WrittenLine> = Vec::new();
    for _ in 0..count {
        let Some(address) = whole(u64_of(body))? else { break };
        let (line, _discriminator) = (u32_of(body)?, u32_of(body)?);
        let file = match text(body)? {
            // The same as before.
            same if same == "\u{fffd}" => {
                lines.last().map_or_else(Arc::default, |last| Arc::clone(&last.file))
            }
            file => file.into(),
        };
        // One in front of the function comes behind all of it, and is in none.
        lines.push(WrittenLine { offset: address.wrapping_sub(start), file, line });
    }
    lines.sort_by_key(|line| line.offset);
    Ok(lines)
}

/// Text up to a zero byte, of which no more than a name's length is kept.
fn text(body: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    body.take(LONGEST as u64).read_until(0, &mut bytes)?;
    if bytes.last() == Some(&0) {
        bytes.pop();
    } else if bytes.len() == LONGEST {
        body.skip_until(0)?;
    }
    Ok(name_of(&bytes))
}

fn words<const N: usize>(body: &mut impl Read) -> io::Result<[u64; N]> {
    let mut words = [0; N];
    for word in &mut words {
        *word = u64_of(body)?;
    }
    Ok(words)
}

fn u32_of(file: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}

fn u64_of(file: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}
