//! Counting paths in the program: a plan of what is to be done where, laid down for the runtime, and what its counters
//! say in the end. What the plan is for, and what the counters mean, is not known here.

mod counts;
mod lay_down;

pub use counts::PathCounts;
pub use lay_down::{Laid, lay_down, room};
pub use timewise_abi::NONE;
pub use timewise_abi::paths::{BIAS, Op, POISON, Site, kind, op, table};

use timewise_profile::{Module, ModuleId};

/// A plan. Places of counters are distances from the first.
#[derive(Clone, Debug, Default)]
pub struct Instrumentation {
    /// The modules that places are in.
    pub modules: Vec<Module>,
    /// What is to be done where.
    pub places: Vec<Planned>,
    /// All operations, as the others name them.
    pub ops: Vec<Op>,
    /// Calls that keep the register.
    pub sites: Vec<Site>,
    /// Bytes of all counters.
    pub size: u32,
    /// Where the [`table`]s lie.
    pub tables: Vec<u32>,
}

/// What is to be done at a place: a [`timewise_abi::paths::Record`] before it is known where in files it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Planned {
    /// A [`kind`].
    pub kind: u64,
    /// Where it is.
    pub module: ModuleId,
    /// Link-time offset; of what control leaves, behind its last byte.
    pub from: u64,
    /// Of [`kind::WITHIN`]: where control comes to.
    pub to: u64,
    /// The first of its operations.
    pub first: u32,
    /// How many there are.
    pub count: u32,
    /// As [`timewise_abi::paths::Record::site`] says.
    pub site: u32,
}
