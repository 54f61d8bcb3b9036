//! Finding a caller's frame from its callee's, as the unwind tables of a module (`.eh_frame`) tell it for
//! every instruction.
//!
//! [`UnwindTable`] finds the [`Rule`] of an instruction; a rule turns the [`Registers`] of a frame into those
//! of its caller, by what a copy of the stack holds. Tables come from outside: however damaged or hostile one
//! is, looking up a rule and following it take bounded time, and nothing panics.

pub(crate) mod descriptions;
mod expression;
mod rule;
mod table;

pub use rule::{Registers, Rule, Stop};
pub use table::UnwindTable;
