//! What differs beyond chance, when very much is looked at.
//!
//! Of nodes that are judged one by one, one in twenty would differ "with 95 %" by chance alone, and a tree has thousands.
//! They are judged together: of those that are named, one in twenty may be chance (Benjamini and Hochberg, Journal of the
//! Royal Statistical Society B 57, 1995). Half of that is for all nodes at once, which finds a small one that differs very
//! surely; half is for threads as a whole, which are few, and then for the children of what was found, level by level
//! (Yekutieli, Journal of the American Statistical Association 103, 2008), which finds what makes a whole thread longer.
//! Events that one side has more of are judged together likewise.

use crate::compare::{LaneTree, Measured, Measures};
use crate::tree::{NodeId, Tree};

/// How much of what is named may be chance.
const FALSE_SHARE: f64 = 0.05;

/// What is judged of a node. CPU time varies less than elapsed time: others' work is not in it.
const JUDGED: [fn(&Measures) -> &Measured; 2] =
    [|measures| &measures.elapsed_ns, |measures| &measures.cpu_ns];

/// Notes in each tree which nodes differ beyond chance, nothing where chance is not known; and keeps of the events that one
/// side has more of those that do.
pub fn find(lanes: &mut [LaneTree]) {
    find_events(lanes);
    let mut chances: Vec<Vec<f64>> = Vec::with_capacity(lanes.len());
    for lane in lanes.iter() {
        let Some(of_lane) = lane.measures.iter().map(chance).collect() else { return };
        chances.push(of_lane);
    }
    let all = limit(chances.iter().flatten().copied(), FALSE_SHARE / 2.0);
    let roots = limit(chances.iter().filter_map(|lane| lane.first().copied()), FALSE_SHARE / 2.0);
    for (lane, chances) in lanes.iter_mut().zip(&chances) {
        let mut found: Vec<bool> = chances.iter().map(|&chance| chance <= all).collect();
        let mut open: Vec<NodeId> = Vec::new();
        open.extend(chances.first().filter(|&&chance| chance <= roots).map(|_| Tree::ROOT));
        while let Some(id) = open.pop() {
            found[id.0 as usize] = true;
            let children = &lane.tree.node(id).children;
            let chance = |child: &NodeId| chances[child.0 as usize];
            let limit = limit(children.iter().map(chance), FALSE_SHARE / 2.0);
            open.extend(children.iter().filter(|child| chance(child) <= limit));
        }
        lane.found = Some(found);
    }
}

/// With which probability a node of equal programs differs as much, in the one or the other of what is judged.
fn chance(measures: &Measures) -> Option<f64> {
    let mut least = 1.0_f64;
    for judged in JUDGED {
        least = least.min(judged(measures).chance?);
    }
    Some((least * JUDGED.len() as f64).min(1.0))
}

fn find_events(lanes: &mut [LaneTree]) {
    let rows = lanes.iter().flat_map(|lane| &lane.differing);
    let limit = limit(rows.filter_map(|row| row.events.chance), FALSE_SHARE);
    for lane in lanes {
        // Of one run on a side, each difference is told.
        lane.differing.retain(|row| row.events.chance.is_none_or(|chance| chance <= limit));
    }
}

/// The largest probability that is still named, if so large a share of what is named may be chance; below all of them if none
/// is.
fn limit(chances: impl Iterator<Item = f64>, false_share: f64) -> f64 {
    let mut chances: Vec<f64> = chances.collect();
    chances.sort_unstable_by(f64::total_cmp);
    let all = chances.len() as f64;
    let is_named = |&(number, &chance): &(usize, &f64)| chance <= false_share * (number + 1) as f64 / all;
    chances.iter().enumerate().rfind(is_named).map_or(-1.0, |(_, &chance)| chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_of_many_must_be_surer() {
        let limit = |chances: &[f64]| limit(chances.iter().copied(), 0.05);
        assert_eq!(limit(&[0.04]), 0.04);
        assert_eq!(limit(&[0.3, 0.04, 0.9, 0.8]), -1.0);
        // 0.05 of four is 0.0125, of which each further one adds as much.
        assert_eq!(limit(&[0.012, 0.9, 0.02, 0.8]), 0.02);
        assert_eq!(limit(&[]), -1.0);
    }
}
