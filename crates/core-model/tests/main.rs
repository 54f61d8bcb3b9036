//! Tests of the library, in one program, which is linked once.

mod forms;
mod loops;
mod memory;
mod microbenchmarks;
mod page_faults;
mod records;
