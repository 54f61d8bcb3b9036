//! Cycle stacks of a whole program in the categories of paper A, figure A.7.

use std::collections::BTreeMap;

use crate::{Component, Parts, Stacks, State, Units};

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

    /// The name as a field for programs.
    pub fn identifier(self) -> &'static str {
        match self {
            Self::Execution => "execution",
            Self::AluStall => "alu_stall",
            Self::LoadStall => "load_stall",
            Self::StoreStall => "store_stall",
            Self::FrontEnd => "front_end",
            Self::Mispredict => "mispredict",
            Self::MiscFlush => "misc_flush",
        }
    }
}

/// Cycles by unit and category; components of which the state is not known are left out. `kind` tells
/// what a static instruction does.
pub fn by_category(
    stacks: &Stacks,
    units: &Units,
    kind: impl Fn(u32) -> Kind,
) -> BTreeMap<(u32, Category), Parts> {
    let mut sums = BTreeMap::new();
    for (instruction, component, parts) in stacks.iter() {
        if let Some(category) = categorise(component, kind(instruction)) {
            *sums.entry((units.of(instruction), category)).or_default() += parts;
        }
    }
    sums
}

fn categorise(component: Component, kind: Kind) -> Option<Category> {
    component.state().map(|state| Category::of(state, kind))
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
    use timewise_trace::Psv;

    use super::{Category, Class, Kind, by_category};
    use crate::{Component, Parts, Stacks, State, Units};

    #[test]
    fn stalls_are_of_the_kind_that_waits() {
        let mut stacks = Stacks::default();
        for (instruction, state, cycles) in
            [(0, State::Computing, 4), (0, State::Stalled, 3), (1, State::Stalled, 2), (1, State::Drained, 1)]
        {
            stacks.add(instruction, Component::new(state, Psv::BASE), Parts::cycles(cycles));
        }
        let kind = |instruction| if instruction == 0 { Kind::Load } else { Kind::Store };
        let sums = by_category(&stacks, &Units::Whole, kind);
        let cycles: Vec<_> =
            sums.into_iter().map(|((_, category), parts)| (category.name(), parts.as_cycles())).collect();
        assert_eq!(
            cycles,
            [("execution", 4.0), ("load stall", 3.0), ("store stall", 2.0), ("front end", 1.0)]
        );
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
