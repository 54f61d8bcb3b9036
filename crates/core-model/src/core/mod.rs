//! The core: what happens when to each instruction, in program order, and from that a record of every cycle.
//!
//! An instruction's way is computed at once, when it comes: fetched, dispatched, executed and committed in the
//! first cycles in which everything that it needs is free ([`crate::resources`]). As older instructions have
//! been given theirs before, this is what a core does that prefers the oldest; nothing has to be simulated cycle
//! by cycle, and cycles in which nothing happens cost nothing.

mod execute;
mod fetch;
mod loads;
mod order;
mod retire;
mod rewritten;
mod strings;
mod warm;
mod wrong_path;

use crate::code::{Code, MemoryUops, NO_REGISTER, Static, Uop};
use crate::memory::{Foreseen, Forwarding, Hierarchy, LINE, Line, Translations};
use crate::predict::{Branch, Executed, Outcome, Predictor};
use crate::processor::{INTEGERS, Processor, VECTORS};
use crate::resources::{Distribution, InOrder, OutOfOrder, Ports};
use execute::Registers;
use fetch::{Fetched, Fetcher};
use loads::Drained;
use retire::{Retire, Slot};
use rewritten::Rewritten;
use std::ops::RangeInclusive;
use strings::Strings;
use timewise_replay::Access;
use timewise_trace::{Flags, Observer, Psv};
use wrong_path::WrongPath;

/// What a core has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Instructions that committed.
    pub instructions: u64,
    /// Entries of the reorder buffer that these took.
    pub entries: u64,
    /// The cycle behind the latest commit.
    pub cycles: u64,
    /// Branches that were mispredicted.
    pub mispredicted: u64,
    /// Loads.
    pub loads: u64,
    /// Loads that missed the first-level data cache.
    pub missed_first: u64,
    /// Loads that missed the last level.
    pub missed_last: u64,
    /// Data accesses that missed the first-level TLB.
    pub missed_tlb: u64,
    /// Loads that were executed before an older store to the same place.
    pub violations: u64,
    /// Fetches that missed the first-level instruction cache.
    pub missed_instructions: u64,
    /// Instructions that were fetched again, as they had been fetched before the program wrote them.
    pub rewritten: u64,
}

/// A branch whose successor is not known yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    branch: Branch,
    address: u64,
    next: u64,
    /// Where it goes if it is taken, if it says so.
    target: u64,
    complete: u64,
    committed: u64,
}

/// When an instruction was executed.
#[derive(Clone, Copy, Debug)]
struct Done {
    /// It may commit from then on.
    complete: u64,
    /// What it was subject to.
    events: Psv,
    /// It has to be done again: it raises an exception.
    raises: bool,
}

/// Room for entries that there is before each instruction: for all of its own, which a byte counts, and as many again
/// for those by which it raises exceptions before.
const ROOM: usize = 2 * (u8::MAX as usize + 1);

/// The latest cycle of dispatch.
#[derive(Clone, Copy, Debug, Default)]
struct Dispatched {
    cycle: u64,
    /// Entries that were dispatched in it.
    entries: u32,
    /// Instructions that these begin, and those among them that write vector registers.
    instructions: u32,
    vectors: u32,
}

/// A core.
#[derive(Debug)]
pub struct Core<O> {
    processor: Processor,
    memory_uops: MemoryUops,
    observer: O,
    totals: Totals,
    /// The next instruction's number.
    sequence: u64,

    fetcher: Fetcher,
    predictor: Predictor,
    pending: Option<Pending>,
    wrong_path: WrongPath,
    /// The latest instruction only warmed.
    is_warming: bool,
    branches: Option<InOrder>,

    dispatched: Dispatched,
    /// Nothing is dispatched before.
    dispatch_floor: u64,
    reorder_buffer: InOrder,
    integers: InOrder,
    vectors: InOrder,
    load_queue: InOrder,
    store_queue: InOrder,
    queues: Vec<OutOfOrder>,
    /// Which of the schedulers gets a µop that several could take, if one does at dispatch.
    distribution: Option<Distribution>,
    /// The µops of the instruction at hand as they were given to schedulers.
    given: Vec<Uop>,

