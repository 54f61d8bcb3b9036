//! What an instruction is expected to cost before any sample was seen, and the most it may cost.
//!
//! The figures bound what can be seen at the head of the reorder buffer, where an interrupt is taken:
//! all older instructions have retired, so a register-to-register instruction or a branch that was
//! predicted waits there a cycle at most, while a load may wait for memory and page tables. They are
//! typical of x86-64 cores of the last ten years; only their order of magnitude matters.

use timewise_isa::{Control, Step, Work};

/// Cycles that an instruction, or all executions of one, may take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Expected {
    /// What is usual, cycles.
    pub mean: f64,
    /// The most that is believable, cycles.
    pub most: f64,
}

impl Expected {
    /// What `count` executions are expected to cost.
    pub fn times(self, count: f64) -> Expected {
        Expected { mean: self.mean * count, most: self.most * count }
    }

    /// Two costs together.
    pub fn and(self, other: Expected) -> Expected {
        Expected { mean: self.mean + other.mean, most: self.most + other.most }
    }

    /// How far the cost may exceed what is usual.
    pub fn room(self) -> f64 {
        self.most - self.mean
    }
}

/// Cycles that no division and no function of x87 takes by itself, but with the rarest of operands.
pub const LONGEST_DIVISION: f64 = 100.0;

const SIMPLE: Expected = Expected { mean: 0.25, most: 1.0 };
const PIPELINED: Expected = Expected { mean: 1.5, most: 10.0 };
const DIVISION: Expected = Expected { mean: 12.0, most: LONGEST_DIVISION };
const LOAD: Expected = Expected { mean: 2.0, most: 2000.0 };
const STORE: Expected = Expected { mean: 1.0, most: 2000.0 };
const SERIAL: Expected = Expected { mean: 25.0, most: 2000.0 };
const SYSTEM_CALL: Expected = Expected { mean: 50.0, most: 2000.0 };
const RETURN: Expected = Expected { mean: 1.0, most: 25.0 };

/// What a branch that was predicted wrongly takes at most, in cycles, on the processors meant.
pub const WRONG_PREDICTION: f64 = 40.0;

/// A misprediction costs about 20 cycles, in a few to most of the cases where it can happen.
const MISPREDICTION: Expected = Expected { mean: 2.0, most: WRONG_PREDICTION };

/// What `step` is expected to cost, leaving mispredictions aside. `before` is the instruction before
/// it in the same block, which may be one with it in the pipeline.
pub fn execution(step: &Step, before: Option<&Step>) -> Expected {
    let fused = before.filter(|before| before.fuses && matches!(step.control, Control::Branch { .. }));
    match step.control {
        Control::SystemCall => SYSTEM_CALL,
        Control::Return { .. } => RETURN,
        _ => match (step.work, step.loads || fused.is_some_and(|before| before.loads), step.stores) {
            (Work::Serial, ..) => SERIAL,
            (_, true, _) => LOAD,
            (_, _, true) => STORE,
            (Work::Division | Work::Function, ..) => DIVISION,
            (Work::Pipelined, ..) => PIPELINED,
            (Work::Simple, ..) => SIMPLE,
        },
    }
}

/// Cycles that mispredictions are expected to cost, in total, on a way that was taken `taken` times
/// from an instruction that went another way `otherwise` times. A predictor is wrong about the rarer
/// way at most as often as that occurs, and rarely more often about the other.
pub fn mispredictions(step: &Step, taken: u64, otherwise: u64) -> Expected {
    let possible = if step.control.is_guessed() { taken.min(otherwise) as f64 } else { 0.0 };
    MISPREDICTION.times(possible)
}
