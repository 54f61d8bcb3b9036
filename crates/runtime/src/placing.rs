//! What is noted where control passes from one block to the next: whether the way has a counter, and by how
//! much the clock moves.

use crate::clock::Clock;
use crate::emit::Toll;
use crate::forest::{Forest, Vertex};
use timewise_abi::process::ProcessRecord;
use timewise_abi::view::Shared;
use timewise_abi::{Failure, NONE};

/// What becomes of a way between two points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Passage {
    /// Whether it needs a counter.
    pub counted: bool,
    /// By how much the clock moves; 0 without a counter.
    pub step: i64,
}

/// All blocks of a process, and the ways between them that are known.
#[derive(Debug, Default)]
pub struct Placing {
    forest: Forest,
    /// If the costs of calls are asked for.
    clock: Option<Clock>,
}

impl Placing {
    /// No blocks yet; with a clock if the costs of calls are asked for.
    pub fn new(calls: bool) -> Placing {
        Placing { forest: Forest::default(), clock: calls.then(Clock::default) }
    }

    /// How far a point is ahead of the clock; none if control never came there, or without a clock.
    pub fn lead(&self, point: Vertex) -> Option<i64> {
        self.clock.as_ref()?.lead(point)
    }

    /// Adds the next block, of so many instructions, whose executions follow from the ways in and out.
    pub fn add_block(&mut self, block: u32, instructions: usize) {
        self.forest.add_block();
        self.forest.join(Vertex::start(block), Vertex::end(block));
        if let Some(clock) = &mut self.clock {
            clock.add_block();
            clock.pass(Some(Vertex::start(block)), Some(Vertex::end(block)), instructions as i64);
        }
    }

    /// Adds the next block, of so many instructions, that has a counter of its own.
    pub fn add_counted(&mut self, instructions: usize, block: u32) {
        self.forest.add_block();
        if let Some(clock) = &mut self.clock {
            clock.add_block();
            clock.pass(Some(Vertex::start(block)), Some(Vertex::end(block)), instructions as i64);
        }
    }

    /// Adds the next block, of so many instructions, that jumps to itself and has a counter of its own: by
    /// how much the clock moves there.
    pub fn add_loop(&mut self, block: u32, instructions: usize) -> i64 {
        self.forest.add_block();
        let Some(clock) = &mut self.clock else { return 0 };
        clock.add_block();
        clock.pass(Some(Vertex::end(block)), Some(Vertex::start(block)), 0);
        clock.pass(Some(Vertex::start(block)), Some(Vertex::end(block)), instructions as i64)
    }

    /// A way from one point to another, on which `instructions` are executed: usually none.
    pub fn way(&mut self, from: Vertex, to: Vertex, instructions: i64) -> Passage {
        let step = self.pass(Some(from), Some(to), instructions);
        // A clock that must move needs a counter to move with.
        Passage { counted: step != 0 || !self.forest.join(from, to), step }
    }

    /// A way from or to outside, which always has a counter: by how much the clock moves.
    pub fn outside(&mut self, from: Option<Vertex>, to: Option<Vertex>, instructions: i64) -> i64 {
        self.pass(from, to, instructions)
    }

    fn pass(&mut self, from: Option<Vertex>, to: Option<Vertex>, instructions: i64) -> i64 {
        self.clock.as_mut().map_or(0, |clock| clock.pass(from, to, instructions))
    }
}

/// The counter that a passage needs, and its step.
///
/// # Errors
/// [`Failure::Internal`] if the clock would have to jump further than an instruction can say.
pub fn toll(passage: Passage, shared: Shared, record: &ProcessRecord) -> Result<Toll, Failure> {
    let step = i32::try_from(passage.step).map_err(|_| Failure::Internal)?;
    let counter = if passage.counted { shared.take_counter(record) } else { NONE };
    Ok(Toll { counter, step })
}
