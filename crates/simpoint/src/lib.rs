//! Which intervals of an execution represent it: SimPoint (Hamerly and others, "SimPoint 3.0", JILP 7, 2005), on the
//! basic block vectors of a profile.
//!
//! - `vectors`: the intervals of one thread, as shares of blocks;
//! - `projection`: the same as points of few dimensions;
//! - `kmeans`: these points in a given number of clusters;
//! - `score`: how well a number of clusters explains them;
//! - `search`: how many clusters there should be;
//! - `points`: an interval and a weight for each cluster, and how well these stand for the whole.
//!
//! Equal profiles and options give equal results. What it takes grows with intervals times dimensions times clusters times
//! iterations; nothing here reads or writes files.
#![forbid(unsafe_code)]

mod kmeans;
mod points;
mod projection;
mod random;
mod score;
mod search;
mod vectors;

pub use points::{Options, Point, SimPoints, choose};
pub use vectors::{Vectors, threads};
