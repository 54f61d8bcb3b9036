//! What calls cost: the instructions executed under each call site (OptiWISE, section IV-D, algorithm 1).
//!
//! Every thread has frames beside the program's stack: one for each call that has not returned. A call notes
//! the thread's clock there, and its return charges what the clock has moved to a counter of the call site
//! and callee. Where the function that was called waits further up the stack, at a call of its own, the same is
//! taken off there: so an instruction is charged to the most recent activation of each function only, and
//! recursion is counted once.
//!
//! All that is done inline ([`sequence`]). A return finds the latest call's frame by the place on the stack of
//! its return address; whatever else happens to a stack (`frames.rs`) is seen when that fails. What could be
//! wanted only of a function that waits is not noted for one that makes no calls. A direct call of one that can
//! only return to its caller is *brief*: it needs no frame at all.

mod frames;
mod functions;
pub mod sequence;
mod step;
mod strands;

pub use frames::{
    close, close_others, end, end_handler, inherit, is_overflow, left, limit, mark_handler, settle, start,
};
pub use step::Step;

use crate::address_space::AddressSpace;
use crate::cache::{self, Region};
use crate::emit::Code;
use crate::state::AddressHasher;
use crate::sys::memory::read;
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use functions::Functions;
use hashbrown::HashMap;
use sequence::{Callee, Framed, Pass, Sequence, Tail};
use timewise_abi::log::BRIEF;

/// What is known of the calls of a process.
#[derive(Debug, Default)]
pub struct Calls {
    /// The block that a call ends, and the counter of the function that it is of, or 0; by the counter for its cost.
    sites: HashMap<u32, (u32, u32), BuildHasherDefault<AddressHasher>>,
    /// Where calls return to, with what they call if that is always the same.
    returns: HashMap<u64, Option<u64>, BuildHasherDefault<AddressHasher>>,
    /// Counters for the costs of calls that always call the same, by where they return to and what that is.
    direct: HashMap<(u64, u64), u32, BuildHasherDefault<AddressHasher>>,
    /// Where functions begin.
    starts: Functions,
    /// The counter of each function that was called or jumped to, by where it begins, or where this led to if
    /// nothing says.
    functions: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    /// Functions that are jumped to once the stack pointer was moved, by the exit by which a thread leaves on its
    /// way there.
    moved_to: HashMap<u32, Callee, BuildHasherDefault<AddressHasher>>,
    /// What was added to translated code, by where it begins.
    sequences: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    /// All of it.
    all: Vec<Sequence>,
}

impl Calls {
    /// Notes that a call returns to an address, and what it calls if that is always the same.
    pub fn add_site(&mut self, returns_to: u64, target: Option<u64>) {
        let known = self.returns.entry(returns_to).or_default();
        // What was once noted without a frame must go on so, whatever else is decoded there.
        *known = target.or(*known);
    }

    /// Whether a call returns to an address.
    pub fn is_site(&self, returns_to: u64) -> bool {
        self.returns.contains_key(&returns_to)
    }

    /// What is known of a function whose block at `within` returns to an address.
    pub fn returning(&mut self, space: &AddressSpace, returns_to: u64, within: u64) -> Returning {
        let starts = &mut self.starts;
        let target = self.returns.get(&returns_to).copied().flatten();
        let target = target.filter(|&target| starts.start(space, within) == Some(target));
        let cost = target.and_then(|target| self.direct.get(&(returns_to, target)).copied());
        let is_leaf = starts.leaf(space, within).is_some();
        match (cost, target.and_then(|target| self.functions.get(&target).copied())) {
            (Some(cost), _) if is_leaf => Returning::Brief { cost },
            (Some(cost), Some(function)) => Returning::Framed(Framed::Known { cost, function }),
            _ if is_leaf => Returning::Framed(Framed::Leaf),
            _ => Returning::Framed(Framed::Unknown),
        }
    }

    /// The counter for the cost of the call without a frame that a thread is in at `address`.
    pub fn brief_at(&mut self, space: &AddressSpace, address: u64, stack: u64) -> Option<u32> {
        let (start, depth) = self.starts.in_leaf(space, address)?;
        let mut returns_to = [0; 8];
        let slot = stack.wrapping_add(depth.into());
        (read(slot, &mut returns_to) == returns_to.len()).then_some(())?;
        self.direct.get(&(u64::from_le_bytes(returns_to), start)).copied()
    }

    /// The counters for a call by `block`, whose code begins at an address, that returns to another if it is direct, of
    /// the code at a third, which begins with `code`; `take` gives a fresh one by its number.
    pub fn add(
        &mut self,
        space: &AddressSpace,
        (block, begins, returns_to): (u32, u64, Option<u64>),
        (address, code): (u64, &[u8]),
        mut take: impl FnMut() -> u32,
    ) -> Call {
        let callee = self.callee(space, (address, code), &mut take);
        let caller = self.starts.start(space, begins).map(|start| self.function(start, &mut take));
        let is_known = |to: &u64| self.returns.get(to).copied().flatten() == Some(address);
        let call = if let Some(returns_to) = returns_to.filter(is_known) {
            let cost = *self.direct.entry((returns_to, address)).or_insert_with(|| place(take()));
            let callee = if callee == Callee::Leaf { Callee::Brief } else { callee };
            Call { cost, callee, caller }
        } else {
            Call { cost: place(take()), callee, caller }
        };
        self.sites.insert(call.cost, (block, caller.unwrap_or(0)));
        call
    }

