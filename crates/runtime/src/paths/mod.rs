//! Counting paths, by a plan of the host's: what is to be done where control passes from one block to another.
//!
//! A thread has one register for the path that it is on. A call out of a function whose register still matters keeps
//! it in a [`timewise_abi::paths::Waiting`] beside the program's stack, and the return finds it there by the place of
//! the return address, as the costs of calls find their frames. Whatever does not simply return (`events.rs`) is seen
//! when that fails, and by the host's word of where exceptions and long jumps land. A call that is given up by that
//! ends its function's path as the plan says.
//!
//! All that is done on one way stands together in a piece of code (`step.rs`), of which it is known how far each step
//! has got at each of its instructions: so a signal finds a step done or not begun.

mod events;
mod piece;
mod step;

pub use events::{
    begin_handler, behind, close_others, end, end_handler, is_overflow, limit, outside, place, settle,
};
pub use piece::{begin, cross, finish, put, resume};
pub use step::Step;

use crate::address_space::AddressSpace;
use crate::state::{AddressHasher, Block, Process};
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use hashbrown::HashMap;
use piece::Piece;
use timewise_abi::NONE;
use timewise_abi::log::edge_kind;
use timewise_abi::paths::{HANDLER, Op, POISON, Plan, Record, Site, Waiting, kind, op};
use timewise_abi::view::Shared;
use timewise_isa::Instruction;

/// What is to be done in a process, and what was made for it.
#[derive(Debug)]
pub struct Paths {
    plan: &'static Plan,
    records: &'static [Record],
    ops: &'static [Op],
    sites: &'static [Site],
    pieces: Vec<Piece>,
    /// Pieces by where they begin.
    placed: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    /// By the exit by which a thread leaves a piece: which one, and before which of its steps.
    left: HashMap<u32, (u32, u32), BuildHasherDefault<AddressHasher>>,
}

impl Paths {
    /// If paths are to be counted.
    pub fn new(shared: Shared) -> Option<Paths> {
        let plan = shared.paths()?;
        // SAFETY: the host laid them down.
        let (records, ops, sites) =
            unsafe { (shared.items(plan.records), shared.items(plan.ops), shared.items(plan.sites)) };
        let (placed, left) = (HashMap::default(), HashMap::default());
        Some(Paths { plan, records, ops, sites, pieces: Vec::new(), placed, left })
    }

    /// The piece that begins at an address: its number and length.
    pub fn piece_at(&self, address: u64) -> Option<(u32, usize)> {
        let &number = self.placed.get(&address)?;
        Some((number, self.pieces[number as usize].length()))
    }

    /// Instructions before which a block must end, by their position: something is to be done there.
    pub fn cuts(&self, space: &AddressSpace, instructions: &[Instruction]) -> Vec<usize> {
        let cuts = |&at: &usize| {
            let address = instructions[at].address;
            space.place_in_file(address).is_some_and(|(file, to)| {
                match self.find((kind::WITHIN, file, to, to)) {
                    Some(within) => within.count > 0,
                    // One function runs on into another, or on a way that was never taken.
                    None => self.known_at(file, to).is_some_and(|(start, _)| start == to),
                }
            })
        };
        (1..instructions.len()).filter(cuts).collect()
    }

