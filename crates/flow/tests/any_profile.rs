//! Profiles that hold together but make no sense: overlapping blocks, edges from anywhere, code that is
//! none. A file can hold them, and every question about them has an answer.

#[path = "../../profile/tests/generate/mod.rs"]
mod generate;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;
use timewise_flow::verify::verify;
use timewise_flow::{Analysis, LoopId, Policy, RoutineId};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn every_question_has_an_answer(profile in generate::profile()) {
        prop_assert_eq!(profile.check(), Ok(()));
        profile.imbalances();
        for policy in [Policy::Sampled, Policy::Predecessor] {
            let analysis = Analysis::new(&profile, Some(policy));
            let costs = analysis.by_instruction();
            prop_assert_eq!(costs.len(), analysis.code.instructions.len());
            for cost in costs.iter().chain(&analysis.by_block()).chain(&analysis.by_routine()) {
                analysis.ruler.cycles(cost);
                analysis.ruler.time_ns(cost);
            }
            analysis.ruler.cycles(&analysis.whole());
            analysis.by_line();
            verify(&analysis, &BTreeMap::new());
            analysis.by_loop_self();
            analysis.by_loop_total();
            analysis.loops_that_call();
            let totals = analysis.totals();
            for total in totals.routines.iter().chain(&totals.loops).chain(&totals.calls) {
                total.cycles(&analysis.ruler);
                total.time_ns(&analysis.ruler);
            }
            for (total, own) in totals.routines.iter().zip(&analysis.by_routine()) {
                let (total, own) = (total.cost, *own);
                prop_assert!(total.instructions >= own.instructions);
                prop_assert!(total.weight.samples >= own.weight.samples * (1.0 - 1e-9));
            }
            for routine in (0..analysis.routines.len() as u32).map(RoutineId) {
                analysis.name_of(routine);
                analysis.calls_of(routine);
            }
            for one in (0..analysis.forest.loops.len() as u32).map(LoopId) {
                analysis.lines_of_loop(one);
            }
            analysis.strays().count();
            timewise_flow::hints::hints(&analysis);
        }
    }
}
