//! Loads and stores: translation, caches, and what loads find in the store queue.

use super::{Core, Done, lines, lines_of};
use crate::code::Static;
use crate::memory::{LINE, Line, Side, Source, Store, Stretch, Why};
use timewise_isa::form::STACK;
use timewise_replay::Access;
use timewise_trace::{Observer, Psv};

/// A load that was executed.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    /// When its data are there; of one that raises, when that is known.
    pub ready: u64,
    /// What it was subject to.
    pub events: Psv,
    /// It has to be done again.
    pub raises: bool,
}

/// The stores of an instruction that was executed.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// When all their addresses and data are known.
    pub ready: u64,
    /// What they were subject to.
    pub events: Psv,
    /// They have to be done again.
    pub raises: bool,
}

/// The latest cycle in which stores went into the cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drained {
    /// The cycle.
    pub cycle: u64,
    /// The latest line.
    line: Line,
    /// Lines in that cycle.
    lines: u32,
    /// Stores to the latest line in that cycle.
    joined: u32,
}

/// What an access may cross.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Border {
    Line,
    /// And with it a line.
    Page,
}

/// What an access crosses.
#[inline]
fn crosses(access: &Access) -> Option<Border> {
    let (first, last) = lines(access).into_inner();
    match last > first {
        true if last << LINE & 0xfff == 0 => Some(Border::Page),
        true => Some(Border::Line),
        false => None,
    }
}

/// How sure a load is to wait for older stores after it was executed too early once.
const SURE: u8 = 255;

impl<O: Observer> Core<O> {
    /// Executes a load that was dispatched at `dispatched` and whose address is known at `address`.
    pub(super) fn load(
        &mut self,
        it: &Static,
        number: u32,
        access: &Access,
        address: u64,
        dispatched: u64,
    ) -> Loaded {
        self.totals.loads += 1;
        let uops = self.memory_uops;
        let uop = match it.is_vector {
            true if access.size > 32 => uops.wide_load,
            true => uops.vector_load,
            false => uops.load,
        };
        let address = address + self.address_cycles(it);
        let issued = self.issue(uop, address.max(self.load_floor));
        match crosses(access) {
            Some(Border::Line) => _ = self.issue(uops.split_load.unwrap_or(uop), issued + 1),
            Some(Border::Page) => _ = self.issue(uops.page_split_load.unwrap_or(uop), issued + 1),
            None => {}
        }
        for _ in 1..self.turns(it, access) {
            self.issue(uop, issued);
        }
        let mut events = Psv::BASE;
        let page = self.pages.translate(Side::Data, access.address, issued, &mut self.caches);
        if page.missed {
            events |= Psv::ST_TLB;
            self.totals.missed_tlb += 1;
        }
        if self.pages.touch_first(access.address, access.size) {
            return Loaded { ready: page.ready, events: events | Psv::FL_EX, raises: true };
        }
        let size = access.size.min(64) as u32;
        let source = self.forwarding.find(access.address, size, page.ready);
        let mut begin = page.ready;
        if let Source::Store { addressed, .. } | Source::Blocked { addressed, .. } = source
            && addressed > begin
        {
            if !self.waits(number) {
                return Loaded { ready: addressed, events: events | Psv::FL_MO, raises: true };
            }
            begin = addressed;
        }
        let first_latency = self.caches.first_latency();
        let extra = if it.is_vector { self.processor.loads.vector_extra } else { 0 };
        let ready = match source {
            Source::Cache => self.cached(it, access, begin, &mut events) + extra,
            Source::Store { data, expression, is_aligned, .. } => {
                let loads = &self.processor.loads;
                let forward = loads.forward + if it.is_vector { loads.vector_forward_extra } else { 0 };
                let renamed = loads.renamed;
                match renamed.filter(|_| self.is_known(it, access, expression, is_aligned)) {
                    // The register that was stored, not the queue, is where they come from.
                    Some(renamed) => (data - 1 + renamed).max(self.rename(dispatched)),
                    None => (begin + first_latency).max(data + forward),
                }
            }
            Source::Blocked { drained, .. } => {
                begin.max(drained) + first_latency + self.processor.loads.blocked + extra
            }
        };
        Loaded { ready, events, raises: false }
    }

    /// Cycles that an instruction's address takes.
    pub(super) fn address_cycles(&self, it: &Static) -> u64 {
        if it.has_complex_address { self.processor.loads.complex_extra } else { 0 }
    }

    /// Turns that an access to a vector takes.
    #[inline]
    fn turns(&self, it: &Static, access: &Access) -> u64 {
        let bytes = self.processor.backend.vector_bytes.filter(|_| it.is_vector);
        bytes.map_or(1, |bytes| access.size.clamp(1, 64).div_ceil(bytes.into()))
    }

