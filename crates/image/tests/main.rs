//! Tests of the library, in one program, which is linked once.

mod declarations;
mod labels;
mod programs;
mod proportion;
mod real_binaries;
mod separate_debug;
mod unwinding;
mod written;