    ports: Ports,
    registers: Registers,
    /// When the latest of all instructions is executed.
    latest_complete: u64,

    caches: Hierarchy,
    pages: Translations,
    forwarding: Forwarding,
    foreseen: Foreseen,
    /// Loads begin no earlier.
    load_floor: u64,
    /// When the latest instruction of each order is done.
    occupied: [u64; timewise_isa::Order::COUNT],
    strings: Strings,
    /// The first cycle in which rename may recognise another load as one of what was stored.
    renamed: u64,
    /// The stack pointer was moved without execution since it was computed.
    is_stack_moved: bool,
    /// Who computed the stack pointer otherwise than by adding constants, by number in program order.
    stack_base: u64,
    drained: Drained,
    rewritten: Rewritten,
    /// Of each store of the instruction at hand, when its address and its data are known.
    pending_stores: Vec<(u64, u64)>,
    /// Bytes that the string instruction at hand had moved when it raised an exception.
    moved: u64,
    /// For each static instruction, how sure it is that it must wait for an older store.
    conflicts: Vec<u8>,

    /// The latest cycle of commit, with entries that committed in it.
    committed: (u64, u32),
    retire: Retire,
}

impl<O: Observer> Core<O> {
    /// A core that was switched on just now: its caches are empty, its predictors know nothing. `code` must be made for
    /// the same processor.
    pub fn new(processor: &Processor, code: &Code, observer: O) -> Core<O> {
        let rename = &processor.rename;
        let waiting = (rename.reorder_buffer + processor.fetch.buffer) as usize;
        Core {
            memory_uops: code.memory_uops(),
            observer,
            totals: Totals::default(),
            sequence: 0,
            fetcher: Fetcher::new(processor),
            predictor: Predictor::new(&processor.branches),
            pending: None,
            wrong_path: WrongPath::default(),
            is_warming: false,
            branches: Some(processor.branches.outstanding).filter(|most| *most > 0).map(InOrder::new),
            dispatched: Dispatched::default(),
            dispatch_floor: 0,
            reorder_buffer: InOrder::new(rename.reorder_buffer as usize),
            integers: InOrder::new(rename.integer_registers - INTEGERS),
            vectors: InOrder::new(rename.vector_registers - VECTORS),
            load_queue: InOrder::new(processor.loads.queue as usize),
            store_queue: InOrder::new(processor.stores.queue as usize),
            queues: processor.backend.queues.iter().map(|queue| OutOfOrder::new(queue.entries)).collect(),
            distribution: processor
                .backend
                .distributes
                .then(|| Distribution::new(processor.backend.queues.len())),
            given: Vec::new(),
            ports: Ports::new(256),
            registers: Registers::default(),
            latest_complete: 0,
            caches: Hierarchy::new(&processor.memory),
            pages: Translations::new(&processor.translation, processor.commit.page_fault.is_some()),
            forwarding: Forwarding::default(),
            foreseen: Foreseen::new(processor.loads.foreseen as usize),
            load_floor: 0,
            occupied: [0; timewise_isa::Order::COUNT],
            strings: Strings::default(),
            renamed: 0,
            is_stack_moved: false,
            stack_base: 0,
            drained: Drained::default(),
            rewritten: Rewritten::default(),
            pending_stores: Vec::new(),
            moved: 0,
            conflicts: Vec::new(),
            committed: (0, 0),
            // Fused branches take no room in the reorder buffer, but an entry here.
            retire: Retire::new(2 * waiting + ROOM, processor.commit.width as usize),
            processor: processor.clone(),
        }
    }