    /// Cycles in which a store goes into this line.
    #[inline]
    fn pieces(&self, access: &Access, line: Line) -> u64 {
        let Some(bytes) = self.processor.backend.vector_bytes.map(u64::from) else { return 1 };
        let first = access.address.max(line << LINE);
        let last = access.address.saturating_add(access.size.max(1) - 1).min(line << LINE | 63);
        last / bytes - first / bytes + 1
    }

    /// Recognises a load at rename as one of what was stored, and gives when. What follows waits if that is later.
    fn rename(&mut self, dispatched: u64) -> u64 {
        if !self.processor.loads.renamed_alone {
            return dispatched;
        }
        let cycle = dispatched.max(self.renamed);
        self.renamed = cycle + 1;
        if cycle > dispatched {
            self.dispatch_floor = self.dispatch_floor.max(cycle);
        }
        cycle
    }

    /// Asks for a line at an address that is known at `address`, and gives when that is done: nobody waits for the
    /// line itself.
    pub(super) fn prefetch(&mut self, access: &Access, address: u64) -> u64 {
        let issued = self.issue(self.memory_uops.load, address);
        if self.pages.untouched(access.address, 1).is_some() {
            // Of a page that is not there nothing is asked for, and it stays to be touched.
            return issued + 1;
        }
        let page = self.pages.translate(Side::Data, access.address, issued, &mut self.caches);
        self.caches.access(access.address >> LINE, page.ready, Why::Prefetch);
        issued + 1
    }

    /// Throws a line whose address is known at `address` out of the caches, and gives when that has begun.
    pub(super) fn evict(&mut self, access: &Access, address: u64) -> u64 {
        let issued = self.issue(self.memory_uops.load, address);
        if self.pages.untouched(access.address, 1).is_none() {
            let page = self.pages.translate(Side::Data, access.address, issued, &mut self.caches);
            self.caches.evict(access.address >> LINE, page.ready);
        }
        issued + 1
    }

    /// Reads from the cache.
    fn cached(&mut self, it: &Static, access: &Access, cycle: u64, events: &mut Psv) -> u64 {
        let (line, last) = lines(access).into_inner();
        let mut found = self.pages.access(line, cycle, Why::Load(it.address), &mut self.caches);
        if last != line {
            let other = self.pages.access(last, cycle, Why::Load(it.address), &mut self.caches);
            found.ready = found.ready.max(other.ready) + self.processor.loads.split_extra;
            found.missed_first |= other.missed_first;
            found.missed_last |= other.missed_last;
        }
        if found.missed_first {
            *events |= Psv::ST_L1;
            self.totals.missed_first += 1;
        }
        if found.missed_last {
            *events |= Psv::ST_LLC;
            self.totals.missed_last += 1;
        }
        found.ready
    }

    /// Whether a load that would be executed before the address of an older store to the same place is known
    /// waits for it. If it does not, it will next time.
    fn waits(&mut self, number: u32) -> bool {
        if !self.processor.loads.speculates {
            return true;
        }
        if self.conflicts.len() <= number as usize {
            self.conflicts.resize(number as usize + 1, 0);
        }
        let sure = std::mem::replace(&mut self.conflicts[number as usize], SURE);
        if sure == 0 {
            self.totals.violations += 1;
        }
        sure > 0
    }

    /// Whether a load that finds its data in a store is known at rename to do so: by the address as both have it, or
    /// because it did so before, which no address by the stack pointer is foreseen by.
    fn is_known(&mut self, it: &Static, access: &Access, stored: u64, is_aligned: bool) -> bool {
        if stored != 0 && is_aligned && stored == self.expression(it, access) {
            return true;
        }
        let is_foreseen = !it.address_registers.contains(&STACK) && self.foreseen.note(it.address);
        is_foreseen && stored != 0 && is_aligned && self.may_pass(it, access)
    }

    /// Whether rename may pass what an instruction stores to a load, or to it what was stored.
    fn may_pass(&self, it: &Static, access: &Access) -> bool {
        let passes = match self.processor.loads.renames_moves {
            true => it.passes_registers,
            // What computes with what it loads is known only if it is one µop, and the result is stored again.
            false => access.size >= 4 && (it.uops == 0 || access.writes && it.uops == 1 || it.leaves_frame),
        };
        passes && !it.is_vector
    }

