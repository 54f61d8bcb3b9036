//! A worker that writes a trace as a table, a line a record.

use std::io::{self, Write};

use crate::{Record, Worker};

const HEADER: &str = "cycle,repeat,oldest,in_flight,waiting,valid,committing,entries";

/// Writes comma-separated values. The last column has the entries, each as `instruction@age`, its flags
/// (`x` exception, `f` flush, `m` mispredicted, `n` with a `nop`) and, in brackets, its events; blanks stand between entries.
pub struct Csv<W> {
    out: W,
    state: io::Result<()>,
}

impl<W: Write> Csv<W> {
    /// Writes to `out`, which should be buffered, from its header on.
    pub fn new(mut out: W) -> Self {
        let state = writeln!(out, "{HEADER}");
        Self { out, state }
    }

    /// What was written to, or the first thing that went wrong; nothing was written after that.
    pub fn finish(mut self) -> io::Result<W> {
        self.state?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn line(&mut self, record: &Record) -> io::Result<()> {
        let Record { cycle, repeat, oldest, in_flight, waiting, valid, committing, .. } = record;
        write!(self.out, "{cycle},{repeat},{oldest},{in_flight},{waiting},{valid},{committing},")?;
        let mut separator = "";
        for entry in record.heads() {
            write!(self.out, "{separator}{}@{}", entry.instruction, entry.age)?;
            for (bit, letter) in ["x", "f", "m", "n"].into_iter().enumerate() {
                if entry.flags.bits() >> bit & 1 == 1 {
                    write!(self.out, "{letter}")?;
                }
            }
            if !entry.events.is_base() {
                write!(self.out, "[{}]", entry.events)?;
            }
            separator = " ";
        }
        writeln!(self.out)
    }
}

impl<W: Write + Send> Worker<Record> for Csv<W> {
    fn take(&mut self, part: &[Record]) {
        for record in part {
            if self.state.is_ok() {
                self.state = self.line(record);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Csv;
    use crate::{Flags, Psv, Record, Worker};

    #[test]
    fn a_record_is_a_line() {
        let mut record =
            Record { cycle: 3, oldest: 9, repeat: 1, in_flight: 4, waiting: 6, ..Record::default() };
        (record.valid, record.committing) = (2, 1);
        record.entries[0].instruction = 7;
        record.entries[0].flags = Flags::MISPREDICTED;
        record.entries[1] = crate::Entry { instruction: 8, age: 1, events: Psv::ST_L1, ..record.entries[1] };
        let mut csv = Csv::new(Vec::new());
        csv.take(&[record]);
        let text = String::from_utf8(csv.finish().unwrap()).unwrap();
        assert_eq!(text.lines().nth(1), Some("3,1,9,4,6,2,1,7@0m 8@1[ST-L1]"));
    }
}
