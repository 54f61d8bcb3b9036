//! Any routine, walked through at random: plans count what there is to count.

use crate::walking::execute;
use proptest::prelude::*;
use std::collections::BTreeSet;
use timewise_paths::accuracy::compare;
use timewise_paths::cold::cold_edges;
use timewise_paths::cut::{back_edges, disconnect_loops};
use timewise_paths::{Cfg, Limits, Method, Plan};

/// Blocks' ways on, each with a weight; and what chooses among them.
#[derive(Clone, Debug)]
struct Shape {
    ways: Vec<Vec<(u32, u32)>>,
    entries: Vec<u32>,
    seed: u64,
}

fn shapes() -> impl Strategy<Value = Shape> {
    (2u32..14).prop_flat_map(|blocks| {
        // One more than there are blocks is outside.
        let way = (0..=blocks, prop_oneof![1 => Just(1u32), 2 => 20u32..60]);
        let ways = proptest::collection::vec(proptest::collection::vec(way, 1..5), blocks as usize);
        let entries = proptest::collection::vec(0..blocks, 1..3);
        (ways, entries, any::<u64>()).prop_map(|(ways, entries, seed)| Shape { ways, entries, seed })
    })
}

impl Shape {
    /// Activations, each of which ends at the latest after a hundred blocks: at a call that does not return.
    fn walks(&self) -> Vec<Vec<u32>> {
        let mut state = self.seed;
        let mut random = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % u64::from(below)) as u32
        };
        let mut walks = Vec::new();
        for _ in 0..60 {
            let mut walk = vec![self.entries[random(self.entries.len() as u32) as usize]];
            while let Some(&last) = walk.last()
                && walk.len() < 100
            {
                let ways = &self.ways[last as usize];
                let mut rest = random(ways.iter().map(|way| way.1).sum());
                let next = ways.iter().find(|way| {
                    let chosen = rest < way.1;
                    rest = rest.wrapping_sub(way.1);
                    chosen
                });
                match next {
                    Some(&(next, _)) if (next as usize) < self.ways.len() => walk.push(next),
                    _ => break,
                }
            }
            walks.push(walk);
        }
        walks
    }
}

/// The routine that walks go through, with counts.
fn routine(blocks: u32, walks: &[Vec<u32>]) -> Cfg {
    let ends = |walk: &Vec<u32>| [(None, walk.first().copied(), 1), (walk.last().copied(), None, 1)];
    let within = |walk: &Vec<u32>| {
        let steps = walk.windows(2).map(|pair| (Some(pair[0]), Some(pair[1]), 1));
        steps.collect::<Vec<_>>()
    };
    Cfg::new(blocks, walks.iter().flat_map(|walk| ends(walk).into_iter().chain(within(walk))))
}

/// All kinds of limits: arrays and hash tables, with and without truncation.
fn limits() -> impl Strategy<Value = Limits> {
    (prop_oneof![Just(10_000_000u64), 1u64..200], prop_oneof![Just(4096u64), 0u64..8])
        .prop_map(|(paths, array)| Limits { paths, array })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn every_path_has_a_number_of_its_own(shape in shapes(), limits in limits()) {
        let cfg = routine(shape.ways.len() as u32, &shape.walks());
        let plan = Method::All.plan(&cfg, limits);
        let all = plan.numbered().min(3000);
        let paths: BTreeSet<_> = (0..all).map(|n| plan.decoder.decode(n).expect("a path")).collect();
        prop_assert_eq!(paths.len() as u64, all);
        prop_assert_eq!(plan.decoder.decode(plan.numbered()), None);
    }

    #[test]
    fn pp_counts_all_paths(shape in shapes(), limits in limits()) {
        let walks = shape.walks();
        let cfg = routine(shape.ways.len() as u32, &walks);
        let plan = Method::All.plan(&cfg, limits);
        let (tally, truth) = execute(&cfg, &plan, &walks);
        prop_assert_eq!(tally.senseless, 0);
        prop_assert_eq!(tally.executed.cold_counts, 0);
        prop_assert_eq!(tally.profile(&plan), truth);
    }

    #[test]
    fn tpp_counts_hot_paths_exactly_and_bounds_obvious_ones(
        shape in shapes(), limits in limits(), cold in 0u32..30, apart in any::<bool>(), obvious in any::<bool>(),
    ) {
        let walks = shape.walks();
        let cfg = routine(shape.ways.len() as u32, &walks);
        let back = back_edges(&cfg);
        let cuts = if apart { disconnect_loops(&cfg, &back, 40) } else { back };
        let plan = Plan::new(&cfg, &cuts, cold_edges(&cfg, cold), obvious, limits);
        let (tally, truth) = execute(&cfg, &plan, &walks);
        prop_assert_eq!(tally.senseless, 0);
        for number in 0..plan.numbered().min(3000) {
            let path = plan.decoder.decode(number).expect("a path");
            let counted = tally.counts().find(|(known, _)| *known == number).map_or(0, |(_, count)| count);
            prop_assert_eq!(counted, truth.get(&path).copied().unwrap_or(0), "{:?}", path);
        }
        for (edges, count) in &plan.obvious {
            let there = truth.get(&plan.decoder.path(edges)).copied().unwrap_or(0);
            prop_assert!(*count >= there);
            if cold == 0 {
                prop_assert_eq!(*count, there);
            }
        }
        let profile = tally.profile(&plan);
        let accuracy = compare(&cfg, (&truth, &plan.cuts), (&profile, &plan.cuts));
        if cold == 0 {
            prop_assert_eq!(accuracy.definite(), 1.0);
        }
        // All that is not counted is cold, unless the edge profile tells it.
        if !obvious {
            let counted: u64 = tally.counts().map(|(_, count)| count).sum();
            prop_assert_eq!(counted + tally.executed.cold_counts, truth.values().sum::<u64>());
        }
    }

    #[test]
    fn tpp_costs_no_more_than_it_must(shape in shapes(), limits in limits()) {
        let walks = shape.walks();
        let cfg = routine(shape.ways.len() as u32, &walks);
        let targeted = Method::USUAL.plan(&cfg, limits);
        let (tally, _) = execute(&cfg, &targeted, &walks);
        prop_assert_eq!(tally.senseless, 0);
        // What the edge profile says will be executed is what is.
        let executed = tally.executed;
        let expected = |wanted: fn(&timewise_paths::Op) -> bool| -> u64 {
            cfg.ids()
                .map(|id| targeted.ops[id.index()].iter().filter(|op| wanted(op)).count() as u64 * cfg.edge(id).count)
                .sum()
        };
        prop_assert_eq!(executed.adds, expected(|op| matches!(op, timewise_paths::Op::Add(_))));
        prop_assert_eq!(
            executed.array_counts + executed.hash_counts + executed.cold_counts,
            expected(|op| !matches!(
                op,
                timewise_paths::Op::Add(_) | timewise_paths::Op::Set(_) | timewise_paths::Op::Poison
            ))
        );
    }
}