    /// What a handler at an address is.
    pub fn handler(&mut self, space: &AddressSpace, address: u64, take: impl FnMut() -> u32) -> u32 {
        self.callee(space, (address, &[]), take).function()
    }

    /// What a jump needs that goes to another function.
    pub fn onward(
        &mut self,
        space: &AddressSpace,
        jump: Jump,
        mut take: impl FnMut() -> u32,
    ) -> Option<Sequence> {
        let Jump { from: (from, code), to: (to, goal), instructions, ahead } = jump;
        let (before, after) = (self.starts.start(space, from), self.starts.start(space, to));
        let callee = self.callee(space, (to, goal), &mut take);
        if self.starts.is_stub(space, from, code) {
            return match callee {
                Callee::Leaf | Callee::Brief => None,
                Callee::Function(function) => {
                    Some(Sequence::Pass(Pass { function, instructions, borrowed: false }))
                }
                Callee::Stub => Some(Sequence::Tail(Tail { callee, ahead, borrowed: false })),
            };
        }
        // From code that nothing is told of, a function is entered at its beginning.
        let enters = before.is_some() || after == Some(to);
        let is_another = callee == Callee::Stub || (after.is_some() && before != after && enters);
        is_another.then_some(Sequence::Tail(Tail { callee, ahead, borrowed: false }))
    }

    /// Notes that a thread which leaves by `exit`, having moved its stack pointer, may be on its way into the
    /// function at `to`.
    pub fn moves_to(&mut self, space: &AddressSpace, exit: u32, to: u64, take: impl FnMut() -> u32) {
        if self.starts.start(space, to) == Some(to) {
            let callee = self.callee(space, (to, &[]), take);
            self.moved_to.insert(exit, callee);
        }
    }

    /// What is entered at an address where a block of `code` begins.
    fn callee(
        &mut self,
        space: &AddressSpace,
        (address, code): (u64, &[u8]),
        take: impl FnMut() -> u32,
    ) -> Callee {
        if self.starts.is_stub(space, address, code) {
            Callee::Stub
        } else if self.starts.leaf(space, address) == Some(address) {
            Callee::Leaf
        } else {
            let start = self.starts.start(space, address).unwrap_or(address);
            match self.function(start, take) {
                // Without room for a counter nothing can be noted of it.
                0 => Callee::Stub,
                function => Callee::Function(function),
            }
        }
    }

    /// The counter of the function that begins at an address.
    fn function(&mut self, start: u64, mut take: impl FnMut() -> u32) -> u32 {
        *self.functions.entry(start).or_insert_with(|| place(take()))
    }

    /// Adds a sequence to translated code.
    pub fn emit(&mut self, code: &mut Code, sequence: Sequence) {
        self.sequences.insert(code.here(), self.all.len() as u32);
        sequence.emit(code);
        self.all.push(sequence);
    }

    /// Puts the rest of a return that may not end the latest call beside other cold code: its address.
    pub fn put_unmatched(&mut self, region: &mut Region, exit: u32) -> u64 {
        let rest = Sequence::Unmatched(exit);
        let mut code = Code::at(region.take_cold(rest.length() as u64));
        self.emit(&mut code, rest);
        cache::write(code.address, &code.bytes);
        code.address
    }

    /// What was added at an address, by number.
    pub fn sequence_at(&self, address: u64) -> Option<u32> {
        self.sequences.get(&address).copied()
    }

    /// By its number.
    pub fn sequence(&self, number: u32) -> &Sequence {
        &self.all[number as usize]
    }
}

/// What is known of a function that returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Returning {
    /// Its call has no frame.
    Brief {
        /// The counter for the cost of the call.
        cost: u32,
    },
    /// It has one.
    Framed(Framed),
}

/// A jump from the end of a block to another; both with their address and code.
#[derive(Clone, Copy, Debug)]
pub struct Jump<'a> {
    /// The block that jumps.
    pub from: (u64, &'a [u8]),
    /// Where to.
    pub to: (u64, &'a [u8]),
    /// Instructions of the block that jumps.
    pub instructions: u16,
    /// How far the thread is ahead of its clock.
    pub ahead: i32,
}

/// The counters of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// For its cost, in bytes from counter 0.
    pub cost: u32,
    /// What is called.
    pub callee: Callee,
    /// The counter of the function that calls, if it is known.
    pub caller: Option<u32>,
}

/// Where counter `number` lies, in bytes from counter 0: 0 stands for nobody's if there was no room.
fn place(number: u32) -> u32 {
    if number == timewise_abi::NONE { 0 } else { 8 * number }
}

/// What an edge record says of a call's cost.
pub fn recorded(call: Call) -> u32 {
    match call.cost / 8 {
        0 => timewise_abi::NONE,
        number if call.callee == Callee::Brief => number | BRIEF,
        number => number,
    }
}
