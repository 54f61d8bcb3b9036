//! What the operating system did for a program, all its threads and all processes that descend from it, in order
//! (CQ, section 0.3).
//!
//! [`record()`] lets a program run that was launched, stops each thread where it enters and leaves a system call, and gives
//! a profile with one run; [`attach()`] does so with a process that runs already, for a time. It takes `ptrace` alone, which a user may do to programs of his own. The program does what it
//! does without us, only more slowly: [`price()`] says by how much a call. `docs/ostrace.md` says what is seen.

mod account;
mod addresses;
mod attach;
mod call_names;
mod calls;
mod descriptors;
mod members;
mod names;
mod objects;
mod price;
mod record;
mod recorder;
mod signal_names;
mod stack_walk;
mod warnings;

pub use attach::attach;
pub use call_names::is_call;
pub use price::{Price, price};
pub use record::{Options, RecordError, record};
