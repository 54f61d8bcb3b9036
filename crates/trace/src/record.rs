//! The commit-stage record: what a core shows of one cycle, or of a run of cycles that are alike.
//!
//! It holds what the thesis's traces hold (paper A section 4, paper B section 4): the oldest entries of
//! the reorder buffer (ROB) with their flags and events, which of them commit, and how far dispatch and
//! fetch have come. A record is made at the commit stage's turn of the cycle: its entries are those in
//! the ROB before this cycle's commits leave it, and instructions that are dispatched in this cycle are
//! not yet among them.
//!
//! The core is fed with the instructions that a program executed, so none of them is on a wrong path:
//! the sequence numbers of the instructions in the ROB are consecutive, those between [`Record::oldest`]
//! and [`Record::dispatch`] are in the ROB, those up to [`Record::fetch`] are fetched and wait for
//! dispatch. A `nop` that is fused with the instruction before it has a number, and shares that one's entry
//! ([`Flags::WITH_NOP`]).

use crate::Psv;

/// The most entries that a record shows, and the widest commit that it can tell of.
pub const WIDTH: usize = 8;

/// One cycle of the commit stage, or `repeat` cycles in which nothing that it shows changed.
///
/// What must hold: `committing <= valid <= WIDTH`; `valid` is 0 exactly when the ROB is empty; a record
/// with `committing > 0` or an exception stands for one cycle; entries from `valid` on are
/// [`Entry::default`]; cycles of successive records follow each other without gap. [`Record::check`]
/// checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Record {
    /// The first cycle that the record stands for.
    pub cycle: u64,
    /// Sequence number of the ROB's oldest instruction; of an empty ROB, of the instruction that will
    /// enter it next.
    pub oldest: u64,
    /// How many cycles the record stands for, at least 1.
    pub repeat: u32,
    /// How many instructions are in the ROB; so the oldest not yet dispatched has sequence number
    /// `oldest + in_flight`.
    pub in_flight: u16,
    /// How many instructions are fetched, but not dispatched.
    pub waiting: u16,
    /// How many of `entries` there are: the ROB's oldest, oldest first, up to the commit width.
    pub valid: u8,
    /// How many of them commit in this cycle; these are the first.
    pub committing: u8,
    /// The ROB's oldest entries.
    pub entries: [Entry; WIDTH],
}

/// One entry of the ROB: an instruction, or one of the µops that a core splits it into.
///
/// µops of one instruction have its number, its age and the same events: those that the instruction was
/// subject to until this cycle, in whichever µop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Entry {
    /// Which static instruction this is: its index in the table of whoever feeds the core.
    pub instruction: u32,
    /// The events that the instruction was subject to until this cycle. They are complete in the cycle in
    /// which it commits or raises its exception.
    pub events: Psv,
    /// What becomes of the pipeline when the entry leaves the ROB.
    pub flags: Flags,
    /// Sequence number, less that of the oldest.
    pub age: u8,
}

/// What an entry does to the pipeline as it leaves the ROB, of which at most one is set, and may be set before
/// the entry leaves, once it is known, except for an exception; and whether a `nop` shares the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Flags(u8);

impl Flags {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// It does not commit but leaves the ROB in this cycle, with all that is younger, and is fetched again
    /// (a page fault, a load that was executed too early) or gives way to a handler. The entry is the
    /// oldest that does not commit in this cycle. Its events tell which exception it is.
    pub const EXCEPTION: Self = Self(1);
    /// It commits, and what is younger is thrown away, as for a serialising instruction.
    pub const FLUSH: Self = Self(2);
    /// It is a branch that was mispredicted: fetch went on at the right place when it was executed.
    pub const MISPREDICTED: Self = Self(4);
    /// The entry stands for two instructions: also for the next one, a `nop` that is fused with it, whose number
    /// in the table is the next, too.
    pub const WITH_NOP: Self = Self(8);

    /// Whether it does anything: whether a ROB that is empty after this entry was flushed, not drained.
    pub const fn any(self) -> bool {
        self.0 & !Self::WITH_NOP.0 != 0
    }

    /// Those that are set in either.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags as a number, for files.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The flags of such a number; bits without meaning are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 15)
    }
}

impl Entry {
    /// The `nop` that shares the entry.
    #[inline]
    pub fn nop(&self) -> Option<Self> {
        self.flags.contains(Flags::WITH_NOP).then(|| Self {
            instruction: self.instruction.wrapping_add(1),
            age: self.age.wrapping_add(1),
            ..Self::default()
        })
    }
}

impl Record {
    /// The entries that are in the ROB.
    #[inline]
    pub fn heads(&self) -> &[Entry] {
        &self.entries[..usize::from(self.valid).min(WIDTH)]
    }

    /// The entries that commit in this cycle.
    #[inline]
    pub fn commits(&self) -> &[Entry] {
        &self.entries[..usize::from(self.committing).min(WIDTH)]
    }

    /// The entry that raises an exception in this cycle.
    #[inline]
    pub fn exception(&self) -> Option<&Entry> {
        self.heads().get(usize::from(self.committing)).filter(|entry| entry.flags.contains(Flags::EXCEPTION))
    }

