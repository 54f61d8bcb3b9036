//! From entries to instructions: each that commits once, also where a core splits it into µops.

use crate::{Entry, Record};

/// Finds in a trace the instructions that commit.
///
/// An instruction counts where its first µop commits.
#[derive(Debug, Clone, Default)]
pub struct Committed {
    next: u64,
}

impl Committed {
    /// The instructions that commit in this record and did not in an earlier one.
    #[inline]
    pub fn of<'r>(&mut self, record: &'r Record) -> impl Iterator<Item = Entry> + use<'_, 'r> {
        let shown = record.commits().iter().flat_map(|entry| [Some(*entry), entry.nop()]).flatten();
        shown.filter(|entry| {
            let sequence = record.sequence(entry);
            let is_new = sequence >= self.next;
            self.next = self.next.max(sequence + 1);
            is_new
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Committed;
    use crate::{Entry, Flags, Record};

    #[test]
    fn a_split_instruction_counts_once() {
        let entry = |instruction, age| Entry { instruction, age, ..Entry::default() };
        let mut first = Record { repeat: 1, in_flight: 2, valid: 3, committing: 2, ..Record::default() };
        first.entries[..3].copy_from_slice(&[entry(4, 0), entry(9, 1), entry(9, 1)]);
        let mut second =
            Record { cycle: 1, oldest: 1, repeat: 1, in_flight: 1, valid: 1, committing: 1, ..first };
        second.entries[..3].copy_from_slice(&[entry(9, 0), Entry::default(), Entry::default()]);
        let mut committed = Committed::default();
        assert_eq!(committed.of(&first).map(|entry| entry.instruction).collect::<Vec<_>>(), [4, 9]);
        assert_eq!(committed.of(&second).count(), 0);
    }

    #[test]
    fn a_nop_that_shares_an_entry_counts() {
        let mut record = Record { repeat: 1, in_flight: 2, valid: 1, committing: 1, ..Record::default() };
        record.entries[0] = Entry { instruction: 4, flags: Flags::WITH_NOP, ..Entry::default() };
        let mut committed = Committed::default();
        assert_eq!(committed.of(&record).map(|entry| entry.instruction).collect::<Vec<_>>(), [4, 5]);
    }
}
