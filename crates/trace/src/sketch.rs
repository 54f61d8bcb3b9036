//! Traces written by hand: tables of cycles that a person can read, for tests.
//!
//! The first line names the instructions in program order. Each further line is a cycle, or a run of cycles,
//! with what is at the head of the reorder buffer, oldest first, and, where it matters, what is at dispatch
//! and at fetch:
//!
//! ```text
//! program  I1 Load I3 I4 I5
//! cycle    reorder buffer     | dispatch | fetch
//! 1        I1* Load[ST-L1]    | I4       | I5
//! 2-41     Load[ST-L1] I3     | I5       | I5
//! 42       Load[ST-L1]* I3*
//! 43       -
//! ```
//!
//! Behind an instruction stand its events in brackets, its flag (`!exception`, `!flush`, `!mispredicted`) and
//! a star if it commits. `-` is an empty buffer. A name that occurs several times in the program is one
//! static instruction: it means the first execution that has not committed. Without a column, what is at
//! dispatch comes right behind what is listed, and what is at fetch is what is at dispatch.

use std::collections::HashMap;

use crate::{Entry, Flags, Psv, Record, WIDTH};

/// A trace and the names of its static instructions.
#[derive(Debug, Clone)]
pub struct Sketch {
    /// The records, in order.
    pub records: Vec<Record>,
    /// Names by static instruction.
    pub names: Vec<String>,
}

/// Reads a table of cycles.
///
/// # Panics
///
/// If the table is not as this module says, or if a record is not as [`Record`] says: it is part of a
/// test, which then says what is wrong with it.
pub fn sketch(text: &str) -> Sketch {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let program =
        lines.next().and_then(|line| line.strip_prefix("program")).expect("a line `program` with its names");
    let mut reading = Reading::of(program);
    let records = lines.filter(|line| !line.starts_with("cycle")).map(|line| reading.record(line)).collect();
    Sketch { records, names: reading.names }
}

/// How far a table was read.
struct Reading {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// Static instructions in program order.
    program: Vec<u32>,
    /// How many have committed.
    committed: usize,
}

impl Reading {
    fn of(program: &str) -> Self {
        let mut reading =
            Self { names: Vec::new(), numbers: HashMap::new(), program: Vec::new(), committed: 0 };
        for name in program.split_whitespace() {
            let next = reading.names.len() as u32;
            let number = *reading.numbers.entry(name.to_owned()).or_insert(next);
            if number == next {
                reading.names.push(name.to_owned());
            }
            reading.program.push(number);
        }
        reading
    }

    fn record(&mut self, line: &str) -> Record {
        let mut columns = line.split('|').map(str::trim);
        let (cycles, heads) = columns
            .next()
            .and_then(|first| first.split_once(char::is_whitespace))
            .unwrap_or_else(|| panic!("no entries in `{line}`"));
        let (from, to) = cycles.split_once('-').unwrap_or((cycles, cycles));
        let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("no cycle in `{line}`"));
        let (from, to) = (number(from), number(to));
        let mut record = Record { cycle: from, oldest: self.committed as u64, ..Record::default() };
        record.repeat =
            u32::try_from(to + 1 - from).unwrap_or_else(|_| panic!("too many cycles in `{line}`"));
        for (age, word) in heads.split_whitespace().filter(|word| *word != "-").enumerate() {
            assert!(age < WIDTH, "more than {WIDTH} entries in `{line}`");
            record.entries[age] = self.entry(word, age as u8);
            record.valid += 1;
            if word.ends_with('*') {
                assert_eq!(usize::from(record.committing), age, "entries commit in order: `{line}`");
                record.committing += 1;
            }
        }
        let listed = self.committed + usize::from(record.valid);
        let dispatch = columns.next().map_or(listed, |name| self.place(name, listed));
        let fetch = columns.next().map_or(dispatch, |name| self.place(name, dispatch));
        record.in_flight = (dispatch - self.committed) as u16;
        record.waiting = (fetch - dispatch) as u16;
        self.committed += usize::from(record.committing);
        record.check().unwrap_or_else(|broken| panic!("{broken}: `{line}`"));
        record
    }

    fn entry(&self, word: &str, age: u8) -> Entry {
        let word = word.trim_end_matches('*');
        let (rest, flag) = word.split_once('!').unwrap_or((word, ""));
        let (name, events) = rest.trim_end_matches(']').split_once('[').unwrap_or((rest, ""));
        let mut entry = Entry { age, ..Entry::default() };
        entry.instruction =
            *self.numbers.get(name).unwrap_or_else(|| panic!("`{name}` is not in the program"));
        entry.flags = match flag {
            "" => Flags::NONE,
            "exception" => Flags::EXCEPTION,
            "flush" => Flags::FLUSH,
            "mispredicted" => Flags::MISPREDICTED,
            _ => panic!("`{flag}` is no flag"),
        };
        for event in events.split('+').filter(|event| !event.is_empty()) {
            entry.events |= Psv::named(event).unwrap_or_else(|| panic!("`{event}` is no event"));
        }
        entry
    }

    /// The first place from `from` on at which the program has such an instruction.
    fn place(&self, name: &str, from: usize) -> usize {
        if name.is_empty() {
            return from;
        }
        let number = self.numbers.get(name).unwrap_or_else(|| panic!("`{name}` is not in the program"));
        let found = self.program.iter().skip(from).position(|instruction| instruction == number);
        from + found.unwrap_or_else(|| panic!("`{name}` does not come any more"))
    }
}

#[cfg(test)]
mod tests {
    use super::sketch;
    use crate::{Flags, Psv};

    #[test]
    fn a_table_becomes_records() {
        let sketch = sketch(
            "program  I1 Load I3 I4 I1 I5
             cycle    reorder buffer     | dispatch | fetch
             1        I1* Load[ST-L1+ST-TLB] | I4 | I1
             2-41     Load I3
             42       Load!flush* I3
             43       -",
        );
        let [first, stall, flush, empty] = sketch.records[..] else { panic!("four records") };
        assert_eq!(sketch.names, ["I1", "Load", "I3", "I4", "I5"]);
        assert_eq!((first.oldest, first.dispatch(), first.fetch()), (0, 3, 4));
        assert_eq!(first.entries[1].events, Psv::ST_L1 | Psv::ST_TLB);
        assert_eq!(
            (stall.cycle, stall.repeat, stall.oldest, stall.dispatch(), stall.fetch()),
            (2, 40, 1, 3, 3)
        );
        assert_eq!((flush.committing, flush.entries[0].flags), (1, Flags::FLUSH));
        assert_eq!((empty.oldest, empty.is_empty()), (2, true));
    }
}
