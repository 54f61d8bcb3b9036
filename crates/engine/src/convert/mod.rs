//! From what was recorded of each process to the tables of a profile.
//!
//! The runtime translates code as it meets it, so its blocks overlap, and their limits are accidents of
//! its work. Here they become [`pieces`] of modules with [`flow`] between them; a [`partition`] of the
//! executed instructions gives the blocks of the profile, and [`tables`] counts them.

mod flow;
mod partition;
mod pieces;
mod process;
mod tables;

pub use process::Converter;
