//! What calls cost: the instructions executed under each call site (OptiWISE, section IV-D, algorithm 1).
//!
//! Every thread has frames beside the program's stack: one for each call that has not returned. A call notes
//! the thread's clock there, and its return charges what the clock has moved to a counter of the call site
//! and callee. Where the function that was called waits further up the stack, at a call of its own, the same is
//! taken off there: so an instruction is charged to the most recent activation of each function only, and
//! recursion is counted once.
//!
//! All that is done inline ([`sequence`]). A return finds the latest call's frame by the address on the stack at
//! which it returns and by where to; whatever else happens to a stack (`frames.rs`) is seen when that fails.

mod frames;
mod functions;
pub mod sequence;
mod step;
mod strands;

pub use frames::{
    close, close_others, end_handler, inherit, is_overflow, left, limit, mark_handler, settle, start,
};
pub use step::Step;

use crate::address_space::AddressSpace;
use crate::emit::Code;
use crate::state::AddressHasher;
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use functions::Functions;
use hashbrown::HashMap;
use sequence::{Call, Sequence, Tail};

/// What is known of the calls of a process.
#[derive(Debug, Default)]
pub struct Calls {
    /// The block that a call ends, by the counter for its cost.
    sites: HashMap<u32, u32, BuildHasherDefault<AddressHasher>>,
    /// Blocks that end in calls, by where those return to.
    returns: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    /// Where functions begin.
    starts: Functions,
    /// The counter of each function that was called or jumped to, by the address that this led to.
    functions: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    /// Direct calls by their block.
    direct: HashMap<u32, Call, BuildHasherDefault<AddressHasher>>,
    /// Functions that are jumped to, by the exit by which a thread leaves on its way there.
    tails: HashMap<u32, u32, BuildHasherDefault<AddressHasher>>,
    /// What was added to translated code, by where it begins.
    sequences: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    /// All of it.
    all: Vec<Sequence>,
}

impl Calls {
    /// Notes that `block` ends in a call that returns to an address.
    pub fn add_site(&mut self, block: u32, returns_to: u64) {
        self.returns.insert(returns_to, block);
    }

    /// The block that ends in a call returning to an address.
    pub fn site(&self, returns_to: u64) -> Option<u32> {
        self.returns.get(&returns_to).copied()
    }

    /// Counters for the call by `block` of the function at `address`, in bytes from counter 0; `take` gives a
    /// fresh one by its number.
    pub fn add(&mut self, block: u32, address: u64, mut take: impl FnMut() -> u32) -> Call {
        let function = *self.functions.entry(address).or_insert_with(|| place(take()));
        let cost = place(take());
        self.sites.insert(cost, block);
        Call { cost, function }
    }

    /// What a jump from `from` to `to` needs: if it goes to another function, that one's activation replaces the
    /// present one, with the help of the dispatcher by way of `exit` if need be.
    pub fn tail(
        &mut self,
        space: &AddressSpace,
        (from, to): (u64, u64),
        exit: u32,
        take: impl FnOnce() -> u32,
    ) -> Option<Sequence> {
        let (before, after) = (self.starts.start(space, from)?, self.starts.start(space, to)?);
        if before == after {
            return None;
        }
        let function = *self.functions.entry(after).or_insert_with(|| place(take()));
        self.tails.insert(exit, function);
        Some(Sequence::Tail(Tail { function, exit }))
    }

    /// Notes that it is a direct call.
    pub fn set_direct(&mut self, block: u32, call: Call) {
        self.direct.insert(block, call);
    }

    /// The counters of a direct call.
    pub fn direct(&self, block: u32) -> Option<Call> {
        self.direct.get(&block).copied()
    }

    /// Adds a sequence to translated code.
    pub fn emit(&mut self, code: &mut Code, sequence: Sequence) {
        self.sequences.insert(code.here(), self.all.len() as u32);
        sequence.emit(code);
        self.all.push(sequence);
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

/// Where counter `number` lies, in bytes from counter 0: 0 stands for nobody's if there was no room.
fn place(number: u32) -> u32 {
    if number == timewise_abi::NONE { 0 } else { 8 * number }
}

/// The number of the counter at a place.
pub fn number(place: u32) -> u32 {
    place / 8
}

/// What makes the key of a frame from the address of the return address: the return address's own low bits.
pub fn key(returns_to: u64) -> i32 {
    (returns_to & 0x3fff_ffff) as i32
}
