//! Tests of the library, in one program, which is linked once.

mod code_quality;
mod contract;
mod diff_sketches;
mod doubt;
mod events;
mod html;
mod simulated;
mod sketches;
