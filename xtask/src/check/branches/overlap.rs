//! How far the shares of branches agree: for the whole program, and within each function.

use super::edges::{Edge, Edges, Spot};
use std::collections::HashMap;
use std::fmt;

/// What became of a comparison.
#[derive(Debug)]
pub struct Agreement {
    /// Branches that were traced.
    traced: u64,
    /// Different branches that were taken.
    taken: usize,
    /// Overlap of the shares, as branches were seen and by weight: 1 if they are the same, 0 if no branch is in both.
    pub whole_program: [f64; 2],
    /// As much overlap as so many independent draws would have on average.
    pub floor: f64,
    /// Overlap of the shares within each function, weighted by how many branches are taken in it; as seen and by
    /// weight.
    pub within_functions: [f64; 2],
    /// Branches by how far their shares are apart, furthest first, in words.
    pub differences: Vec<String>,
    /// Traced, but in truth never taken; the most frequent first.
    pub never_taken: Vec<(Edge, u64)>,
}

impl Agreement {
    /// Titles of the columns.
    pub const TITLES: &str =
        "   traced    edges    whole  by weight    floor   within  by weight  never taken";

    /// Compares traces, as branches were seen and by weight, with exact counts.
    pub fn between(exact: &Edges, both: [&Edges; 2]) -> Agreement {
        let traced = both[0];
        let mut never_taken: Vec<(Edge, u64)> = traced
            .times
            .iter()
            .filter(|(edge, _)| !exact.times.contains_key(edge))
            .map(|(edge, &times)| (edge.clone(), times))
            .collect();
        never_taken.sort_by_key(|(edge, times)| (std::cmp::Reverse(*times), edge.clone()));
        let total = traced.total();
        Agreement {
            traced: total,
            taken: exact.times.len(),
            whole_program: both.map(|traced| overlap(&whole(exact), &whole(traced))),
            floor: floor(exact, total),
            within_functions: both.map(|traced| within_functions(exact, traced)),
            differences: differences(exact, both),
            never_taken,
        }
    }

    /// Overlap of the shares of two halves of what was traced: what chance leaves.
    pub fn of_halves(one: &Edges, other: &Edges) -> f64 {
        overlap(&whole(one), &whole(other))
    }

    /// What [`Self::TITLES`] announces, for a table.
    pub fn cells(&self) -> Vec<String> {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let ([whole, weighted], [within, within_weighted]) = (self.whole_program, self.within_functions);
        let shares = [whole, weighted, self.floor, within, within_weighted].map(percent);
        let numbers = [self.traced.to_string(), self.taken.to_string()];
        numbers.into_iter().chain(shares).chain([self.never_taken.len().to_string()]).collect()
    }

    /// Share of the traced branches that were never taken.
    pub fn share_never_taken(&self) -> f64 {
        let times: u64 = self.never_taken.iter().map(|(_, times)| times).sum();
        times as f64 / self.traced.max(1) as f64
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let percent = |share: f64| format!("{:6.1} %", 100.0 * share);
        let [whole, within] = [self.whole_program, self.within_functions]
            .map(|[seen, weighted]| percent(seen) + "   " + &percent(weighted));
        write!(
            formatter,
            "{:9} {:8} {whole} {} {within}  {} ({:.4} %)",
            self.traced,
            self.taken,
            percent(self.floor),
            self.never_taken.len(),
            100.0 * self.share_never_taken()
        )
    }
}

/// Branches by how far their shares are apart as they were seen.
fn differences(exact: &Edges, both: [&Edges; 2]) -> Vec<String> {
    let [truth, seen, weighted] = [exact, both[0], both[1]].map(|edges| edges.total().max(1) as f64);
    let share = |edges: &Edges, edge: &Edge, total: f64| {
        100.0 * edges.times.get(edge).copied().unwrap_or_default() as f64 / total
    };
    let mut rows: Vec<(f64, f64, f64, &Edge)> = exact
        .times
        .keys()
        .map(|edge| {
            (share(exact, edge, truth), share(both[0], edge, seen), share(both[1], edge, weighted), edge)
        })
        .collect();
    rows.sort_by(|one, other| {
        let apart = |row: &(f64, f64, f64, &Edge)| (row.0 - row.1).abs();
        apart(other).total_cmp(&apart(one)).then_with(|| one.3.cmp(other.3))
    });
    let function = |edge: &Edge| {
        let before = exact.functions.range(..=edge.from.clone()).next_back();
        before.filter(|(start, _)| start.0 == edge.from.0).map_or("?", |(_, name)| name.as_str())
    };
    let row = |(truth, seen, weighted, edge): &(f64, f64, f64, &Edge)| {
        format!("{truth:6.2} % {seen:6.2} % {weighted:6.2} %  {edge}  {}", function(edge))
    };
    rows.iter().take(MOST_DIFFERENCES).map(row).collect()
}

/// Differences that are ever of interest.
const MOST_DIFFERENCES: usize = 1000;

