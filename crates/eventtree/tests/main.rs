//! Tests of the library, in one program, which is linked once.

mod comparison;
mod functions;
mod gates;
mod made;
