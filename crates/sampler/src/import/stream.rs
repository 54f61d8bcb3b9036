//! The records of a file one by one, unpacked where they are compressed.

use super::ImportError;
use std::io::{self, Read};
use zstd::stream::raw::{Decoder, Operation};

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A record of the kernel, by its number.
    Event(u32),
    /// Describes an event (pipe form).
    Attribute,
    /// Says something of the recording or the machine (pipe form).
    Feature,
    /// `perf` has emptied all rings once.
    RoundFinished,
    /// Nothing that concerns us.
    Other,
}

/// What stands before each record.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// What the record is about.
    pub kind: Kind,
    /// Bits whose meaning depends on that.
    pub misc: u16,
}

/// Numbers of records that `perf` itself writes (`tools/lib/perf/include/perf/event.h`).
mod number {
    pub const FIRST: u32 = 64;
    pub const HEADER_ATTR: u32 = 64;
    pub const HEADER_TRACING_DATA: u32 = 66;
    pub const FINISHED_ROUND: u32 = 68;
    pub const AUXTRACE: u32 = 71;
    pub const HEADER_FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;
}

const HEADER_BYTES: usize = 8;

/// Bytes that are unpacked at once.
const PIECE_BYTES: usize = 128 << 10;

/// Records do not pack better; a file that claims so would fill all memory.
const MOST_PACKED: u64 = 1000;

/// The largest distance that a packed file may refer back, as a power of two; `perf` stays below 2²³.
const WINDOW_LOG_MAX: u32 = 25;

/// The records of a file.
pub struct Records {
    source: Box<dyn Read>,
    /// Bytes of the section that holds records, less those that were read; `None` up to the end.
    left: Option<u64>,
    record: Vec<u8>,
    packed: Option<Packed>,
}

impl Records {
    /// Those in the next `length` bytes of `source`, or up to its end.
    pub fn new(source: Box<dyn Read>, length: Option<u64>) -> Records {
        Records { source, left: length, record: Vec::new(), packed: None }
    }

    /// The next record and what stands in it; `None` at the end.
    ///
    /// # Errors
    /// [`ImportError::Damaged`] or the system's.
    pub fn next(&mut self) -> Result<Option<(Header, &[u8])>, ImportError> {
        loop {
            if let Some(packed) = &mut self.packed
                && packed.next(&mut self.record)?
            {
                break;
            }
            if !self.read()? {
                return match &self.packed {
                    Some(packed) if packed.has_rest() => {
                        Err(ImportError::Damaged("it ends within a compressed record"))
                    }
                    _ => Ok(None),
                };
            }
            let (number, body) = (number_of(&self.record), &self.record[HEADER_BYTES..]);
            let data = match number {
                number::COMPRESSED => body,
                number::COMPRESSED2 => {
                    let (length, data) = split_length(body)?;
                    data.get(..length).ok_or(ImportError::Damaged("a compressed record is too short"))?
                }
                number::HEADER_TRACING_DATA | number::AUXTRACE => {
                    self.skip_data(number)?;
                    continue;
                }
                _ => break,
            };
            if self.packed.is_none() {
                self.packed = Some(Packed::new()?);
            }
            if let Some(packed) = &mut self.packed {
                packed.add(data);
            }
        }
        let misc = u16::from_le_bytes([self.record[4], self.record[5]]);
        Ok(Some((Header { kind: kind(number_of(&self.record)), misc }, &self.record[HEADER_BYTES..])))
    }

    /// Reads a record; false at the end.
    fn read(&mut self) -> Result<bool, ImportError> {
        let left = self.left.unwrap_or(u64::MAX);
        if left == 0 {
            return Ok(false);
        }
        let mut header = [0; HEADER_BYTES];
        match read_up_to(&mut self.source, &mut header)? {
            0 if self.left.is_none() => return Ok(false),
            HEADER_BYTES => {}
            _ => return Err(ENDS_EARLY),
        }
        let size = usize::from(u16::from_le_bytes([header[6], header[7]]));
        if size < HEADER_BYTES || size as u64 > left {
            return Err(ImportError::Damaged("a record has an impossible size"));
        }
        self.record.resize(size, 0);
        self.record[..HEADER_BYTES].copy_from_slice(&header);
        if read_up_to(&mut self.source, &mut self.record[HEADER_BYTES..])? < size - HEADER_BYTES {
            return Err(ENDS_EARLY);
        }
        self.left = self.left.map(|left| left - size as u64);
        Ok(true)
    }

