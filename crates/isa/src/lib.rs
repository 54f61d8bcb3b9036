//! Facts about x86-64 instructions: the only crate that names the decoder library.
//!
//! Everything here is a pure function of instruction bytes and works without the standard library,
//! because the in-target runtime uses it too. Start reading at [`decode()`]. [`StableHash`] is here because all that
//! store one use this crate.
#![no_std]
#![forbid(unsafe_code)]

pub mod category;
pub mod decode;
pub mod effects;
pub mod evaluate;
pub mod extensions;
pub mod flags;
pub mod form;
mod forwarding;
mod hash;
pub mod lone;
pub mod memory;
mod numbers;
mod operands;
mod quick;
mod reach;
pub mod registers;
pub mod segment;
pub mod shape;
pub mod stack;
mod stack_change;
pub mod text;
pub mod walk;

pub use category::{Category, category};
pub use decode::{Control, DecodeError, Instruction, MAX_LENGTH, decode};
pub use evaluate::{ARITHMETIC, Decoded, Memory, State, Way, condition_in, evaluate};
pub use extensions::{Extension, Extensions};
pub use flags::FlagSet;
pub use form::{Class, Form, Order, Registers, encoding_name, form};
pub use forwarding::reads_what_it_stores;
pub use hash::StableHash;
pub use lone::{Lone, LoneMemory, lone};
pub use reach::reaches;
pub use registers::{
    discards, moves_stack, returns, returns_to_pushed, takes_return_address, unused_registers,
};
pub use segment::{GsOperand, GsUse, gs_use};
pub use shape::{Shape, shape};
pub use stack::depths;
pub use stack_change::stack_change;
pub use text::text;
pub use walk::{Step, Work, boundaries, stores, walk};