    /// A hash of the address of an instruction's operand as its code has it, to tell whether a load and a store
    /// have the same; 0 if that is not told. Where the stack pointer stands is known while constants are added to it.
    fn expression(&self, it: &Static, access: &Access) -> u64 {
        if !self.may_pass(it, access) {
            return 0;
        }
        super::listed(&it.address_registers).fold(1, |hash, register| {
            let writer = if register == STACK { self.stack_base } else { self.registers.writer(register) };
            (hash ^ (writer << 8 | u64::from(register))).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
    }

    /// Computes a store's address and takes its data, which are there at `data`; gives when both are done, or of one that
    /// raises when that is known.
    pub(super) fn store(&mut self, it: &Static, accesses: &[Access], data: u64, begin: u64) -> Stored {
        let mut stored = Stored { ready: 0, events: Psv::BASE, raises: false };
        let address = self.registers.ready(&it.address_registers).max(begin) + self.address_cycles(it);
        self.pending_stores.clear();
        for access in accesses.iter().filter(|access| access.writes) {
            let issued = self.issue(self.memory_uops.address, address);
            let page = self.pages.translate(Side::Data, access.address, issued, &mut self.caches);
            if page.missed {
                stored.events |= Psv::ST_TLB;
                self.totals.missed_tlb += 1;
            }
            if self.pages.touch_first(access.address, access.size) {
                return Stored { ready: page.ready, events: stored.events | Psv::FL_EX, raises: true };
            }
            let uop = if it.is_vector { self.memory_uops.vector_data } else { self.memory_uops.data };
            let mut moved = self.issue(uop, data.max(begin));
            for _ in 1..self.turns(it, access) {
                self.issue(self.memory_uops.address, address);
                moved = moved.max(self.issue(uop, data.max(begin)));
            }
            let is_moved_at_once = self.processor.stores.updates_at_once && access.reads && it.uops > 0;
            let moved = moved + u64::from(!is_moved_at_once);
            let addressed = page.ready + 1;
            self.pending_stores.push((addressed, moved));
            stored.ready = stored.ready.max(addressed).max(moved);
        }
        stored
    }

    /// Lets the stores of an instruction that committed go into the cache, in order.
    pub(super) fn drain(&mut self, it: &Static, accesses: &[Access], committed: u64, done: Done) {
        if it.repeats.is_some() {
            return self.drain_strings(accesses, committed);
        }
        for (position, access) in accesses.iter().filter(|access| access.writes).enumerate() {
            let (addressed, data) =
                self.pending_stores.get(position).copied().unwrap_or((done.complete, done.complete));
            let mut drained = 0;
            let (first, last) = lines(access).into_inner();
            let splits_alone = self.processor.stores.splits_alone;
            for line in first..=last {
                let pieces = self.pieces(access, line);
                let is_split = last != first && splits_alone || pieces > 1;
                let found = self.pages.access(line, committed + 1, Why::Store(it.address), &mut self.caches);
                let there = if found.missed_first { found.ready } else { 0 };
                let ready = there.max(committed + 1).max(if is_split { self.drained.cycle + 1 } else { 0 });
                drained = self.take_drain(ready, line);
                for _ in 1..pieces {
                    drained = self.take_drain(drained + 1, line);
                }
                if is_split {
                    self.drained.joined = self.processor.stores.joined;
                }
                self.rewrite(line, drained);
            }
            if crosses(access) == Some(Border::Page) {
                drained += self.processor.stores.page_split;
                self.drained.cycle = drained;
            }
            self.store_queue.take(drained + 1);
            self.forwarding.add(Store {
                address: access.address,
                size: access.size as u32,
                addressed,
                data,
                drained,
                expression: self.expression(it, access),
            });
        }
        self.pending_stores.clear();
    }

    /// Lets what follows find what a string instruction wrote, whose stores went into the cache as it moved them.
    fn drain_strings(&mut self, accesses: &[Access], committed: u64) {
        for access in accesses.iter().filter(|access| access.writes && access.size > 0) {
            let moving = self.strings.moving;
            let stretch = Stretch { address: access.address, size: access.size, ..moving };
            self.forwarding.add_stretch(stretch);
            let lines = lines_of(access.address, access.size);
            let drained = self.take_drain(committed + 1, *lines.end());
            lines.for_each(|line| self.rewrite(line, drained));
            self.store_queue.take(drained + 1);
        }
    }

    /// When a store to this line goes into the cache that could from this cycle on.
    fn take_drain(&mut self, cycle: u64, line: Line) -> u64 {
        let (stores, latest) = (&self.processor.stores, &mut self.drained);
        if cycle > latest.cycle {
            *latest = Drained { cycle, line, lines: 1, joined: 1 };
        } else if line == latest.line && latest.joined < stores.joined {
            latest.joined += 1;
        } else if latest.lines < stores.drained {
            *latest = Drained { line, lines: latest.lines + 1, joined: 1, ..*latest };
        } else {
            *latest = Drained { cycle: latest.cycle + 1, line, lines: 1, joined: 1 };
        }
        latest.cycle
    }
}
