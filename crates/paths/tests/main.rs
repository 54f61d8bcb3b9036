//! Tests of the library, in one program, which is linked once.

mod drawing;
mod figures;
#[path = "../examples/functions/mod.rs"]
mod functions;
mod inside;
mod programs;
mod random;
mod staged;
mod walking;
