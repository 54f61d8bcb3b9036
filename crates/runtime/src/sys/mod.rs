//! The operating system, reached without a C library: nothing here touches the program's state but
//! through the system calls that are named.

mod call;
pub mod filter;
pub mod limit;
pub mod lock;
pub mod maps;
pub mod memory;
pub mod signal;

pub use call::{Errno, call, call_for_program, number};
