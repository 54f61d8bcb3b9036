//! From the times of entries to a record of every cycle of the commit stage.
//!
//! The core knows when each entry is fetched, dispatched and committed as soon as it comes to it. What a cycle
//! shows is known once an instruction was fetched that is fetched no earlier; until then entries wait here.

use timewise_trace::{Entry, Flags, Observer, Psv, Record, WIDTH};

/// Records that are made before an observer sees the first of them. A record is written in pieces and read in larger ones;
/// such a load gets nothing from stores on their way, but waits until they are in the cache, and so are all before them.
/// Those before are of the copy of the last record, which may go to lines that a worker on another processor has just
/// read: fetching them back took more time than making the record, and every record waited for it.
const TOGETHER: usize = 64;

/// An entry of the reorder buffer with its times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    /// The instruction's number in program order.
    pub sequence: u64,
    /// The static instruction.
    pub instruction: u32,
    /// When it is fetched.
    pub fetched: u64,
    /// When it is dispatched.
    pub dispatched: u64,
    /// When it leaves the reorder buffer.
    pub left: u64,
    /// What it was subject to.
    pub events: Psv,
    /// What it does to the pipeline as it commits.
    pub flags: Flags,
    /// It does not commit, but raises an exception.
    pub raises: bool,
}

impl Slot {
    /// The sequence number behind what it stands for.
    fn end(&self) -> u64 {
        self.sequence + 1 + u64::from(self.flags.contains(Flags::WITH_NOP))
    }
}

/// Entries on their way, and the cycle up to which records were made.
#[derive(Debug)]
pub struct Retire {
    ring: Vec<Slot>,
    /// The oldest entry that has not left, the oldest that is not dispatched, that is not fetched, and the end.
    /// They count entries; their places in the ring follow from that.
    head: u64,
    dispatched: u64,
    fetched: u64,
    tail: u64,
    /// The next cycle.
    cycle: u64,
    width: usize,
    /// The sequence number behind the latest entry that left.
    next: u64,
    /// Room for records that no observer has seen yet.
    made: Vec<Record>,
}

impl Retire {
    /// Room for so many entries, of which so many commit in a cycle.
    pub fn new(entries: usize, width: usize) -> Retire {
        let ring = vec![Slot::default(); entries.next_power_of_two()];
        let made = vec![Record::default(); TOGETHER];
        Retire { ring, head: 0, dispatched: 0, fetched: 0, tail: 0, cycle: 0, width, next: 0, made }
    }

    /// Adds an entry, the youngest. There must be room.
    #[inline]
    pub fn push(&mut self, slot: Slot) {
        debug_assert!(self.room() > 0);
        let mask = self.ring.len() - 1;
        self.ring[self.tail as usize & mask] = slot;
        self.tail += 1;
    }

    /// Room for further entries.
    #[inline]
    pub fn room(&self) -> usize {
        self.ring.len() - (self.tail - self.head) as usize
    }

    /// The latest entry, if it is of this instruction and still there.
    pub fn latest_of(&mut self, sequence: u64, instruction: u32) -> Option<&mut Slot> {
        let is_there = self.tail > self.head;
        Some(self.latest())
            .filter(|slot| is_there && (slot.sequence, slot.instruction) == (sequence, instruction))
    }

    /// The latest entry.
    pub fn latest(&mut self) -> &mut Slot {
        let mask = self.ring.len() - 1;
        &mut self.ring[self.tail.wrapping_sub(1) as usize & mask]
    }

    #[inline]
    fn slot(&self, at: u64) -> &Slot {
        &self.ring[at as usize & (self.ring.len() - 1)]
    }

    /// Gives the records of all cycles before `end` that are left to give.
    pub fn advance(&mut self, end: u64, observer: &mut impl Observer) {
        let mut made = std::mem::take(&mut self.made);
        while self.cycle < end {
            let mut count = 0;
            while count < made.len() && self.cycle < end {
                self.turn(end, &mut made[count]);
                let (before, next) = made[..=count].split_at_mut(count);
                let is_alike = before.last_mut().is_some_and(|before| before.absorb(&next[0]));
                count += usize::from(!is_alike);
            }
            observer.observe(&made[..count]);
        }
        self.made = made;
    }

    /// Makes the next record, and has what leaves in it leave.
    #[inline]
    fn turn(&mut self, end: u64, record: &mut Record) {
        let cycle = self.cycle;
        while self.fetched < self.tail && self.slot(self.fetched).fetched < cycle {
            self.fetched += 1;
        }
        while self.dispatched < self.fetched && self.slot(self.dispatched).dispatched < cycle {
            self.dispatched += 1;
        }
        let (repeat, leaving) = self.record(end, record);
        self.cycle += u64::from(repeat);
        for _ in 0..leaving {
            let slot = self.slot(self.head);
            self.next = if slot.raises { slot.sequence } else { slot.end() };
            self.head += 1;
        }
    }