    /// Executes an instruction of `code`, the next in program order, with the memory that it accesses.
    pub fn step(&mut self, code: &Code, number: u32, accesses: &[Access]) {
        let it = code.get(number);
        match std::mem::take(&mut self.is_warming) {
            true => self.learn(it.address),
            false => self.follow(code, it.address),
        }
        self.follow_wrong_path(code, it, accesses);
        if self.retire.room() < ROOM {
            self.give();
        }
        self.fetch_rewritten(it);
        loop {
            let fetched = self.fetcher.fetch(it, &mut self.caches, &mut self.pages);
            self.totals.missed_instructions += u64::from(fetched.events.contains(Psv::DR_L1));
            if self.joins(it, number, fetched) {
                break;
            }
            let by_itself = it.is_fused_nop.then(|| Static { entries: 1, ..it.clone() });
            if !self.go(code, by_itself.as_ref().unwrap_or(it), number, accesses, fetched) {
                break;
            }
        }
        self.totals.instructions += 1;
        self.sequence += 1;
    }

    /// Fetches, executes and commits; true if an exception makes it necessary to do so again.
    fn go(&mut self, code: &Code, it: &Static, number: u32, accesses: &[Access], fetched: Fetched) -> bool {
        let mut slot = Slot {
            sequence: self.sequence,
            instruction: number,
            fetched: fetched.cycle,
            events: fetched.events,
            ..Slot::default()
        };
        let (first, last) = self.dispatch(code, it, accesses, fetched, &mut slot.events);
        self.caches.forget(self.wrong_path.floor(first));
        self.ports.forget(first);
        let done = match fetched.events.contains(Psv::FL_EX) {
            true => Done { complete: first, events: fetched.events, raises: true },
            false => self.execute(code, it, number, accesses, (first, last)),
        };
        slot.events |= done.events;
        slot.raises = done.raises;
        if it.order != timewise_isa::Order::Free && self.flushes(it.order) {
            slot.flags = Flags::FLUSH;
        }
        let entries = if done.raises { 1 } else { it.entries.max(1) };
        for entry in 0..entries {
            slot.dispatched = if entry == 0 { first } else { first.max(last) };
            slot.left = self.commit(done.complete.max(slot.dispatched));
            if it.entries > 0 {
                self.totals.entries += 1;
                self.reorder_buffer.take(slot.left + 1);
            }
            self.retire.push(slot);
        }
        self.committed(it, accesses, slot.left);
        if done.raises {
            self.fetcher.redirect(slot.left + self.exception_cycles(done.events));
            return true;
        }
        self.after(it, accesses, slot.left, done);
        false
    }

    /// Lets a fused `nop` share the entry of the instruction before it; false if it has to go by itself, because that one
    /// was not executed here, or has left, or because it is fetched later than that, for a reason of its own.
    fn joins(&mut self, it: &Static, number: u32, fetched: Fetched) -> bool {
        let before = (self.sequence.wrapping_sub(1), number.wrapping_sub(1));
        let Some(slot) =
            self.retire.latest_of(before.0, before.1).filter(|_| it.is_fused_nop && fetched.events.is_base())
        else {
            return false;
        };
        slot.flags = slot.flags.union(Flags::WITH_NOP);
        let (complete, committed) = (slot.left, slot.left);
        let next = it.address + u64::from(it.length);
        self.pending =
            Some(Pending { branch: it.branch, address: it.address, next, target: 0, complete, committed });
        true
    }

