//! From a profile of branches to a faster program: BOLT lays out a binary anew, or Clang compiles it again, and the
//! result is compared with what was there before, in turns.
//!
//! [`bolt::optimise`] and [`clang::sample_profile`] call LLVM's programs with text that `timewise-export` makes;
//! [`compare::compare`] runs both programs. What this crate does not do: profile, or read profiles.

pub mod bolt;
pub mod clang;
pub mod compare;
mod fault;
mod run;
pub mod sign_test;
pub mod tools;

pub use fault::FdoError;
