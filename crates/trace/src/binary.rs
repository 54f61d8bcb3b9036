//! A worker that writes a trace as bytes, and the way back.
//!
//! The format: eight bytes that name it and its version, then the records. A record is the numbers
//! cycles left out since the last record's end, `repeat`, the distance of `oldest` from the last
//! record's, `in_flight`, `waiting`, one byte with `valid` and `committing` (four bits each), and each
//! entry: `instruction`, a number with events, flags and age. Numbers are little-endian base 128, the
//! distance folded so that small negative ones are small. A record takes 20 bytes or so instead of 96.

use std::io::{self, Read, Write};

use crate::record::WIDTH;
use crate::{Entry, Flags, Psv, Record, Worker};

const MAGIC: [u8; 8] = *b"twtrace2";

/// Writes records.
pub struct Writer<W> {
    out: W,
    state: io::Result<()>,
    last: Record,
    bytes: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes to `out`, from the format's name on.
    pub fn new(mut out: W) -> Self {
        let state = out.write_all(&MAGIC);
        Self { out, state, last: Record::default(), bytes: Vec::new() }
    }

    /// What was written to, or the first thing that went wrong; nothing was written after that.
    pub fn finish(mut self) -> io::Result<W> {
        self.state?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn encode(&mut self, record: &Record) {
        let distance = record.oldest.wrapping_sub(self.last.oldest).cast_signed();
        let folded = (distance << 1 ^ distance >> 63).cast_unsigned();
        let heads = [
            record.cycle.wrapping_sub(self.last.end()),
            u64::from(record.repeat),
            folded,
            u64::from(record.in_flight),
            u64::from(record.waiting),
        ];
        heads.into_iter().for_each(|number| put(&mut self.bytes, number));
        self.bytes.push(record.valid << 4 | record.committing);
        for entry in record.heads() {
            put(&mut self.bytes, u64::from(entry.instruction));
            let rest = u64::from(entry.age)
                | u64::from(entry.flags.bits()) << 8
                | u64::from(entry.events.bits()) << 16;
            put(&mut self.bytes, rest);
        }
        self.last = *record;
    }
}

impl<W: Write + Send> Worker<Record> for Writer<W> {
    fn take(&mut self, part: &[Record]) {
        if self.state.is_err() {
            return;
        }
        self.bytes.clear();
        for record in part {
            self.encode(record);
        }
        self.state = self.out.write_all(&self.bytes);
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads what [`Writer`] wrote.
pub struct Reader<R> {
    input: R,
    last: Record,
}

impl<R: Read> Reader<R> {
    /// Reads from `input`, which should be buffered; an error if it is no such trace.
    pub fn new(mut input: R) -> io::Result<Self> {
        let mut magic = [0; MAGIC.len()];
        input.read_exact(&mut magic)?;
        if magic != MAGIC {
            return Err(invalid("this is no trace of a commit stage, or one of another version"));
        }
        Ok(Self { input, last: Record::default() })
    }

    /// The next record; none where the trace ends.
    pub fn record(&mut self) -> io::Result<Option<Record>> {
        let Some(first) = self.byte()? else { return Ok(None) };
        let gap = self.number_from(first)?;
        let mut record = Record { cycle: self.last.end().wrapping_add(gap), ..Record::default() };
        record.repeat = self.narrow()?;
        let folded = self.number()?;
        let distance = (folded >> 1).cast_signed() ^ -(folded & 1).cast_signed();
        record.oldest = self.last.oldest.wrapping_add_signed(distance);
        record.in_flight = self.narrow()?;
        record.waiting = self.narrow()?;
        let counts: u8 = self.must()?;
        (record.valid, record.committing) = (counts >> 4, counts & 15);
        if usize::from(record.valid) > WIDTH {
            return Err(invalid("a record of the trace has more entries than there can be"));
        }
        for index in 0..usize::from(record.valid) {
            let instruction = self.narrow()?;
            let rest: u32 = self.narrow()?;
            let [age, flags, low, high] = rest.to_le_bytes();
            record.entries[index] = Entry {
                instruction,
                events: Psv::from_bits(u16::from_le_bytes([low, high])),
                flags: Flags::from_bits(flags),
                age,
            };
        }
        record.check().map_err(invalid)?;
        self.last = record;
        Ok(Some(record))
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        loop {
            match self.input.read(&mut byte) {
                Ok(0) => return Ok(None),
                Ok(_) => return Ok(Some(byte[0])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn must(&mut self) -> io::Result<u8> {
        self.byte()?
            .ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the trace ends within a record"))
    }

    fn number(&mut self) -> io::Result<u64> {
        let first = self.must()?;
        self.number_from(first)
    }

    fn number_from(&mut self, mut byte: u8) -> io::Result<u64> {
        let mut number = u64::from(byte & 0x7f);
        let mut shift = 7;
        while byte & 0x80 != 0 {
            if shift > 63 {
                return Err(invalid("a number of the trace is too large"));
            }
            byte = self.must()?;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        Ok(number)
    }

    fn narrow<N: TryFrom<u64>>(&mut self) -> io::Result<N> {
        N::try_from(self.number()?).map_err(|_| invalid("a number of the trace is too large"))
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::{Reader, Writer};
    use crate::{Entry, Flags, Psv, Record, Worker};

    fn trace() -> Vec<Record> {
        let mut stall =
            Record { cycle: 5, oldest: 300, repeat: 70_000, in_flight: 512, valid: 2, ..Record::default() };
        stall.entries[0] = Entry { instruction: u32::MAX, events: Psv::ALL, flags: Flags::FLUSH, age: 0 };
        stall.entries[1] = Entry { instruction: 1, age: 1, ..Entry::default() };
        let back = Record { cycle: 80_000, oldest: 299, repeat: 1, waiting: 9, ..Record::default() };
        vec![stall, Record { cycle: stall.end(), repeat: 1, committing: 2, ..stall }, back]
    }

    fn written() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        writer.take(&trace());
        writer.finish().unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = written();
        let mut reader = Reader::new(&bytes[..]).unwrap();
        let read: Vec<Record> = std::iter::from_fn(|| reader.record().unwrap()).collect();
        assert_eq!(read, trace());
    }

    #[test]
    fn damaged_traces_are_errors() {
        let bytes = written();
        for length in 9..bytes.len() {
            let mut reader = Reader::new(&bytes[..length]).unwrap();
            // Whole records are read, the cut one is an error or nothing, and nothing panics.
            while let Ok(Some(record)) = reader.record() {
                assert!(trace().contains(&record));
            }
        }
        assert!(Reader::new(&b"twtrace9"[..]).is_err());
        let mut reader = Reader::new(&b"twtrace2\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"[..]).unwrap();
        assert!(reader.record().is_err());
    }
}
