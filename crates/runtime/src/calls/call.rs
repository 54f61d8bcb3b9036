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
    /// Its call's frame would be, but nothing is known that led to it from what was called: it may have given up its own
    /// return address, and return for its caller.
    Doubted,
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
    /// Whether no flag is read before it is written where it leads.
    pub is_free: bool,
}

/// A call. There may be very many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The counter for its cost, in bytes from counter 0.
    pub cost: u32,
    /// The block that it ends.
    pub block: u32,
    /// What is called.
    pub callee: Callee,
    caller: Option<NonZeroU64>,
}

impl Call {
    /// At the end of a block of the function that begins at `caller`.
    pub fn new(cost: u32, block: u32, callee: Callee, caller: Option<u64>) -> Call {
        Call { cost, block, callee, caller: caller.and_then(NonZeroU64::new) }
    }

    /// Where the function begins that calls, if it is known.
    pub fn caller(&self) -> Option<u64> {
        self.caller.map(NonZeroU64::get)
    }

    /// Where the one begins that is called, if it is not passed on.
    pub fn callee(&self) -> Option<u64> {
        match self.callee {
            Callee::Function(start) | Callee::Leaf(start) | Callee::Brief(start) => Some(start),
            Callee::Stub(_) => None,
        }
    }
}

/// What is called or jumped to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// A function, by where it begins.
    Function(u64),
    /// A function that makes no calls, likewise: no activation of it ever waits.
    Leaf(u64),
    /// The same, called straight: its return can be of no other call, so this one needs no frame.
    Brief(u64),
    /// Code that only jumps on to a function, as linkers make it, by its address.
    Stub(u64),
}

/// Without room for a counter nothing can be noted of a function.
pub fn recurring(function: u32) -> Function {
    if function == 0 { Function::Once } else { Function::Recurring(function) }
}

/// Where counter `number` lies, in bytes from counter 0: 0 stands for nobody's if there was no room.
pub fn place(number: u32) -> u32 {
    if number == timewise_abi::NONE { 0 } else { 8 * number }
}