    /// When the first and the last entry of an instruction are dispatched.
    #[inline]
    fn dispatch(
        &mut self,
        code: &Code,
        it: &Static,
        accesses: &[Access],
        fetched: Fetched,
        events: &mut Psv,
    ) -> (u64, u64) {
        let mut cycle = fetched.decoded.max(self.dispatch_floor).max(self.dispatched.cycle);
        if it.order != timewise_isa::Order::Free && self.drains(it.order) {
            cycle = cycle.max(self.committed.0 + 1);
        }
        if self.distribution.is_none() {
            for uop in code.uops(it) {
                cycle = cycle.max(self.queues[usize::from(uop.queue)].free_at());
            }
        }
        if it.allocates[0] {
            cycle = cycle.max(self.integers.free_at());
        }
        if it.allocates[1] {
            cycle = cycle.max(self.vectors.free_at());
        }
        if it.branch != Branch::None
            && let Some(branches) = &self.branches
        {
            cycle = cycle.max(branches.free_at());
        }
        if it.entries > 0 {
            cycle = cycle.max(self.reorder_buffer.free_at());
        }
        for access in accesses {
            if access.reads {
                cycle = cycle.max(self.load_queue.free_at());
                cycle = cycle.max(self.queues[usize::from(self.memory_uops.load.queue)].free_at());
            }
            if access.writes {
                cycle = cycle.max(self.queues[usize::from(self.memory_uops.address.queue)].free_at());
                let full = self.store_queue.free_at();
                if full > cycle {
                    cycle = full;
                    *events |= Psv::DR_SQ;
                }
            }
        }
        let entries = u32::from(it.entries.min(1));
        let begins =
            Dispatched { cycle, entries, instructions: entries, vectors: u32::from(it.allocates[1]) };
        let first = self.take_dispatch(begins);
        let first = self.distribute(code, it, begins, first);
        let mut last = first;
        if it.entries > 0 {
            self.fetcher.dispatched(first);
        }
        // Entries of vectors that are parts of wider ones are as whole ones.
        let vectors = if self.processor.backend.entry_bytes().is_some() { begins.vectors } else { 0 };
        for _ in 1..it.entries {
            last = self.take_dispatch(Dispatched { cycle: last, entries: 1, instructions: 0, vectors });
            self.fetcher.dispatched(last);
        }
        (first, last)
    }

    /// When what takes so much is dispatched that could be from its cycle on.
    #[inline]
    fn take_dispatch(&mut self, more: Dispatched) -> u64 {
        let (rename, latest) = (&self.processor.rename, &mut self.dispatched);
        let is_over = |most: Option<u32>, sum| most.is_some_and(|most| sum > most);
        let is_full = latest.entries + more.entries > rename.width
            || is_over(rename.instructions, latest.instructions + more.instructions)
            || is_over(rename.vector_width, latest.vectors + more.vectors);
        if more.cycle > latest.cycle || is_full {
            *latest = Dispatched { cycle: more.cycle.max(latest.cycle + 1), ..more };
        } else {
            latest.entries += more.entries;
            latest.instructions += more.instructions;
            latest.vectors += more.vectors;
        }
        latest.cycle
    }

    /// Gives the µops of an instruction that would be dispatched in this cycle to schedulers, and gives the cycle in which
    /// these have room for them.
    #[inline]
    fn distribute(&mut self, code: &Code, it: &Static, begins: Dispatched, mut cycle: u64) -> u64 {
        let Some(distribution) = &mut self.distribution else { return cycle };
        self.given.clear();
        let mut free = cycle;
        // What can go to one alone goes there whatever the others do, who have a choice.
        for uop in code.uops(it).iter().filter(|uop| code.shares(**uop).is_empty()) {
            distribution.take(uop.queue.into(), cycle);
        }
        for &uop in code.uops(it) {
            let shares = code.shares(uop);
            let uop = match shares {
                [] => uop,
                _ => {
                    let queues = shares.iter().map(|share| usize::from(share.queue));
                    Uop { busy: uop.busy, ..shares[distribution.give(queues, cycle)] }
                }
            };
            free = free.max(self.queues[usize::from(uop.queue)].free_at());
            self.given.push(uop);
        }
        if free > cycle {
            cycle = self.take_dispatch(Dispatched { cycle: free, ..begins });
            if let Some(distribution) = &mut self.distribution {
                self.given.iter().for_each(|uop| distribution.take(uop.queue.into(), cycle));
            }
        }
        cycle
    }

    /// When an entry whose result is there at `complete` commits. A fused branch counts as one, as a record shows it as
    /// one of those that commit.
    #[inline]
    fn commit(&mut self, complete: u64) -> u64 {
        let ready = complete + self.processor.commit.delay;
        let (cycle, entries) = self.committed;
        self.committed = if ready > cycle {
            (ready, 1)
        } else if entries == self.processor.commit.width {
            (cycle + 1, 1)
        } else {
            (cycle, entries + 1)
        };
        self.committed.0
    }