    /// What is to be done on a way of a kind from the end of a block, behind its last byte, to an address.
    fn steps(&self, space: &AddressSpace, kind: u16, (end, to): (u64, u64), block: &Block) -> Vec<Step> {
        let mut steps = Vec::new();
        let from = space.place_in_file(end - 1).map(|(file, last)| (file, last + 1));
        let goal = space.place_in_file(to);
        if let (Some((file, from)), Some((other, to))) = (from, goal)
            && file == other
            && let Some(record) = self.find((kind::WITHIN, file, from, to))
        {
            self.add(&mut steps, record);
            return steps;
        }
        if from == goal && goal.is_some_and(|(file, to)| self.is_within_known(file, to)) {
            // Straight on in a block that was one where its edges were counted.
            return steps;
        }
        let leaving = |kind| from.and_then(|(file, from)| self.find((kind, file, from, 0)));
        let coming = |kind| goal.and_then(|(file, to)| self.find((kind, file, to, 0)));
        // Whether control comes to a function that has a plan: to where a path begins, or by a way that it was never
        // seen to take, from code that may have left anything in the register.
        let enter = |steps: &mut Vec<Step>| match (coming(kind::ENTRY), goal) {
            (Some(record), _) => {
                self.add(steps, record);
                true
            }
            (None, Some((file, to))) if self.known_at(file, to).is_some() => {
                steps.push(POISONED);
                true
            }
            _ => false,
        };
        if matches!(kind, edge_kind::CALL | edge_kind::INDIRECT_CALL) {
            steps.extend(leaving(kind::CALL).map(|call| Step::Keep(call.site)));
            enter(&mut steps);
            return steps;
        }
        leaving(kind::EXIT).into_iter().for_each(|exit| self.add(&mut steps, exit));
        if kind == edge_kind::RETURN {
            if let Some(record) = coming(kind::RETURN) {
                if record.site != NONE {
                    steps.push(Step::Take { site: record.site, to, discard: block.discards() });
                }
                self.add(&mut steps, record);
                return steps;
            }
            steps.extend(coming(kind::LANDING).map(|landing| Step::Land(landing.site)));
            // Behind a call that never returned before.
            if !enter(&mut steps) && coming(kind::KNOWN).is_some() {
                steps.push(POISONED);
            }
            return steps;
        }
        if kind == edge_kind::INDIRECT_JUMP {
            steps.extend(coming(kind::LANDING).map(|landing| Step::Land(landing.site)));
        }
        if !enter(&mut steps) && leaving(kind::KNOWN).is_some() {
            // Into a function without a plan, where it does not matter, or a way that was never taken before.
            steps.push(POISONED);
        }
        steps
    }

    /// What is to be done where control comes to an address from outside: to a handler, or a thread's first step.
    fn entering(&self, space: &AddressSpace, to: u64) -> Vec<Step> {
        let record = space.place_in_file(to).and_then(|(file, to)| self.find((kind::ENTRY, file, to, 0)));
        let mut steps = Vec::new();
        match record {
            Some(record) => self.add(&mut steps, record),
            None => steps.push(POISONED),
        }
        steps
    }

    /// The function that a call waits in, or that a handler interrupted, if it has a plan.
    fn function_of(&self, waiting: &Waiting) -> Option<u32> {
        if waiting.site & HANDLER == 0 {
            return Some(self.sites[waiting.site as usize].function);
        }
        let record = (waiting.site & !HANDLER).checked_sub(1).filter(|_| waiting.is_handler())?;
        Some(self.records[record as usize].site)
    }

    /// The number of the record that says how a function is left by a thread whose last instruction ended before an
    /// address.
    fn exit_from(&self, space: &AddressSpace, end: u64) -> Option<usize> {
        let (file, last) = space.place_in_file(end.checked_sub(1)?)?;
        // It may have been in the middle of a block.
        let (_, end) = self.known_at(file, last)?;
        self.position((kind::EXIT, file, end, 0))
    }

    /// The block of a function with a plan that holds a place: where it begins and ends.
    fn known_at(&self, file: u64, offset: u64) -> Option<(u64, u64)> {
        let key = |record: &Record| (record.kind, record.file, record.from);
        let at = self.records.partition_point(|record| key(record) < (kind::KNOWN, file, offset + 1));
        let block = self.records.get(at)?;
        let start = block.from.checked_sub(block.count.into())?;
        ((block.kind, block.file) == (kind::KNOWN, file) && start <= offset).then_some((start, block.from))
    }

    /// Whether a place is in such a block, behind where it begins.
    fn is_within_known(&self, file: u64, offset: u64) -> bool {
        self.known_at(file, offset).is_some_and(|(start, _)| start < offset)
    }

    fn add(&self, steps: &mut Vec<Step>, record: &Record) {
        let first = record.first as usize;
        steps.extend(self.ops[first..first + record.count as usize].iter().map(|&op| Step::Op(op)));
    }

    fn find(&self, key: (u64, u64, u64, u64)) -> Option<&'static Record> {
        self.position(key).map(|at| &self.records[at])
    }

    fn position(&self, key: (u64, u64, u64, u64)) -> Option<usize> {
        self.records
            .binary_search_by_key(&key, |record| (record.kind, record.file, record.from, record.to))
            .ok()
    }
}

/// The path has no number from here on.
const POISONED: Step = Step::Op(Op { kind: op::SET, place: 0, value: POISON, limit: 0 });

/// What is to be done on a way of a kind from block `from`, from its end, to an address.
pub fn steps(process: &Process, from: u32, kind: u16, to: u64) -> Vec<Step> {
    let Some(paths) = &process.paths else { return Vec::new() };
    if kind > edge_kind::SYSTEM_CALL {
        return Vec::new();
    }
    let block = &process.blocks[from as usize];
    paths.steps(&process.space, kind, (block.end() + 1, to), block)
}
