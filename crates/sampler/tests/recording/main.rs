//! Recordings of a program whose work is known, checked against what it did, the kernel's accounts
//! and `perf`.

mod callers;
mod imported;
mod program;
mod recordings;
mod short;
mod waits;
mod witness;
