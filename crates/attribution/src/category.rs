//! Cycle stacks of a whole program in the categories of paper A, figure A.7.

use crate::{Parts, State};

/// What an instruction does, as far as it tells why it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It reads memory.
    Load,
    /// It writes memory and reads none.
    Store,
    /// It does neither.
    Other,
}

/// Why a cycle passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Instructions committed.
    Execution,
    /// The oldest instruction, neither load nor store, was not executed yet.
    AluStall,
    /// The oldest instruction was a load and waited.
    LoadStall,
    /// The oldest instruction was a store and waited.
    StoreStall,
    /// The front end delivered nothing.
    FrontEnd,
    /// A mispredicted branch.
    Mispredict,
    /// Another flush: an exception, a serialising instruction, a violation of memory order.
    MiscFlush,
}

impl Category {
    /// All, in the order in which the paper stacks them.
    pub const ALL: [Self; 7] = [
        Self::Execution,
        Self::AluStall,
        Self::LoadStall,
        Self::StoreStall,
        Self::FrontEnd,
        Self::Mispredict,
        Self::MiscFlush,
    ];

    /// The category of cycles in a state for which an instruction of such a kind is blamed.
    pub fn of(state: State, kind: Kind) -> Self {
        match (state, kind) {
            (State::Computing, _) => Self::Execution,
            (State::Stalled, Kind::Other) => Self::AluStall,
            (State::Stalled, Kind::Load) => Self::LoadStall,
            (State::Stalled, Kind::Store) => Self::StoreStall,
            (State::Drained, _) => Self::FrontEnd,
            (State::Mispredicted, _) => Self::Mispredict,
            (State::Flushed, _) => Self::MiscFlush,
        }
    }

    /// The name that a reader of the paper knows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Execution => "execution",
            Self::AluStall => "ALU stall",
            Self::LoadStall => "load stall",
            Self::StoreStall => "store stall",
            Self::FrontEnd => "front end",
            Self::Mispredict => "mispredict",
            Self::MiscFlush => "misc. flush",
        }
    }
}

/// What a program mostly does (paper A, section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It commits instructions in more than half of its cycles.
    ComputeIntensive,
    /// It does not, and spends more than 3 % of them behind flushes.
    FlushIntensive,
    /// Neither.
    StallIntensive,
}

impl Class {
    /// The class of a program with so many cycles by category.
    pub fn of(cycles: impl Fn(Category) -> Parts) -> Self {
        let total = Category::ALL.into_iter().map(&cycles).sum();
        let flushes = cycles(Category::Mispredict) + cycles(Category::MiscFlush);
        if cycles(Category::Execution).of(total) > 0.5 {
            Self::ComputeIntensive
        } else if flushes.of(total) > 0.03 {
            Self::FlushIntensive
        } else {
            Self::StallIntensive
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Category, Class, Kind};
    use crate::{Parts, State};

    #[test]
    fn stalls_are_of_the_kind_that_waits() {
        for (state, kind, name) in [
            (State::Computing, Kind::Load, "execution"),
            (State::Stalled, Kind::Load, "load stall"),
            (State::Stalled, Kind::Store, "store stall"),
            (State::Stalled, Kind::Other, "ALU stall"),
            (State::Drained, Kind::Store, "front end"),
        ] {
            assert_eq!(Category::of(state, kind).name(), name);
        }
    }

    #[test]
    fn classes_are_the_papers() {
        let class = |execution, mispredict| {
            Class::of(|category| match category {
                Category::Execution => Parts::cycles(execution),
                Category::Mispredict => Parts::cycles(mispredict),
                Category::LoadStall => Parts::cycles(100 - execution - mispredict),
                _ => Parts::ZERO,
            })
        };
        assert_eq!(class(51, 20), Class::ComputeIntensive);
        assert_eq!(class(50, 4), Class::FlushIntensive);
        assert_eq!(class(50, 3), Class::StallIntensive);
    }
}
