//! What a processor takes for what traces tell of: as makers publish it and as it was measured, not fitted to traces.

use std::sync::LazyLock;
use timewise_target::machine::{self, Core};

/// Cycles that a processor takes at its best, and for what is in its way. Numbers and their sources stand in the records
/// of `core-model`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Of an instruction: one over how many are dispatched in a cycle.
    pub instruction: f64,
    /// Of a taken branch, besides: one over how many there can be in a cycle.
    pub taken: f64,
    /// Of a store, besides: half of one over how many lines can be written in a cycle. That the other half is hidden by
    /// what is done meanwhile is estimated.
    pub store: f64,
    /// Of a branch that is not foreseen: all that passes when a number at random, which has to be loaded and tested,
    /// decides it.
    pub surprise: f64,
    /// Of a line of data that was not used lately: until it has come from the second level. Some are further away, and
    /// of some the wait is hidden.
    pub line: f64,
    /// From a load's address to its value, where that is in the first level.
    pub load: f64,
    /// From operands to results of integer multiplications.
    pub multiply: f64,
    /// Likewise of floating-point numbers, at least: of additions, which loops wait for most.
    pub float: f64,
}

const ZEN_5: Costs = Costs {
    instruction: 1.0 / 8.0,
    taken: 0.5,
    store: 0.25,
    surprise: 23.0,
    line: 14.0,
    load: 4.0,
    multiply: 3.0,
    float: 3.0,
};
const ZEN_4: Costs = Costs {
    instruction: 1.0 / 6.0,
    taken: 1.0,
    store: 0.5,
    surprise: 20.0,
    line: 14.0,
    load: 4.0,
    multiply: 3.0,
    float: 3.0,
};
const ZEN_1: Costs = Costs {
    instruction: 1.0 / 5.0,
    taken: 2.0,
    store: 0.5,
    surprise: 17.0,
    line: 12.0,
    load: 4.0,
    multiply: 3.0,
    float: 3.0,
};
const GOLDEN_COVE: Costs = Costs {
    instruction: 1.0 / 6.0,
    taken: 1.0,
    store: 0.5,
    surprise: 25.0,
    line: 16.0,
    load: 5.0,
    multiply: 3.0,
    float: 2.0,
};

impl Costs {
    /// Of this machine's processor.
    pub fn here() -> Costs {
        static HERE: LazyLock<Costs> = LazyLock::new(|| Costs::of(machine::core()));
        *HERE
    }

    /// Of a core: what is not known counts as of the middle of those that are.
    fn of(core: Option<Core>) -> Costs {
        match core {
            Some(Core::Zen5) => ZEN_5,
            Some(Core::Zen) => ZEN_1,
            Some(Core::GoldenCove) => GOLDEN_COVE,
            Some(Core::Zen4) | None => ZEN_4,
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Of a processor that there is not.
    pub const COSTS: Costs = Costs {
        instruction: 0.25,
        taken: 1.0,
        store: 0.5,
        surprise: 16.0,
        line: 20.0,
        load: 4.0,
        multiply: 3.0,
        float: 3.0,
    };
}
