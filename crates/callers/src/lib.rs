//! Who called: from the registers of a thread and what stands on its stack to the places of its callers.
//!
//! [`Unwinder`] follows the unwind tables of [`Modules`], and frame pointers through code that has none. It works on a copy
//! of the stack ([`UserStack`]), which the kernel made or which was taken of a thread that stood, or on a thread that stands
//! ([`LiveStack`]). [`Stacks`] keeps what it finds as one tree.

mod live_stack;
mod modules;
mod stacks;
mod unwind;
mod user_stack;

pub use live_stack::LiveStack;
pub use modules::{Modules, present_mappings};
pub use stacks::{Stacks, stacks_left_out};
pub use unwind::{End, Innermost, Unwinder};
pub use user_stack::UserStack;
