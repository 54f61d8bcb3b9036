//! The data model of a profile and its file. Nothing else in the workspace defines a stored type.
//!
//! A [`Profile`] holds what was measured and nothing that was computed from it: samples of the
//! native run, exact counts of the counting run, and the symbols and code needed to read both
//! anywhere, also after the binaries are gone. Start reading at [`Profile`];
//! [`Profile::save`] and [`Profile::load`] are in [`store`], and [`Profile::append`] joins two.
#![forbid(unsafe_code)]

mod accounts;
mod append;
mod check;
mod conservation;
pub mod ends;
pub mod limit;
mod model;
pub mod store;

pub use accounts::Disagreement;
pub use check::Inconsistency;
pub use conservation::{Exactness, Imbalance};
pub use model::*;
