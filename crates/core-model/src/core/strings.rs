//! String instructions that repeat, as a whole.

use super::{Core, Done, lines_of};
use crate::code::{Repeats, Static};
use crate::memory::{LINE, Side, Why};
use timewise_replay::Access;
use timewise_trace::{Observer, Psv};

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
        let strings = &self.processor.backend.strings;
        let rate = match repeats {
            Repeats::Moves => strings.bytes,
            Repeats::Compares => strings.compared_bytes,
        };
        let operands = self.registers.ready(&it.address_registers).max(self.registers.ready(&it.reads));
        let begin = operands.max(earliest).max(self.load_floor) + strings.startup;
        let from = std::mem::take(&mut self.moved);
        let untouched = |access: &Access| {
            let (first, bytes) = (access.address.saturating_add(from), access.size.saturating_sub(from));
            let before = self.pages.untouched(first, bytes)?;
            Some((from + before, first + before))
        };
        let stop = accesses.iter().filter_map(untouched).min();
        let mut done = Done { complete: begin, events: Psv::BASE, raises: false };
        let now = if stop.is_some_and(|(stop, _)| stop == from) { &[] } else { accesses };
        for access in now {
            let first = access.address.saturating_add(from);
            let bytes = stop.map_or(access.size, |(stop, _)| stop.min(access.size)).saturating_sub(from);
            let why = if access.reads { Why::Load(it.address) } else { Why::Store(it.address) };
            let mut page = (u64::MAX, begin);
            for line in lines_of(first, bytes) {
                let moved = (line << LINE).saturating_sub(first);
                let cycle = begin + moved / rate;
                let address = (line << LINE).max(first);
                if address >> 12 != page.0 {
                    let translated = self.pages.translate(Side::Data, address, cycle, &mut self.caches);
                    if translated.missed {
                        done.events |= Psv::ST_TLB;
                        self.totals.missed_tlb += 1;
                    }
                    page = (address >> 12, translated.ready);
                }
                let found = self.caches.access(line, cycle.max(page.1), why);
                if found.missed_first && access.reads {
                    done.events |= Psv::ST_L1;
                }
                if found.missed_last && access.reads {
                    done.events |= Psv::ST_LLC;
                }
                // Stores need not wait for their lines.
                let ready = if access.reads { found.ready } else { cycle };
                done.complete = done.complete.max(ready);
            }
            done.complete = done.complete.max(begin + bytes / rate);
        }
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
}
