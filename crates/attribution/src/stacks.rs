//! Cycle stacks of instructions.

use std::collections::BTreeMap;

use timewise_trace::Psv;

use crate::by_instruction::ByInstruction;
use crate::{Component, Parts, State, Units};

/// A cycle stack for each static instruction, or for whatever a unit is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stacks {
    /// By instruction: the component that nearly all cycles with commits belong to. Tens of them share a
    /// line of the processor's cache.
    plain: ByInstruction<Parts>,
    /// By instruction: the other components. Few instructions have more than a handful, so each is a list
    /// that is searched, in the order in which they first occurred.
    others: ByInstruction<Vec<(Component, Parts)>>,
}

impl Stacks {
    /// What [`Stacks::plain`] is of.
    const PLAIN: Component = Component::new(State::Computing, Psv::BASE);

    /// Adds cycles to an instruction's stack.
    #[inline]
    pub fn add(&mut self, instruction: u32, component: Component, parts: Parts) {
        if component == Self::PLAIN {
            *self.plain.at(instruction) += parts;
            return;
        }
        let stack = self.others.at(instruction);
        match stack.iter_mut().find(|(known, _)| *known == component) {
            Some((_, sum)) => *sum += parts,
            None => stack.push((component, parts)),
        }
    }

    fn of(&self, instruction: u32) -> impl Iterator<Item = (Component, Parts)> {
        let plain = self.plain.get(instruction).copied().filter(|parts| *parts != Parts::ZERO);
        let others = self.others.get(instruction).into_iter().flatten().copied();
        plain.map(|parts| (Self::PLAIN, parts)).into_iter().chain(others)
    }

    /// All that is in the stacks: instruction, component, cycles.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Component, Parts)> {
        let plain = self.plain.iter().filter(|(_, parts)| **parts != Parts::ZERO);
        let plain = plain.map(|(instruction, &parts)| (instruction, Self::PLAIN, parts));
        let others = self.others.iter().flat_map(|(instruction, stack)| {
            stack.iter().map(move |&(component, parts)| (instruction, component, parts))
        });
        plain.chain(others)
    }

    /// One instruction's stack, the largest component first.
    pub fn stack(&self, instruction: u32) -> Vec<(Component, Parts)> {
        let mut stack: Vec<_> = self.of(instruction).collect();
        stack.sort_by_key(|&(component, parts)| (std::cmp::Reverse(parts), component));
        stack
    }

    /// The height of one instruction's stack.
    pub fn height(&self, instruction: u32) -> Parts {
        self.of(instruction).map(|(_, parts)| parts).sum()
    }

    /// All cycles.
    pub fn total(&self) -> Parts {
        self.iter().map(|(_, _, parts)| parts).sum()
    }

    /// Adds other stacks to these.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(instruction, component, parts)| self.add(instruction, component, parts));
    }

    /// The same stacks with instructions numbered anew, several of them by one number if need be. Those
    /// that have no new number are left out.
    pub fn renumbered(&self, number: impl Fn(u32) -> Option<u32>) -> Self {
        let mut stacks = Self::default();
        for (instruction, component, parts) in self.iter() {
            if let Some(instruction) = number(instruction) {
                stacks.add(instruction, component, parts);
            }
        }
        stacks
    }

    /// Sums by unit, and by what `keep` leaves of a component.
    pub fn by<K: Ord>(&self, units: &Units, keep: impl Fn(Component) -> K) -> BTreeMap<(u32, K), Parts> {
        let mut sums = BTreeMap::new();
        for (instruction, component, parts) in self.iter() {
            *sums.entry((units.of(instruction), keep(component))).or_default() += parts;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use timewise_trace::Psv;

    use super::Stacks;
    use crate::{Component, Parts, State, Units};

    #[test]
    fn sums_are_by_unit_and_component() {
        let mut stacks = Stacks::default();
        let miss = Component::new(State::Stalled, Psv::ST_L1);
        let base = Component::new(State::Computing, Psv::BASE);
        stacks.add(2, miss, Parts::cycles(5));
        stacks.add(0, base, Parts::cycles(1));
        stacks.add(2, miss, Parts::cycles(2));
        stacks.add(2, base, Parts::cycles(1));
        assert_eq!(stacks.stack(2), [(miss, Parts::cycles(7)), (base, Parts::cycles(1))]);
        assert_eq!(
            (stacks.height(2), stacks.height(9), stacks.total()),
            (Parts::cycles(8), Parts::ZERO, Parts::cycles(9))
        );
        let mut twice = stacks.renumbered(|instruction| instruction.checked_sub(1));
        assert_eq!((twice.height(1), twice.total()), (Parts::cycles(8), Parts::cycles(8)));
        twice.merge(&stacks);
        assert_eq!(
            (twice.height(1), twice.height(2), twice.total()),
            (Parts::cycles(8), Parts::cycles(8), Parts::cycles(17))
        );
        let by = stacks.by(&Units::Whole, Component::events);
        assert_eq!(
            by.into_iter().collect::<Vec<_>>(),
            [((0, Psv::BASE), Parts::cycles(2)), ((0, Psv::ST_L1), Parts::cycles(7))]
        );
    }
}
