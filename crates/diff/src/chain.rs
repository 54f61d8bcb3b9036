//! The most that two sequences have in common without a change of order, where it is known what each pair of elements has.

use std::cmp::Reverse;

/// A pair that may be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Position in BASE.
    pub base: u32,
    /// Position in TEST.
    pub test: u32,
    /// What it adds.
    pub weight: u64,
}

/// What chains that end at a link weigh, and the link before it in the heaviest.
struct Best {
    pair: (u32, u32),
    weight: u64,
    before: Option<usize>,
}

/// Of some links those that rise in BASE and in TEST and weigh most together, in order.
pub fn heaviest(mut links: Vec<Link>) -> Vec<(u32, u32)> {
    // Of one element of BASE those far on in TEST first, so that none follows another.
    links.sort_unstable_by_key(|link| (link.base, Reverse(link.test)));
    let mut ends: Vec<u32> = links.iter().map(|link| link.test).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut tree = Tree { heaviest: vec![None; ends.len()] };
    let mut found: Vec<Best> = Vec::with_capacity(links.len());
    for Link { base, test, weight } in links {
        let rank = ends.partition_point(|&end| end < test);
        let before = tree.before(rank, &found);
        let weight = weight + before.map_or(0, |at| found[at].weight);
        found.push(Best { pair: (base, test), weight, before });
        tree.add(rank, found.len() - 1, &found);
    }
    let mut at = tree.before(ends.len(), &found);
    let mut chain = Vec::new();
    while let Some(link) = at {
        chain.push(found[link].pair);
        at = found[link].before;
    }
    chain.reverse();
    chain
}

/// The heaviest chains by where they end in TEST: a binary indexed tree of maxima (Fenwick).
struct Tree {
    heaviest: Vec<Option<usize>>,
}

impl Tree {
    /// The heaviest of those that end before a rank.
    fn before(&self, rank: usize, found: &[Best]) -> Option<usize> {
        let (mut node, mut best) = (rank, None);
        while node > 0 {
            best = heavier(best, self.heaviest[node - 1], found);
            node &= node - 1;
        }
        best
    }

    fn add(&mut self, rank: usize, chain: usize, found: &[Best]) {
        let mut node = rank + 1;
        while node <= self.heaviest.len() {
            self.heaviest[node - 1] = heavier(self.heaviest[node - 1], Some(chain), found);
            node += node & node.wrapping_neg();
        }
    }
}

/// The first of two chains unless the other weighs more.
fn heavier(one: Option<usize>, other: Option<usize>, found: &[Best]) -> Option<usize> {
    match (one, other) {
        (Some(a), Some(b)) if found[b].weight > found[a].weight => Some(b),
        (Some(a), _) => Some(a),
        (None, b) => b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(links: &[(u32, u32, u64)]) -> Vec<(u32, u32)> {
        heaviest(links.iter().map(|&(base, test, weight)| Link { base, test, weight }).collect())
    }

    #[test]
    fn what_crosses_heavier_links_is_left_out() {
        assert_eq!(kept(&[]), []);
        // 0 and 2 stay; 1 would go past both.
        assert_eq!(kept(&[(0, 1, 5), (1, 0, 3), (2, 2, 4), (1, 3, 3)]), [(0, 1), (2, 2)]);
        // Two light ones against a heavy one that crosses them.
        assert_eq!(kept(&[(0, 3, 6), (1, 1, 4), (2, 2, 4)]), [(1, 1), (2, 2)]);
    }

    #[test]
    fn each_element_is_kept_once() {
        assert_eq!(kept(&[(0, 0, 2), (0, 1, 2), (1, 1, 2)]), [(0, 0), (1, 1)]);
        assert_eq!(kept(&[(0, 1, 3), (0, 0, 4)]), [(0, 0)]);
    }

    /// Against all subsets of the links.
    #[test]
    fn nothing_rises_and_weighs_more() {
        let mut state = 7u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for _ in 0..200 {
            let pairs: std::collections::BTreeMap<(u32, u32), u64> =
                (0..9).map(|_| ((random(5), random(5)), u64::from(random(4) + 1))).collect();
            let links: Vec<(u32, u32, u64)> = pairs.iter().map(|(&(a, b), &weight)| (a, b, weight)).collect();
            let rises = |chain: &[(u32, u32, u64)]| {
                chain.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1)
            };
            let most = (0u32..1 << links.len())
                .map(|set| {
                    (0..links.len()).filter(|at| set >> at & 1 == 1).map(|at| links[at]).collect::<Vec<_>>()
                })
                .filter(|chain| rises(chain))
                .map(|chain| chain.iter().map(|link| link.2).sum::<u64>())
                .max();
            let found: u64 = kept(&links).iter().map(|pair| pairs[pair]).sum();
            assert_eq!(Some(found), most, "{links:?}");
        }
    }
}
