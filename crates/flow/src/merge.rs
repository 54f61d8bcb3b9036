//! Natural loops that share a header: merged into one, or split into nested loops (the heuristic of
//! the OptiWISE paper, section IV-E, algorithm 2).

use crate::natural::NaturalLoop;
use crate::set::BlockSet;

/// How many times more often than all its supersets together a loop's back edge must be taken to
/// count as nested (the paper's T).
pub const NESTED_RATIO: u64 = 3;

/// A loop as a programmer would see it, made of one or more natural loops with the same header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedLoop {
    /// All nodes, those of the loops nested in it included.
    pub body: BlockSet,
    /// How often its own back edges were taken, without those of the loops nested in it.
    pub back_count: u64,
}

/// Loops made of natural loops that all share one header, outermost first: each contains the next.
pub fn merge(loops: &[NaturalLoop]) -> Vec<MergedLoop> {
    let mut remaining = without_equal_bodies(loops);
    let mut merged = Vec::new();
    while !remaining.is_empty() {
        let is_inner = |one: &MergedLoop| {
            let around = remaining.iter().filter(|other| one.body.is_proper_subset(&other.body));
            let (supersets, taken) =
                around.fold((0, 0u64), |(n, sum), other| (n + 1, sum + other.back_count));
            supersets > 0 && one.back_count >= taken.saturating_mul(NESTED_RATIO)
        };
        let inner: Vec<bool> = remaining.iter().map(is_inner).collect();
        let mut current: Option<MergedLoop> = None;
        let mut next = Vec::new();
        for (one, inner) in remaining.into_iter().zip(inner) {
            match &mut current {
                _ if inner => next.push(one),
                Some(outer) => {
                    outer.body.extend(&one.body);
                    outer.back_count += one.back_count;
                }
                None => current = Some(one),
            }
        }
        merged.extend(current);
        remaining = next;
    }
    merged
}

/// Back edges whose loops have the same body are several ways round one loop.
fn without_equal_bodies(loops: &[NaturalLoop]) -> Vec<MergedLoop> {
    let mut at: std::collections::HashMap<&BlockSet, usize> = std::collections::HashMap::new();
    let mut distinct: Vec<MergedLoop> = Vec::new();
    for one in loops {
        let position = *at.entry(&one.body).or_insert_with(|| {
            distinct.push(MergedLoop { body: one.body.clone(), back_count: 0 });
            distinct.len() - 1
        });
        distinct[position].back_count += one.back_count;
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(nodes: &str) -> BlockSet {
        let mut set = BlockSet::new(26);
        nodes.bytes().for_each(|letter| {
            set.insert(u32::from(letter - b'A'));
        });
        set
    }

    fn natural(nodes: &str, back_count: u64) -> NaturalLoop {
        NaturalLoop { header: 0, body: set(nodes), back_count }
    }

    fn shown(loops: &[MergedLoop]) -> Vec<(String, u64)> {
        let letters = |set: &BlockSet| set.iter().map(|n| (b'A' + n as u8) as char).collect();
        loops.iter().map(|one| (letters(&one.body), one.back_count)).collect()
    }

    /// Figure 6 and Table I of the paper: five loops with header A, of which those over {A,B} and
    /// {A,B,E} are nested. The figure's counts are not in its text; these meet its conditions:
    /// {A,B,C} with 30 < 3 * 20 is no inner loop of {A,B,C,D}; {A,B,E} with 150 >= 3 * 40 is one of
    /// {A,B,E,F}; {A,B} with 1000 >= 3 * (20 + 30 + 40 + 150) is one of all four.
    #[test]
    fn figure_6_and_table_1() {
        let loops = [
            natural("AB", 1000),
            natural("ABC", 30),
            natural("ABCD", 20),
            natural("ABE", 150),
            natural("ABEF", 40),
        ];
        let want = [("ABCDEF".into(), 90), ("ABE".into(), 150), ("AB".into(), 1000)];
        assert_eq!(shown(&merge(&loops)), want);
    }

    #[test]
    fn a_loop_just_below_the_ratio_is_a_way_through_the_outer_one() {
        assert_eq!(shown(&merge(&[natural("AB", 299), natural("ABC", 100)])), [("ABC".into(), 399)]);
        assert_eq!(
            shown(&merge(&[natural("AB", 300), natural("ABC", 100)])),
            [("ABC".into(), 100), ("AB".into(), 300)]
        );
    }

    #[test]
    fn a_frequent_loop_without_a_superset_is_merged() {
        assert_eq!(shown(&merge(&[natural("AB", 9000), natural("AC", 1)])), [("ABC".into(), 9001)]);
    }

    #[test]
    fn two_back_edges_over_the_same_blocks_are_one_loop() {
        assert_eq!(shown(&merge(&[natural("AB", 5), natural("AB", 7)])), [("AB".into(), 12)]);
    }
}
