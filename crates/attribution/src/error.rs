//! How far a profile is from the reference.

use std::collections::BTreeMap;

use timewise_trace::Psv;

use crate::{Parts, Stacks, Units};

/// Cycle stacks of samples, of which each stands for a number of cycles.
#[derive(Debug, Clone, Copy)]
pub struct Weighted<'a> {
    /// The stacks, in samples.
    pub stacks: &'a Stacks,
    /// Cycles that a sample stands for.
    pub cycles_each: u64,
}

impl Weighted<'_> {
    /// All cycles.
    pub fn total(self) -> Parts {
        self.stacks.total() * self.cycles_each
    }

    /// The cycles of one instruction.
    pub fn height(self, instruction: u32) -> Parts {
        self.stacks.height(instruction) * self.cycles_each
    }

    /// Cycles by unit and by those of the events that are asked for.
    fn by(self, units: &Units, events: Psv) -> BTreeMap<(u32, Psv), Parts> {
        let mut sums = self.stacks.by(units, |component| component.events() & events);
        sums.values_mut().for_each(|parts| *parts = *parts * self.cycles_each);
        sums
    }
}

/// The part of the reference's cycles that a profile does not attribute as the reference does, from 0 to
/// 1.
///
/// Of every component of every unit's stack, as many cycles are right as both have. With events this is
/// the error of paper B, section 4, without any ([`Psv::BASE`]) that of paper A, section 4. The reference's
/// components are taken together as far as the events that are asked for do not tell them apart: a
/// technique is not blamed for events that it does not report.
pub fn error(reference: Weighted<'_>, profile: Weighted<'_>, units: &Units, events: Psv) -> f64 {
    let total = reference.total();
    if total == Parts::ZERO {
        return 0.0;
    }
    let profile = profile.by(units, events);
    let right: Parts = reference
        .by(units, events)
        .into_iter()
        .map(|(key, parts)| profile.get(&key).copied().unwrap_or_default().min(parts))
        .sum();
    total.saturating_sub(right).of(total)
}

#[cfg(test)]
mod tests {
    use timewise_trace::Psv;

    use super::{Weighted, error};
    use crate::{Component, Parts, Stacks, Units};

    fn stacks(of: &[(u32, Psv, u64)]) -> Stacks {
        let mut stacks = Stacks::default();
        for &(instruction, events, cycles) in of {
            stacks.add(instruction, Component::of_events(events), Parts::cycles(cycles));
        }
        stacks
    }

    fn errors(units: &Units, events: Psv) -> f64 {
        let reference = stacks(&[
            (0, Psv::BASE, 10),
            (1, Psv::ST_L1, 60),
            (1, Psv::ST_L1 | Psv::ST_TLB, 10),
            (2, Psv::BASE, 20),
        ]);
        let sampled = stacks(&[(0, Psv::BASE, 2), (1, Psv::ST_L1, 5), (3, Psv::FL_MB, 3)]);
        let reference = Weighted { stacks: &reference, cycles_each: 1 };
        error(reference, Weighted { stacks: &sampled, cycles_each: 10 }, units, events)
    }

    #[test]
    fn what_both_have_is_right() {
        // Right are 10 cycles of instruction 0 and 50 of instruction 1.
        assert_eq!(errors(&Units::Instructions, Psv::BASE), 0.4);
        assert_eq!(errors(&Units::Instructions, Psv::ST_L1), 0.4);
        assert_eq!(errors(&Units::Whole, Psv::BASE), 0.0);
    }

    #[test]
    fn units_forgive_what_stays_within_them() {
        // 30 cycles of unit 0 of which 20 were sampled there, 70 of unit 1 of which all 70 lie there.
        assert_eq!(errors(&Units::Table([0, 1, 0, 1].into()), Psv::BASE), 0.1);
    }

    #[test]
    fn wrong_events_count() {
        // As a whole, the base has 30 cycles and 20 right, ST-L1 60 and 50, and the combination none.
        assert!((errors(&Units::Whole, Psv::ALL) - 0.3).abs() < 1e-12);
    }

    #[test]
    fn an_empty_reference_has_no_error() {
        let none = Stacks::default();
        let none = Weighted { stacks: &none, cycles_each: 1 };
        assert_eq!(error(none, none, &Units::Whole, Psv::ALL), 0.0);
    }
}
