//! What is known of a call, of what it calls, and of what returns or jumps.

use super::sequence::Function;
use core::num::NonZeroU64;

/// What is known of a function that returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Returning {
    /// Its call has no frame.
    Brief {
        /// The counter for the cost of the call.
        cost: u32,
    },
    /// Its call's frame is held.
    Held {
        /// The counter for the cost of the call.
        cost: u32,
    },
    /// It has one on top of the others.
    Framed {
        /// The counter for the cost of the call, if it is always the same.
        cost: Option<u32>,
        /// The function.
        callee: Function,
    },
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
    /// Where the function begins that calls, if it is known.
    pub caller: Option<u64>,
}

/// What is called or jumped to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// A function, by where it begins.
    Function(u64),
    /// A function that makes no calls: no activation of it ever waits.
    Leaf,
    /// The same, called straight: its return can be of no other call, so this one needs no frame.
    Brief,
    /// Code that only jumps on to a function, as linkers make it, by its address.
    Stub(u64),
}

/// Where a call is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// The block that it ends.
    pub block: u32,
    caller: Option<NonZeroU64>,
    callee: Option<NonZeroU64>,
}

impl Site {
    /// At the end of a block of the function that begins at `caller`, of the one that begins at `callee`.
    pub fn new(block: u32, caller: Option<u64>, callee: Option<u64>) -> Site {
        let [caller, callee] = [caller, callee].map(|start| start.and_then(NonZeroU64::new));
        Site { block, caller, callee }
    }

    /// Where the function begins that calls, if it is known.
    pub fn caller(&self) -> Option<u64> {
        self.caller.map(NonZeroU64::get)
    }

    /// Where the one begins that is called, if it is not passed on.
    pub fn callee(&self) -> Option<u64> {
        self.callee.map(NonZeroU64::get)
    }
}

/// Without room for a counter nothing can be noted of a function.
pub fn recurring(function: u32) -> Function {
    if function == 0 { Function::Once } else { Function::Recurring(function) }
}

/// Where counter `number` lies, in bytes from counter 0: 0 stands for nobody's if there was no room.
pub fn place(number: u32) -> u32 {
    if number == timewise_abi::NONE { 0 } else { 8 * number }
}
