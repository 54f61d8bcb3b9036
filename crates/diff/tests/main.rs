//! Tests of the library, in one program, which is linked once.

mod any_profile;
mod any_sequence;
mod comparison;
mod compilers;
mod coverage;
mod one_program;
mod simulated;
mod waiting;