    /// Gives back what an instruction took until its commit.
    #[inline]
    fn committed(&mut self, it: &Static, accesses: &[Access], cycle: u64) {
        if it.allocates[0] {
            self.integers.take(cycle + 1);
        }
        if it.allocates[1] {
            self.vectors.take(cycle + 1);
        }
        for _ in accesses.iter().filter(|access| access.reads) {
            self.load_queue.take(cycle + 1);
        }
    }

    /// What an instruction leaves behind: stores on their way into the cache, what the order of instructions
    /// asks for, and a branch to be followed.
    #[inline]
    fn after(&mut self, it: &Static, accesses: &[Access], committed: u64, done: Done) {
        self.latest_complete = self.latest_complete.max(done.complete);
        self.drain(it, accesses, committed, done);
        if it.order != timewise_isa::Order::Free {
            self.apply(it.order, committed, done.complete);
        }
        if it.branch != Branch::None
            && let Some(branches) = &mut self.branches
        {
            branches.take(done.complete);
        }
        self.pending = Some(Pending {
            branch: it.branch,
            address: it.address,
            next: it.address + u64::from(it.length),
            target: it.target,
            complete: done.complete,
            committed,
        });
    }

    /// Follows control from the latest instruction to this address.
    #[inline]
    fn follow(&mut self, code: &Code, target: u64) {
        let Some(pending) = self.pending.take() else {
            return;
        };
        let Pending { branch, address, next, complete, committed, .. } = pending;
        if branch == Branch::None {
            if next != target {
                // A signal's handler, or the way back from one.
                self.fetcher.redirect(committed + self.processor.commit.flush);
            }
            return;
        }
        match self.predictor.see(Executed { branch, address, next, target }) {
            Outcome::Straight => {}
            Outcome::Taken(lost) => self.fetcher.take_branch(lost),
            Outcome::Found(lost) => self.fetcher.find_branch(lost),
            Outcome::Mispredicted => {
                self.totals.mispredicted += 1;
                self.begin_wrong_path(code, &pending, target);
                self.fetcher.redirect(complete + self.processor.branches.redirect);
                let slot = self.retire.latest();
                slot.flags = Flags::MISPREDICTED;
                slot.events |= Psv::FL_MB;
            }
        }
    }

    /// Gives all records that can be given.
    fn give(&mut self) {
        let fetched = self.retire.latest().fetched;
        self.retire.advance(fetched + 1, &mut self.observer);
    }

    /// What was done until now; of what is in flight, as if nothing followed.
    pub fn totals(&self) -> Totals {
        let cycles = if self.totals.instructions > 0 { self.committed.0 + 1 } else { 0 };
        Totals { cycles, ..self.totals }
    }

    /// The observer.
    pub fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Gives the records that are left, and what was done in all.
    pub fn finish(mut self) -> (O, Totals) {
        self.retire.finish(&mut self.observer);
        let totals = self.totals();
        (self.observer, totals)
    }
}

/// Lines that an access of any instruction that does not repeat comes to. What saves the processor's state, of which no
/// size is known, is taken for an access to its first line.
#[inline]
fn lines(access: &Access) -> RangeInclusive<Line> {
    lines_of(access.address, access.size.clamp(1, 64))
}

/// Lines of so many bytes, at least one; at the end of all addresses there is nothing behind.
#[inline]
fn lines_of(address: u64, bytes: u64) -> RangeInclusive<Line> {
    address >> LINE..=address.saturating_add(bytes.max(1) - 1) >> LINE
}

/// Registers of a list, up to the first that is none.
#[inline]
fn listed(registers: &[u8]) -> impl Iterator<Item = u8> {
    registers.iter().copied().take_while(|register| *register != NO_REGISTER)
}
