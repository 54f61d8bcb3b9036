//! The code that lives inside the program under count: it translates the program's instructions into a
//! code cache as they are reached, with counters added, and keeps control.
//!
//! It shares the process with a program that must not notice: it has its own stack, makes its own system
//! calls, and touches no register, flag or byte of the program's but those that it saved. What is pure
//! ([`forest`], [`mod@unit`], [`emit`]) is tested on the host like any code. Start reading at
//! [`dispatch::dispatch`], which threads come to whenever they leave translated code.
#![no_std]

extern crate alloc;

pub mod address_space;
mod astray;
pub mod beginnings;
mod behind;
pub mod borrow;
pub mod cache;
pub mod calls;
pub mod check;
pub mod clock;
pub mod dispatch;
pub mod emit;
pub mod entry;
pub mod forest;
pub mod guard;
pub mod heap;
pub mod indirect;
pub mod kinds;
mod lessons;
pub mod link;
mod live;
pub mod marks;
pub mod paths;
pub mod placing;
pub mod range_map;
pub mod retire;
pub mod segment;
mod signal;
pub mod sites;
mod starts;
pub mod state;
mod stopwatch;
pub mod sys;
mod system_call;
pub mod translate;
pub mod unit;
mod unlink;
mod unroll;
pub mod visit;
pub mod vsyscall;