/// Times by branch.
type Times<'a> = HashMap<&'a Edge, u64>;

fn whole(edges: &Edges) -> Times<'_> {
    edges.times.iter().map(|(edge, &times)| (edge, times)).collect()
}

/// Sum over all branches of the smaller of both shares.
fn overlap(one: &Times, other: &Times) -> f64 {
    let sum = |times: &Times| times.values().sum::<u64>().max(1) as f64;
    let (of_one, of_other) = (sum(one), sum(other));
    let smaller = |(edge, &times): (&&Edge, &u64)| {
        let there = other.get(edge).copied().unwrap_or_default();
        (times as f64 / of_one).min(there as f64 / of_other)
    };
    one.iter().map(smaller).sum()
}

/// Overlap within functions, as the exact side has them. A function that was not traced at all has none.
fn within_functions(exact: &Edges, traced: &Edges) -> f64 {
    let split = |edges| -> HashMap<Spot, Times> { by_function(exact, edges) };
    let (truth, seen) = (split(exact), split(traced));
    let nothing = HashMap::new();
    let total = exact.total().max(1) as f64;
    let weighted = |(function, times): (&Spot, &Times)| {
        let weight = times.values().sum::<u64>() as f64 / total;
        weight * overlap(times, seen.get(function).unwrap_or(&nothing))
    };
    truth.iter().map(weighted).sum()
}

fn by_function<'a>(named_by: &Edges, edges: &'a Edges) -> HashMap<Spot, Times<'a>> {
    let mut functions: HashMap<Spot, Times> = HashMap::new();
    for (edge, &times) in &edges.times {
        let before = named_by.functions.range(..=edge.from.clone()).next_back().map(|(start, _)| start);
        let function = before.filter(|start| start.0 == edge.from.0).cloned();
        functions
            .entry(function.unwrap_or_else(|| (edge.from.0.clone(), 0)))
            .or_default()
            .insert(edge, times);
    }
    functions
}

/// The overlap that `draws` independent draws have with the distribution that they are drawn from, on average:
/// half the mean absolute deviations, each nearly that of a Poisson distribution, are missing.
fn floor(exact: &Edges, draws: u64) -> f64 {
    let total = exact.total().max(1) as f64;
    let deviation = |&times: &u64| mean_deviation(times as f64 / total * draws as f64);
    1.0 - exact.times.values().map(deviation).sum::<f64>() / (2 * draws.max(1)) as f64
}

/// Mean absolute deviation of a Poisson distribution (Crow, 1958): 2 mean^(k+1) e^-mean / k! with k the mean
/// rounded down; of a normal one where that is large.
fn mean_deviation(mean: f64) -> f64 {
    const LARGE: f64 = 100.0;
    if mean > LARGE {
        return (2.0 * mean / std::f64::consts::PI).sqrt();
    }
    let steps = mean.floor() as u32;
    let logarithm = (1..=steps).fold(-mean, |sum, step| sum + (mean / f64::from(step)).ln());
    2.0 * mean * logarithm.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(times: &[(u64, u64)]) -> Edges {
        let edge = |from: u64| Edge { from: ("/a".into(), from), to: ("/a".into(), 0) };
        let functions =
            [(("/a".to_string(), 0), "f".to_string()), (("/a".to_string(), 100), "g".to_string())];
        Edges {
            times: times.iter().map(|&(from, times)| (edge(from), times)).collect(),
            functions: functions.into_iter().collect(),
        }
    }

    #[test]
    fn equal_shares_agree_and_disjoint_ones_do_not() {
        let exact = edges(&[(1, 30), (2, 10), (101, 40)]);
        let (scaled, other) = (edges(&[(1, 3), (2, 1), (101, 4)]), edges(&[(3, 5)]));
        let agreement = Agreement::between(&exact, [&other, &scaled]);
        let is = |found: [f64; 2]| found[0] == 0.0 && (found[1] - 1.0).abs() < 1e-9;
        assert!(is(agreement.whole_program) && is(agreement.within_functions), "{agreement:?}");
        assert_eq!(agreement.share_never_taken(), 1.0);
    }

    #[test]
    fn shares_of_functions_do_not_matter_within_them() {
        let exact = edges(&[(1, 30), (2, 10), (101, 40)]);
        let traced = edges(&[(1, 3), (2, 1), (101, 12)]);
        let agreement = Agreement::between(&exact, [&traced, &traced]);
        assert!((agreement.within_functions[0] - 1.0).abs() < 1e-9);
        assert!((agreement.whole_program[0] - 0.75).abs() < 1e-9, "{agreement:?}");
    }

    #[test]
    fn the_deviation_of_small_and_large_means_meet() {
        assert!((mean_deviation(0.5) - (-0.5_f64).exp()).abs() < 1e-12);
        let [below, above] = [99.999, 100.001].map(mean_deviation);
        assert!((below / above - 1.0).abs() < 2e-3, "{below} {above}");
    }
}
