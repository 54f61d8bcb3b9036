//! What is recorded of an execution beside counts of edges and costs of calls: kinds of instrumentation that
//! translation asks at the points of every block.
//!
//! Each thread has a [`Mode`], and each block of translated code is of one: a thread stays among the blocks of
//! its mode until its budget of instructions is used up ([`pace`]), where the runtime decides what is next
//! ([`window`]). Where nothing but counts is asked for, all is of the mode that adds nothing.

pub mod interval;
pub mod operand;
pub mod pace;
pub mod record;
pub mod ring;
pub mod window;

use crate::emit::Code;
use crate::state::{AddressHasher, Process};
use crate::unit::Unit;
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use hashbrown::HashMap;
use timewise_abi::stream::{Plan, control, kind};
use timewise_abi::thread::{Registers, ThreadArea, mode};
use timewise_isa::FlagSet;

/// What a block's code does beside counting edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Mode {
    /// Nothing.
    #[default]
    Count = mode::COUNT as u8,
    /// It asks the runtime when the thread's budget does not cover it.
    Pace = mode::PACE as u8,
    /// It asks likewise, and records what it executes.
    Stream = mode::STREAM as u8,
}

impl Mode {
    /// The mode of a thread.
    pub fn of(area: &ThreadArea) -> Mode {
        match area.mode {
            mode::COUNT => Mode::Count,
            mode::PACE => Mode::Pace,
            _ => Mode::Stream,
        }
    }

    /// The name of what is at an address, for code of this mode. No program has addresses that differ in these
    /// bits alone.
    pub fn key(self, address: u64) -> u64 {
        address ^ (self as u64) << 60
    }
}

/// What is asked for in a process, and what was made for it.
#[derive(Debug, Default)]
pub struct Kinds {
    /// What is asked for.
    pub plan: Plan,
    /// What was added to blocks, by their number.
    blocks: HashMap<u32, Added, BuildHasherDefault<AddressHasher>>,
    /// Bytes of what was added before or after an instruction, by where they begin.
    pieces: HashMap<u64, u16, BuildHasherDefault<AddressHasher>>,
    /// Blocks that end where a change is due: by address and instructions.
    short: HashMap<(u64, u32), u32, BuildHasherDefault<AddressHasher>>,
    /// Blocks with a counter of their own, and that counter.
    counted: Vec<(u32, u32)>,
    /// Those counters at the end of the latest interval, by thread area.
    snapshots: HashMap<u64, Vec<u64>, BuildHasherDefault<AddressHasher>>,
}

/// What was added to a block, by addresses in the code cache.
#[derive(Clone, Copy, Debug)]
pub struct Added {
    /// Its check of the budget.
    pub check: u64,
    /// Whether that borrows `rcx`.
    pub borrows: bool,
    /// From here on it has begun: the budget is less by its instructions, its record is in the ring.
    pub begun: u64,
    /// The code of its first instruction.
    pub body: u64,
    /// Registers that are borrowed, and where.
    pub lent: Option<Lent>,
}

/// The registers that recording borrows throughout a block.
#[derive(Clone, Copy, Debug)]
pub struct Lent {
    /// By number: one holds the place of the block's record, the other is free.
    pub registers: [u8; 2],
    /// Both are kept from here on.
    pub from: u64,
    /// Both are given back here.
    pub to: u64,
}

impl Kinds {
    /// Nothing made yet.
    pub fn new(plan: Plan) -> Kinds {
        Kinds { plan, ..Kinds::default() }
    }

    /// Whether each block of a mode has a counter of its own.
    pub fn counts_blocks(&self, mode: Mode) -> bool {
        mode == Mode::Pace && self.plan.kind == kind::INTERVALS
    }

    /// What was added to a block, if its mode adds anything.
    pub fn added(&self, block: u32) -> Option<&Added> {
        self.blocks.get(&block)
    }

    /// Bytes of what was added around instructions and begins at an address, 0 for nothing.
    pub fn piece_at(&self, address: u64) -> usize {
        self.pieces.get(&address).copied().unwrap_or(0).into()
    }

    /// Notes the counter of a block's own.
    pub fn counts(&mut self, block: u32, counter: u32) {
        self.counted.push((block, counter));
    }

    /// Notes what is emitted around an instruction.
    fn piece(&mut self, code: &mut Code, emit: impl FnOnce(&mut Code)) {
        let from = code.here();
        emit(code);
        let bytes = (code.here() - from) as u16;
        if bytes > 0 {
            self.pieces.insert(from, bytes);
        }
    }
}

/// What is added to one block on its way into the cache: asked at its start, around each of its instructions,
/// and before control leaves it.
#[derive(Debug)]
pub struct Adding {
    number: u32,
    added: Added,
    record: Option<record::Record>,
}

impl Adding {
    /// At the block's start; `out` is where a thread goes whose budget does not cover it.
    pub fn enter(
        kinds: &Kinds,
        mode: Mode,
        code: &mut Code,
        (unit, block): (&Unit, usize),
        (number, out): (u32, u64),
    ) -> Adding {
        let check = code.here();
        let live: FlagSet = unit.blocks[block].live;
        let instructions = unit.blocks[block].instructions.len() as u32;
        let borrows = pace::emit(code, instructions, live, out);
        let mut added = Added { check, borrows, begun: code.here(), body: code.here(), lent: None };
        let record = (mode == Mode::Stream).then(|| {
            let with_memory = kinds.plan.memory != 0;
            record::Record::enter(code, (unit, block), number, with_memory, &mut added)
        });
        Adding { number, added, record }
    }

    /// Before an instruction, by its position in the unit.
    pub fn before(&mut self, kinds: &mut Kinds, code: &mut Code, unit: &Unit, at: usize) {
        let Some(record) = &mut self.record else { return };
        kinds.piece(code, |code| record.before(code, unit, at));
    }

    /// After one that only goes on to the next.
    pub fn after(&mut self, kinds: &mut Kinds, code: &mut Code) {
        let Some(record) = &mut self.record else { return };
        kinds.piece(code, |code| record.after(code));
    }

    /// Before control leaves the block.
    pub fn leave(&mut self, code: &mut Code) {
        if let Some(record) = &mut self.record {
            record.leave(code, &mut self.added);
        }
    }

    /// The block is whole.
    pub fn finish(self, kinds: &mut Kinds) {
        kinds.blocks.insert(self.number, self.added);
    }
}

/// A thread leaves a block that it has begun after some of its instructions, with these registers.
pub fn cut(process: &Process, area: &mut ThreadArea, from: u32, executed: u16, registers: &Registers) {
    let block = &process.blocks[from as usize];
    if block.mode == Mode::Count {
        return;
    }
    area.budget += i64::from(block.instructions - executed);
    if block.mode == Mode::Stream {
        let halves = |value: u64| [value as u32, (value >> 32) as u32];
        let ([a, b], [c, d]) = (halves(registers.rsi), halves(registers.rdi));
        ring::note(area, &[control::CUT, executed.into(), a, b, c, d]);
    } else if executed < block.instructions {
        interval::left(process, area, from, executed);
    }
}

/// A signal's handler is next.
pub fn handler(area: &mut ThreadArea, signal: usize) {
    if Mode::of(area) == Mode::Stream {
        ring::note(area, &[control::SIGNAL, signal as u32]);
    }
}

/// A signal's handler has returned.
pub fn handled(area: &mut ThreadArea) {
    if Mode::of(area) == Mode::Stream {
        ring::note(area, &[control::HANDLED, 0]);
    }
}
