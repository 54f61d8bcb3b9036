//! What path profiling collects.

use super::BlockId;

/// Executions of a path through a function: block after block, across the calls that they make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathCount {
    /// Its blocks, at least one, all of one function.
    pub blocks: Vec<BlockId>,
    /// It begins where control entered the function; else behind an edge that goes back or was cut.
    pub entered: bool,
    /// It ends where control left the function; else before such an edge.
    pub left: bool,
    /// How often, by all processes together.
    pub executions: u64,
    /// It was not counted: `executions` is how often its least executed edge was, which may be more.
    pub is_bound: bool,
}
