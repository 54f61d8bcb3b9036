//! String instructions that repeat, as a whole.

use super::{Core, Done, lines_of};
use crate::code::{Repeats, Static};
use crate::memory::{LINE, Side, Source, Stretch, Why};
use crate::processor::ShortStrings;
use timewise_replay::Access;
use timewise_trace::{Observer, Psv};

/// What string instructions keep for themselves, and how the latest moves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strings {
    /// When all µops of the latest are executed.
    issued: u64,
    /// When all is moved that the latest moves.
    moved: u64,
    /// When its bytes are written, but not which.
    pub moving: Stretch,
}

/// How one goes on.
#[derive(Clone, Copy, Debug)]
struct Pace {
    startup: u64,
    /// Bytes in so many cycles.
    rate: u64,
    /// These cycles.
    cycles: u64,
    /// Bytes whose µops are executed in a cycle.
    issued: u64,
}

impl<O: Observer> Core<O> {
    /// Executes one: line after line at the pace of the processor's microcode, each as soon as it is there, up to the first
    /// page that was never touched. Behind the exception that this raises it goes on from there.
    pub(super) fn strings(
        &mut self,
        it: &Static,
        repeats: Repeats,
        accesses: &[Access],
        earliest: u64,
    ) -> Done {
        let Pace { startup, rate, cycles, issued } = self.pace(repeats, accesses);
        let operands = self.registers.ready(&it.address_registers).max(self.registers.ready(&it.reads));
        let ready = operands.max(earliest).max(self.load_floor).max(self.strings.issued) + startup;
        let begin = ready.max(self.strings.moved);
        let from = std::mem::take(&mut self.moved);
        let untouched = |access: &Access| {
            let (first, bytes) = (access.address.saturating_add(from), access.size.saturating_sub(from));
            let before = self.pages.untouched(first, bytes)?;
            Some((from + before, first + before))
        };
        let stop = accesses.iter().filter_map(untouched).min();
        let mut done = Done { complete: begin, events: Psv::BASE, raises: false };
        let now = if stop.is_some_and(|(stop, _)| stop == from) { &[] } else { accesses };
        (self.strings.issued, self.strings.moved) = (ready, begin);
        let mut late = 0;
        let queued = u64::from(self.processor.stores.queue) * self.processor.backend.strings.bytes;
        for access in now {
            let first = access.address.saturating_add(from);
            let bytes = stop.map_or(access.size, |(stop, _)| stop.min(access.size)).saturating_sub(from);
            let why = if access.reads { Why::Load(it.address) } else { Why::Store(it.address) };
            let mut page = (u64::MAX, begin);
            for line in lines_of(first, bytes) {
                let moved = (line << LINE).saturating_sub(first);
                let cycle = begin + moved * cycles / rate;
                let address = (line << LINE).max(first);
                if address >> 12 != page.0 {
                    let translated = self.pages.translate(Side::Data, address, cycle, &mut self.caches);
                    if translated.missed {
                        done.events |= Psv::ST_TLB;
                        self.totals.missed_tlb += 1;
                    }
                    page = (address >> 12, translated.ready);
                }
                let found = self.pages.access(line, cycle.max(page.1), why, &mut self.caches);
                if found.missed_first && access.reads {
                    done.events |= Psv::ST_L1;
                }
                if found.missed_last && access.reads {
                    done.events |= Psv::ST_LLC;
                }
                let left = bytes.saturating_sub(address - first);
                if access.reads {
                    let ready = found.ready.max(self.stored(address, left, cycle));
                    late = late.max(ready.saturating_sub(cycle + self.caches.first_latency()));
                    done.complete = done.complete.max(ready);
                } else if found.missed_first && left > queued {
                    // Stores go on without their lines, but only the last of them have room in the store queue.
                    done.complete = done.complete.max(found.ready);
                }
            }
            done.complete = done.complete.max(begin + bytes * cycles / rate);
            self.strings.issued = self.strings.issued.max(ready + bytes * cycles / issued);
            self.strings.moved = self.strings.moved.max(begin + bytes * cycles / rate);
        }
        self.strings.moving =
            Stretch { begin: (begin + late).saturating_sub(from / rate), rate, ..Stretch::default() };
        if let Some((moved, page)) = stop {
            self.moved = moved;
            let translated = self.pages.translate(Side::Data, page, done.complete, &mut self.caches);
            if translated.missed {
                done.events |= Psv::ST_TLB;
                self.totals.missed_tlb += 1;
            }
            self.pages.touch_first(page, 1);
            return Done { complete: translated.ready, events: done.events | Psv::FL_EX, raises: true };
        }
        self.write_registers(it, done.complete);
        done
    }

    /// How one goes on that makes these accesses.
    fn pace(&self, repeats: Repeats, accesses: &[Access]) -> Pace {
        let strings = &self.processor.backend.strings;
        let is_short = |short: &ShortStrings| {
            accesses.iter().all(|access| access.unit <= short.unit && access.size <= short.bytes)
        };
        let short = strings.short.filter(is_short).and_then(|short| {
            let startup = match repeats {
                Repeats::Moves => short.moved,
                Repeats::Stores => short.stored.unwrap_or(short.moved),
                Repeats::Searches if strings.searched_cycles.is_some() => return None,
                Repeats::Compares | Repeats::Searches => short.compared?,
            };
            Some(Pace { startup, rate: short.bytes, cycles: 1, issued: short.bytes })
        });
        let (startup, moved) = (strings.startup, strings.issued_bytes.unwrap_or(strings.bytes));
        let of = |startup, rate, issued| Pace { startup, rate, cycles: 1, issued };
        short.unwrap_or_else(|| match (repeats, strings.searched_cycles) {
            (Repeats::Moves, _) => of(startup, strings.bytes, moved),
            (Repeats::Stores, _) => of(startup, strings.bytes, strings.stored_bytes.unwrap_or(moved)),
            (Repeats::Searches, Some(cycles)) => {
                let element = accesses.first().map_or(1, |access| access.unit.max(1).into());
                Pace { startup, rate: element, cycles, issued: element }
            }
            (Repeats::Compares, _) => {
                let startup = strings.compared_startup.unwrap_or(startup);
                of(startup, strings.compared_bytes, strings.compared_bytes)
            }
            (Repeats::Searches, None) => of(startup, strings.compared_bytes, strings.compared_bytes),
        })
    }

    /// When all is there that older stores on their way write to so many bytes of a line, if one would read these in this
    /// cycle.
    fn stored(&self, address: u64, bytes: u64, cycle: u64) -> u64 {
        let in_line = bytes.min(64 - address % 64);
        match self.forwarding.find(address, in_line as u32, cycle) {
            Source::Cache => 0,
            Source::Store { data, .. } => data + self.processor.loads.forward,
            Source::Blocked { drained, .. } => drained + self.caches.first_latency(),
        }
    }
}
