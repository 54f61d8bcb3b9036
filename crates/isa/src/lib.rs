//! Facts about x86-64 instructions: the only crate that names the decoder library.
#![no_std]
#![forbid(unsafe_code)]
