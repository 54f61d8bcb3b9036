//! Walks through routines.

use timewise_paths::truth::{Begun, Truth};
use timewise_paths::{Cfg, PathProfile, Plan, Tally};

/// Executes a plan along walks, each of which is the blocks of an activation: what it counted, and what there was
/// to count.
pub fn execute(cfg: &Cfg, plan: &Plan, walks: &[Vec<u32>]) -> (Tally, PathProfile) {
    let (mut tally, mut truth) = (Tally::default(), Truth::default());
    for walk in walks {
        let mut register = 0x5eed;
        let mut node = cfg.entry();
        let mut path = Begun::ENTERED;
        for &next in walk.iter().chain([&cfg.exit()]) {
            let edge = cfg.find(node, next).expect("an edge");
            tally.follow(plan, edge, &mut register);
            if plan.cuts[edge.index()] {
                truth.end(path, false);
                path = Begun::RESUMED;
            }
            if next == cfg.exit() {
                truth.end(path, true);
            } else {
                path = truth.step(path, next);
            }
            node = next;
        }
    }
    (tally, truth.profile())
}
