//! Profiles that hold together but make no sense can be compared all the same.

#[path = "../../profile/tests/generate/mod.rs"]
mod generate;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use timewise_diff::{Change, Comparison, Grain};
use timewise_flow::Analysis;

/// Whether all limits enclose their values; of times beyond all numbers nothing can be said.
fn is_sound(change: &Change) -> bool {
    if change.amounts.is_some_and(|(base, test)| !(base * base + test * test).is_finite()) {
        return true;
    }
    let parts = [change.time, change.by_count, change.by_cost].into_iter().flatten();
    parts.into_iter().all(|part| {
        part.estimate().low <= part.estimate().value && part.estimate().value <= part.estimate().high
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn every_comparison_has_an_answer(base in generate::profile(), test in generate::profile()) {
        let (base, test) = (Analysis::new(&base, None), Analysis::new(&test, None));
        if let Ok(comparison) = Comparison::new(&base, &test) {
            prop_assert!(is_sound(&comparison.whole()), "{:?}", comparison.whole());
            for grain in [Grain::Function, Grain::Loop, Grain::Instruction, Grain::Line] {
                prop_assert!(comparison.rows(grain).iter().all(|row| is_sound(&row.change)));
            }
        }
    }

    #[test]
    fn nothing_changed_between_a_profile_and_itself(profile in generate::profile()) {
        let (base, test) = (Analysis::new(&profile, None), Analysis::new(&profile, None));
        if let Ok(comparison) = Comparison::new(&base, &test) {
            for row in comparison.rows(Grain::Function) {
                prop_assert!(!row.is_finding && row.change.certain() == 0.0);
                prop_assert!(row.change.instructions.is_none_or(|(base, test)| base == test));
            }
        }
    }
}
