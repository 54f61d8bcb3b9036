//! Running a program twice as if it ran once: it reads the same input both times, what it writes reaches
//! the user once, and whether it did the same is known afterwards.

mod fingerprint;
mod input;
mod output;
mod relay;
mod spool;
mod terminal;

pub use input::Input;
pub use output::{Outputs, Written};