    /// Makes the record of the next cycle, and of those behind it that show the same; tells how many cycles these are, and
    /// how many entries leave.
    fn record(&self, end: u64, record: &mut Record) -> (u32, u8) {
        let cycle = self.cycle;
        let oldest = if self.head < self.tail { self.slot(self.head).sequence } else { self.next };
        let (mut in_flight, mut waiting) = (0, 0);
        if self.head < self.dispatched {
            let end = self.slot(self.dispatched - 1).end();
            in_flight = (end - oldest).min(u64::from(u16::MAX)) as u16;
        }
        if self.dispatched < self.fetched {
            let end = self.slot(self.fetched - 1).end();
            waiting = end.saturating_sub(oldest + u64::from(in_flight)) as u16;
        }
        record.entries = [Entry::default(); WIDTH];
        let (mut valid, mut committing, mut raised, mut may_leave) = (0, 0, false, true);
        for at in self.head..self.dispatched.min(self.head + self.width as u64) {
            let slot = self.slot(at);
            may_leave &= slot.left == cycle;
            let raises = may_leave && slot.raises;
            record.entries[usize::from(valid)] = Entry {
                instruction: slot.instruction,
                events: slot.events,
                flags: if raises { Flags::EXCEPTION } else { slot.flags },
                age: (slot.sequence - oldest) as u8,
            };
            valid += 1;
            committing += u8::from(may_leave && !raises);
            raised |= raises;
            may_leave &= !raises;
        }
        let leaving = committing + u8::from(raised);
        let repeat = match leaving {
            0 => (self.until(end) - cycle).min(u64::from(u32::MAX)) as u32,
            _ => 1,
        };
        (record.cycle, record.oldest, record.repeat) = (cycle, oldest, repeat);
        (record.in_flight, record.waiting) = (in_flight, waiting);
        (record.valid, record.committing) = (valid, committing);
        (repeat, leaving)
    }

    /// The first cycle that shows something else.
    fn until(&self, end: u64) -> u64 {
        let mut until = end;
        if self.head < self.dispatched {
            until = until.min(self.slot(self.head).left);
        }
        if self.dispatched < self.tail {
            until =
                until.min(self.slot(self.dispatched).dispatched.max(self.slot(self.dispatched).fetched) + 1);
        }
        if self.fetched < self.tail {
            until = until.min(self.slot(self.fetched).fetched + 1);
        }
        until.max(self.cycle + 1)
    }

    /// Gives all records that are left, to the cycle in which the last entry leaves.
    pub fn finish(&mut self, observer: &mut impl Observer) {
        if self.tail > self.head {
            let last = self.latest().left;
            self.advance(last + 1, observer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sequence, fetched, dispatched, left.
    fn records(width: usize, slots: &[(u64, u64, u64, u64)]) -> Vec<Record> {
        let mut retire = Retire::new(64, width);
        for &(sequence, fetched, dispatched, left) in slots {
            let instruction = sequence as u32 + 100;
            retire.push(Slot { sequence, instruction, fetched, dispatched, left, ..Slot::default() });
        }
        let mut records: Vec<Record> = Vec::new();
        let mut observer = |record: &Record| records.push(*record);
        retire.finish(&mut observer);
        records
    }

    #[test]
    fn every_cycle_has_its_record() {
        let records = records(2, &[(0, 1, 3, 6), (1, 1, 3, 6), (2, 4, 8, 9)]);
        let mut cycle = 0;
        for record in &records {
            record.check().unwrap();
            assert_eq!(record.cycle, cycle);
            cycle = record.end();
        }
        assert_eq!(cycle, 10);
        let shown: Vec<_> = records
            .iter()
            .map(|r| (r.cycle, r.repeat, r.oldest, r.in_flight, r.waiting, r.valid, r.committing))
            .collect();
        assert_eq!(
            shown,
            [
                (0, 2, 0, 0, 0, 0, 0),
                (2, 2, 0, 0, 2, 0, 0),
                (4, 1, 0, 2, 0, 2, 0),
                (5, 1, 0, 2, 1, 2, 0),
                (6, 1, 0, 2, 1, 2, 2),
                (7, 2, 2, 0, 1, 0, 0),
                (9, 1, 2, 1, 0, 1, 1),
            ]
        );
    }

    /// The second of two entries of one instruction enters unseen behind the oldest, which is all that is shown.
    #[test]
    fn cycles_that_show_the_same_are_one_record() {
        let records = records(1, &[(0, 0, 1, 20), (1, 0, 1, 21), (1, 0, 5, 22)]);
        let stalled: Vec<_> =
            records.iter().filter(|record| record.oldest == 0 && record.valid == 1).collect();
        let spans: Vec<_> = stalled.iter().map(|r| (r.cycle, r.repeat, r.committing)).collect();
        assert_eq!(spans, [(2, 18, 0), (20, 1, 1)]);
    }

    #[test]
    fn an_exception_leaves_and_comes_again() {
        let mut retire = Retire::new(64, 2);
        let first = Slot { sequence: 0, fetched: 0, dispatched: 1, left: 5, ..Slot::default() };
        retire.push(first);
        retire.push(Slot { sequence: 1, raises: true, ..first });
        retire.push(Slot { sequence: 1, fetched: 8, dispatched: 10, left: 12, ..Slot::default() });
        let mut records = Vec::new();
        retire.finish(&mut |record: &Record| records.push(*record));
        records.iter().for_each(|record| record.check().unwrap());
        let at = |cycle: u64| records.iter().find(|r| r.cycle <= cycle && cycle < r.end()).unwrap();
        assert!(at(4).exception().is_none() && at(4).valid == 2);
        assert_eq!((at(5).committing, at(5).exception().unwrap().age), (1, 1));
        assert_eq!((at(6).oldest, at(6).valid, at(6).waiting), (1, 0, 0));
        assert_eq!((at(9).waiting, at(11).valid, at(12).committing), (1, 1, 1));
    }
}