    /// Data that follow the present record without being part of it.
    fn skip_data(&mut self, number: u32) -> Result<(), ImportError> {
        let body = &self.record[HEADER_BYTES..];
        let length = match (number, body) {
            (number::AUXTRACE, &[a, b, c, d, e, f, g, h, ..]) => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            (number::HEADER_TRACING_DATA, &[a, b, c, d, ..]) => {
                u64::from(u32::from_le_bytes([a, b, c, d])).next_multiple_of(8)
            }
            _ => return Err(ImportError::Damaged("a record is too short")),
        };
        let skipped = io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
        if skipped < length || self.left.is_some_and(|left| left < length) {
            return Err(ENDS_EARLY);
        }
        self.left = self.left.map(|left| left - length);
        Ok(())
    }
}

const ENDS_EARLY: ImportError = ImportError::Damaged("it ends within a record");

fn kind(number: u32) -> Kind {
    match number {
        0..number::FIRST => Kind::Event(number),
        number::HEADER_ATTR => Kind::Attribute,
        number::HEADER_FEATURE => Kind::Feature,
        number::FINISHED_ROUND => Kind::RoundFinished,
        _ => Kind::Other,
    }
}

fn number_of(record: &[u8]) -> u32 {
    u32::from_le_bytes([record[0], record[1], record[2], record[3]])
}

fn split_length(body: &[u8]) -> Result<(usize, &[u8]), ImportError> {
    let (length, data) =
        body.split_first_chunk::<8>().ok_or(ImportError::Damaged("a compressed record is too short"))?;
    Ok((usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX), data))
}

/// Fills `buffer` as far as there are bytes.
fn read_up_to(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Compressed records. One stream goes through all of them; a record may begin in one and end in the next.
struct Packed {
    decoder: Decoder<'static>,
    /// What is not unpacked yet, from `read` on.
    input: Vec<u8>,
    read: usize,
    /// What is unpacked, from `taken` on.
    output: Vec<u8>,
    taken: usize,
    /// Bytes in and out so far.
    totals: (u64, u64),
}

impl Packed {
    fn new() -> Result<Packed, ImportError> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(zstd::zstd_safe::DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
        Ok(Packed { decoder, input: Vec::new(), read: 0, output: Vec::new(), taken: 0, totals: (0, 0) })
    }

    fn add(&mut self, data: &[u8]) {
        self.input.drain(..self.read);
        self.read = 0;
        self.input.extend_from_slice(data);
        self.totals.0 += data.len() as u64;
    }

    fn has_rest(&self) -> bool {
        self.taken < self.output.len()
    }

    /// Puts the next record into `record`; false if it is not complete yet.
    fn next(&mut self, record: &mut Vec<u8>) -> Result<bool, ImportError> {
        loop {
            let rest = &self.output[self.taken..];
            if let Some(header) = rest.first_chunk::<HEADER_BYTES>() {
                let size = usize::from(u16::from_le_bytes([header[6], header[7]]));
                if size < HEADER_BYTES {
                    return Err(ImportError::Damaged("a compressed record has an impossible size"));
                }
                if let Some(whole) = rest.get(..size) {
                    record.clear();
                    record.extend_from_slice(whole);
                    self.taken += size;
                    return Ok(true);
                }
            }
            if !self.unpack()? {
                return Ok(false);
            }
        }
    }

    /// Unpacks a piece; false if there is nothing more to unpack.
    fn unpack(&mut self) -> Result<bool, ImportError> {
        self.output.drain(..self.taken);
        self.taken = 0;
        let before = self.output.len();
        self.output.resize(before + PIECE_BYTES, 0);
        let unpacked = self.decoder.run_on_buffers(&self.input[self.read..], &mut self.output[before..]);
        let status = unpacked.map_err(|_| ImportError::Damaged("a compressed record cannot be unpacked"))?;
        self.output.truncate(before + status.bytes_written);
        self.read += status.bytes_read;
        self.totals.1 += status.bytes_written as u64;
        if self.totals.1 / MOST_PACKED > self.totals.0 {
            return Err(ImportError::Damaged("a compressed record unpacks without end"));
        }
        Ok(status.bytes_written > 0)
    }
}
