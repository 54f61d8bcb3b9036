//! The code that lives inside the program under count: it translates the program's instructions into a
//! code cache as they are reached, with counters added, and keeps control.
#![no_std]

extern crate alloc;

pub mod emit;
pub mod forest;
pub mod unit;