    /// Whether the ROB is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.valid == 0
    }

    /// Sequence number of the oldest instruction that is not dispatched: it is dispatched in this cycle,
    /// or waits to be.
    #[inline]
    pub fn dispatch(&self) -> u64 {
        self.oldest + u64::from(self.in_flight)
    }

    /// Sequence number of the oldest instruction that is not fetched.
    ///
    /// It is also where a program is resumed that an interrupt stops in this cycle: what is fetched is
    /// executed to its end, then the handler runs, then this instruction.
    #[inline]
    pub fn fetch(&self) -> u64 {
        self.dispatch() + u64::from(self.waiting)
    }

    /// Sequence number of an entry of this record.
    #[inline]
    pub fn sequence(&self, entry: &Entry) -> u64 {
        self.oldest + u64::from(entry.age)
    }

    /// The first cycle that the record no longer stands for.
    #[inline]
    pub fn end(&self) -> u64 {
        self.cycle + u64::from(self.repeat)
    }

    /// Takes `next` into this record when it is the following cycle and shows the same, and tells whether
    /// it did.
    #[inline]
    pub fn absorb(&mut self, next: &Self) -> bool {
        // The cheap questions first: most cycles that differ do so in these.
        let alike = self.committing == 0
            && next.committing == 0
            && next.oldest == self.oldest
            && (next.in_flight, next.waiting) == (self.in_flight, self.waiting)
            && next.cycle == self.end()
            && Self { cycle: self.cycle, repeat: self.repeat, ..*next } == *self
            && self.exception().is_none();
        match self.repeat.checked_add(next.repeat) {
            Some(repeat) if alike => {
                self.repeat = repeat;
                true
            }
            _ => false,
        }
    }

    /// Whether the record holds what its documentation promises; if not, which promise is broken.
    pub fn check(&self) -> Result<(), &'static str> {
        let oldest_leaves = self.committing > 0 || self.exception().is_some();
        let ages = self.heads().windows(2).all(|pair| {
            let last = pair[0].nop().unwrap_or(pair[0]).age;
            pair[1].age == pair[0].age || pair[1].age == last.wrapping_add(1)
        });
        let promises = [
            (usize::from(self.valid) <= WIDTH, "more entries than a record has room for"),
            (self.committing <= self.valid, "more entries commit than there are"),
            (self.repeat >= 1, "the record stands for no cycle"),
            (self.repeat == 1 || !oldest_leaves, "a cycle in which an entry leaves the ROB is repeated"),
            (
                (self.valid == 0) == (self.in_flight == 0),
                "entries and the number of instructions in the ROB disagree",
            ),
            (
                self.heads().first().is_none_or(|first| first.age == 0),
                "the oldest entry is not the oldest instruction",
            ),
            (ages, "the sequence numbers of entries are not consecutive"),
            (
                self.commits().iter().all(|entry| !entry.flags.contains(Flags::EXCEPTION)),
                "an entry that raises an exception commits",
            ),
            (
                self.entries.iter().skip(usize::from(self.valid)).all(|entry| *entry == Entry::default()),
                "an entry that is not valid is not empty",
            ),
        ];
        promises.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, broken)| Err(broken))
    }
}

/// Where a core model puts its records, in the order of their cycles.
pub trait Observer {
    /// Takes the next records. Of cycles that are alike, those of one call are one record with its `repeat`; the first may
    /// go on with the last of the call before.
    fn observe(&mut self, records: &[Record]);
}

impl<F: FnMut(&Record)> Observer for F {
    fn observe(&mut self, records: &[Record]) {
        records.iter().for_each(self);
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Flags, Record};

    fn stalled(cycle: u64) -> Record {
        let mut record =
            Record { cycle, oldest: 7, repeat: 1, in_flight: 3, waiting: 2, valid: 1, ..Record::default() };
        record.entries[0].instruction = 4;
        record
    }

    #[test]
    fn equal_cycles_become_one_record() {
        let mut record = stalled(10);
        assert!(record.absorb(&stalled(11)) && record.absorb(&stalled(12)));
        assert_eq!((record.cycle, record.repeat, record.end()), (10, 3, 13));
        assert!(!record.absorb(&stalled(14)), "a cycle is missing");
        assert!(!record.absorb(&Record { waiting: 3, ..stalled(13) }), "fetch moved");
    }

    #[test]
    fn cycles_that_commit_stay_by_themselves() {
        let commits = |cycle| Record { committing: 1, ..stalled(cycle) };
        assert!(!commits(10).absorb(&commits(11)));
    }

    #[test]
    fn positions_follow_from_counts() {
        let record = stalled(10);
        assert_eq!((record.dispatch(), record.fetch()), (10, 12));
        assert_eq!(record.sequence(&Entry { age: 2, ..Entry::default() }), 9);
    }

    #[test]
    fn a_nop_may_share_an_entry() {
        let mut record = Record { valid: 2, committing: 2, ..stalled(1) };
        record.entries[1] = Entry { instruction: 6, age: 2, ..Entry::default() };
        assert!(record.check().is_err());
        record.entries[0].flags = Flags::WITH_NOP;
        assert_eq!(record.check(), Ok(()));
        assert_eq!(record.entries[0].nop(), Some(Entry { instruction: 5, age: 1, ..Entry::default() }));
        assert!(record.entries[1].nop().is_none() && !record.entries[0].flags.any());
    }

    #[test]
    fn broken_promises_are_named() {
        assert_eq!(stalled(1).check(), Ok(()));
        assert!(Record { committing: 2, ..stalled(1) }.check().is_err());
        assert!(Record { repeat: 0, ..stalled(1) }.check().is_err());
        assert!(Record { repeat: 2, committing: 1, ..stalled(1) }.check().is_err());
        assert!(Record { in_flight: 0, ..stalled(1) }.check().is_err());
        let mut exception = Record { committing: 1, ..stalled(1) };
        exception.entries[0].flags = Flags::EXCEPTION;
        assert!(exception.check().is_err());
    }

    #[test]
    fn records_are_small() {
        assert_eq!(size_of::<Record>(), 96);
    }
}
