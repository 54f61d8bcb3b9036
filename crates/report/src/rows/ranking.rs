//! The order of rows, which is made only as far as it is looked at: of a million rows a few are shown.

use std::cmp::Ordering;
use timewise_flow::Cost;

/// Positions of `costs` by cost, then by what was executed, then by the key.
pub fn costliest_first<K: Ord, F: Fn(usize) -> K>(
    costs: &[Cost],
    key: F,
) -> impl ExactSizeIterator<Item = usize> + use<K, F> {
    let ranked = |(at, cost): (usize, &Cost)| Ranked {
        cycles: cost.weight.cycles,
        instructions: cost.instructions,
        at: at as u32,
    };
    let compare = move |a: &Ranked, b: &Ranked| {
        let by_cost = b.cycles.total_cmp(&a.cycles).then(b.instructions.cmp(&a.instructions));
        by_cost.then_with(|| key(a.at as usize).cmp(&key(b.at as usize))).then(a.at.cmp(&b.at))
    };
    let rows = costs.iter().enumerate().map(ranked).collect();
    Ranking { rows, next: 0, sorted: 0, compare }
}

struct Ranked {
    cycles: f64,
    instructions: u64,
    at: u32,
}

struct Ranking<C> {
    rows: Vec<Ranked>,
    next: usize,
    /// So many at the beginning are where they belong.
    sorted: usize,
    compare: C,
}

/// So many rows are put in order at first, and each time so many times those that are.
const FIRST: usize = 64;
const GROWTH: usize = 16;

impl<C: Fn(&Ranked, &Ranked) -> Ordering> Ranking<C> {
    fn sort_more(&mut self) {
        let rest = &mut self.rows[self.sorted..];
        let more = FIRST.max(self.sorted * GROWTH).min(rest.len());
        if more < rest.len() {
            rest.select_nth_unstable_by(more, &self.compare);
        }
        rest[..more].sort_unstable_by(&self.compare);
        self.sorted += more;
    }
}

impl<C: Fn(&Ranked, &Ranked) -> Ordering> Iterator for Ranking<C> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.next == self.sorted {
            self.sort_more();
        }
        let row = self.rows.get(self.next)?;
        self.next += 1;
        Some(row.at as usize)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.rows.len() - self.next;
        (left, Some(left))
    }
}

impl<C: Fn(&Ranked, &Ranked) -> Ordering> ExactSizeIterator for Ranking<C> {}

/// For each of some names where it stands among them: names compare as these numbers do.
pub fn ranks(names: &[String]) -> Vec<u32> {
    let mut distinct: Vec<&String> = names.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    names.iter().map(|name| distinct.partition_point(|other| *other < name) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_flow::samples::Weight;

    #[test]
    fn the_order_is_that_of_a_stable_sort_however_much_is_looked_at() {
        // Many are alike in cost, some in the key as well.
        let cost = |at: u64| {
            let weight = Weight { cycles: (at * 7919 % 5) as f64, ..Weight::default() };
            Cost { weight, instructions: at * 104_729 % 3, ..Cost::default() }
        };
        let costs: Vec<Cost> = (0..5000).map(cost).collect();
        let key = |at: usize| at * 31 % 100;
        let mut expected: Vec<usize> = (0..costs.len()).collect();
        expected.sort_by(|&a, &b| {
            let (left, right) = (costs[a], costs[b]);
            let by_cost = right.weight.cycles.total_cmp(&left.weight.cycles);
            by_cost.then(right.instructions.cmp(&left.instructions)).then(key(a).cmp(&key(b)))
        });
        for shown in [0, 1, 63, 64, 65, 1100, 5000] {
            let ranking = costliest_first(&costs, key);
            assert_eq!(ranking.len(), costs.len());
            assert_eq!(ranking.take(shown).collect::<Vec<_>>(), expected[..shown]);
        }
    }

    #[test]
    fn names_compare_as_their_ranks() {
        let names = ["b", "a", "c", "a"].map(String::from);
        assert_eq!(ranks(&names), [1, 0, 2, 0]);
    }
}
