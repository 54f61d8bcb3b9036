//! Code as a core sees it: each static instruction decoded once into µops, operands and what is special of it.

mod blocks;
mod recipe;
mod table;

pub(crate) use blocks::rotated;
pub use blocks::{Code, Origin};
pub use recipe::MemoryUops;
pub use table::TEXT as TABLE;

use crate::predict::Branch;
use timewise_isa::Order;

/// No register.
pub const NO_REGISTER: u8 = u8::MAX;

/// A µop that computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uop {
    /// Ports that it may go to.
    pub ports: u32,
    /// The number of that set of ports.
    pub set: u8,
    /// Its scheduler.
    pub queue: u8,
    /// Cycles that it keeps the port busy.
    pub busy: u16,
}

/// A static instruction.
#[derive(Clone, Debug)]
pub struct Static {
    /// Its address.
    pub address: u64,
    /// Its bytes.
    pub length: u8,
    /// Entries of the reorder buffer that it takes; 0 for what is fused with the instruction before it.
    pub entries: u8,
    /// Whether it is a `nop` that is fused with the instruction before it.
    pub is_fused_nop: bool,
    /// What sort of branch it is.
    pub branch: Branch,
    /// Where it goes if it is a direct branch that is taken.
    pub target: u64,
    /// How it is ordered with its neighbours.
    pub order: Order,
    /// Where its µops that compute begin, in [`Code::uops`].
    pub first_uop: u32,
    /// How many these are.
    pub uops: u8,
    /// Cycles from its operands to its result.
    pub latency: u16,
    /// The register that gets the upper half of a product, and how many cycles that takes more; [`NO_REGISTER`] if all
    /// results take as long.
    pub upper: (u8, u16),
    /// Registers of addresses.
    pub address_registers: [u8; 3],
    /// Registers that are read otherwise.
    pub reads: [u8; 6],
    /// Registers that are written.
    pub writes: [u8; 6],
    /// Whether it repeats; of these, whether it only reads.
    pub repeats: Option<Repeats>,
    /// Whether vector registers are among its operands.
    pub is_vector: bool,
    /// Whether it writes a general-purpose register; a vector register.
    pub allocates: [bool; 2],
    /// Whether it pushes or pops.
    pub moves_stack: bool,
    /// By how much the top of the x87 stack moves.
    pub stack_top: i8,
    /// Whether what it loads or stores may be known at rename, where only moves of registers are.
    pub passes_registers: bool,
    /// Whether it throws a line out of the caches.
    pub evicts: bool,
    /// Whether its address has a multiplied index, or base, index and displacement.
    pub has_complex_address: bool,
    /// Whether it computes the stack pointer otherwise.
    pub computes_stack: bool,
    /// Whether it does so by other means than adding a constant to it.
    pub replaces_stack: bool,
    /// Whether it is `leave`, which computes the stack pointer and loads the frame pointer.
    pub leaves_frame: bool,
}

/// A string instruction that repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeats {
    /// It moves.
    Moves,
    /// It stores, and loads nothing.
    Stores,
    /// It compares memory with memory.
    Compares,
    /// It searches or loads.
    Searches,
}
