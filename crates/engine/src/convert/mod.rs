//! From what was recorded of each process to the tables of a profile.
//!
//! The runtime translates code as it meets it, so its blocks overlap, and their limits are accidents of
//! its work. Here they become [`pieces`] of modules with [`flow`] between them; a [`partition`] of the
//! executed instructions gives the blocks of the profile, and [`tables`] counts them for each of the
//! [`rows`].

mod calls;
mod flow;
mod inheritance;
mod intervals;
mod partition;
mod pieces;
mod process;
mod rows;
mod tables;
mod traffic;
mod translated;

pub use pieces::{PieceId, Pieces};
pub use process::{Balance, Converter};
pub use translated::Translated;
