//! The intervals that stand for an execution.

use crate::kmeans::{self, Clustering};
use crate::projection::Projected;
use crate::score;
use crate::search;
use crate::vectors::Vectors;

/// What is asked for. The defaults are those of SimPoint 3.2, and for the number of points, which has none there, that of
/// its authors' evaluation (Hamerly and others, 2005).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// No more points than that; at least 1.
    pub most_points: usize,
    /// To how many dimensions vectors are projected; at least 1.
    pub dimensions: usize,
    /// How good a score has to be, from 0, the worst seen, to 1, the best.
    pub threshold: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options { most_points: 30, dimensions: 15, threshold: 0.9 }
    }
}

/// Where random numbers begin: the same profile shall give the same points.
const SEED: u64 = 0;

/// So often each number of clusters is looked for, from other centroids each time, as SimPoint does.
const ATTEMPTS: u64 = 5;

/// An interval that stands for those of its cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The interval, from 0 for the thread's first one on.
    pub interval: usize,
    /// The share of the thread's instructions that it stands for.
    pub weight: f64,
    /// How many intervals it stands for, itself included.
    pub intervals: usize,
    /// How far these are from their centroid on average, weighted by instructions, in the projection.
    pub spread: f64,
    /// The share of these intervals' instructions, on average, that is executed in other blocks than the point's own.
    pub differing: f64,
}

/// The intervals that stand for an execution, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimPoints {
    /// One for each cluster, which is numbered by it.
    pub points: Vec<Point>,
    /// The cluster of each interval.
    pub labels: Vec<usize>,
    /// How far each interval is from its cluster's centroid, in the projection.
    pub distances: Vec<f64>,
    /// The share of the execution's instructions that is in other blocks than the weighted points say.
    pub error: f64,
}

impl SimPoints {
    /// Instructions of all points: what a simulation of them has to execute.
    pub fn instructions(&self, vectors: &Vectors) -> u64 {
        self.points.iter().map(|point| vectors.intervals()[point.interval].instructions).sum()
    }
}

/// Chooses points for the intervals of a thread; none if these have no instructions.
pub fn choose(vectors: &Vectors, options: &Options) -> SimPoints {
    if vectors.instructions() == 0 {
        return SimPoints::default();
    }
    let projected = Projected::of(vectors, options.dimensions.max(1), SEED);
    let clustering = search::smallest_good(options.most_points, options.threshold, |clusters| {
        best_of_attempts(&projected, clusters, SEED)
    });
    represent(vectors, clustering)
}

/// The best of several clusterings of one number, the first of equal ones, with its score.
fn best_of_attempts(points: &Projected, clusters: usize, seed: u64) -> (f64, Clustering) {
    let attempt = |number| {
        let clustering = kmeans::cluster(points, clusters, seed.wrapping_add(number));
        (score::bic(points, &clustering), clustering)
    };
    (1..ATTEMPTS).map(attempt).fold(attempt(0), |best, next| if next.0 > best.0 { next } else { best })
}

/// The interval nearest to the centroid of each cluster, the first of several.
fn represent(vectors: &Vectors, clustering: Clustering) -> SimPoints {
    let Clustering { mut labels, distances, shares } = clustering;
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); shares.len()];
    labels.iter().enumerate().for_each(|(interval, &label)| members[label].push(interval));
    let nearer = |one: &usize, other: &usize| distances[*one].total_cmp(&distances[*other]);
    let nearest = |members: Vec<usize>| Some((members.iter().copied().min_by(nearer)?, members));
    // No cluster is empty.
    let mut clusters: Vec<(usize, Vec<usize>)> = members.into_iter().filter_map(nearest).collect();
    clusters.sort_unstable_by_key(|&(interval, _)| interval);
    let mut scratch = Scratch::of(vectors);
    let mut points = Vec::with_capacity(clusters.len());
    for (interval, members) in &clusters {
        let (interval, weight) = (*interval, shares[labels[*interval]]);
        let spread = mean(vectors, members, |member| distances[member]);
        scratch.add(vectors, interval, 1.0);
        let differing = mean(vectors, members, |member| scratch.differing(vectors, member));
        scratch.clear();
        points.push(Point { interval, weight, intervals: members.len(), spread, differing });
    }
    for (number, (_, members)) in clusters.iter().enumerate() {
        members.iter().for_each(|&member| labels[member] = number);
    }
    let whole = vectors.instructions() as f64;
    for (interval, of) in vectors.intervals().iter().enumerate() {
        scratch.add(vectors, interval, of.instructions as f64 / whole);
    }
    points.iter().for_each(|point| scratch.add(vectors, point.interval, -point.weight));
    let error = scratch.half_of_all();
    SimPoints { points, labels, distances, error }
}

/// A mean of intervals by instructions; 0 where these have none.
fn mean(vectors: &Vectors, members: &[usize], of: impl Fn(usize) -> f64) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for &member in members {
        let weight = vectors.intervals()[member].instructions as f64;
        sum += weight * of(member);
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// A share for each block of the profile.
struct Scratch(Vec<f64>);

impl Scratch {
    fn of(vectors: &Vectors) -> Scratch {
        Scratch(vec![0.0; vectors.blocks()])
    }

    fn add(&mut self, vectors: &Vectors, interval: usize, weight: f64) {
        for (block, share) in vectors.shares(interval) {
            self.0[block.index()] += weight * share;
        }
    }

    fn clear(&mut self) {
        self.0.fill(0.0);
    }

    /// The share of an interval's instructions that is in other blocks than what is here says: all that it has more of.
    fn differing(&self, vectors: &Vectors, interval: usize) -> f64 {
        vectors.shares(interval).map(|(block, share)| (share - self.0[block.index()]).max(0.0)).sum()
    }

    /// Where what is here is the difference between two distributions: the share that is elsewhere.
    fn half_of_all(&self) -> f64 {
        self.0.iter().map(|difference| difference.abs()).sum::<f64>() / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::tests::profile;
    use proptest::prelude::*;
    use std::collections::HashSet;
    use timewise_profile::ThreadId;

    fn chosen(intervals: &[&[u64]], options: &Options) -> SimPoints {
        choose(&Vectors::of(&profile(intervals), ThreadId(0)), options)
    }

    /// Intervals, weights, numbers of intervals.
    fn told(found: &SimPoints) -> Vec<(usize, f64, usize)> {
        found.points.iter().map(|point| (point.interval, point.weight, point.intervals)).collect()
    }

    #[test]
    fn two_phases_are_two_points() {
        let (one, other): (&[u64], &[u64]) = (&[60, 40], &[0, 0, 10, 90]);
        let found = chosen(&[one, one, other, one, other, one, one, one, other, one], &Options::default());
        assert_eq!(told(&found), [(0, 0.7, 7), (2, 0.3, 3)]);
        assert_eq!(found.labels, [0, 0, 1, 0, 1, 0, 0, 0, 1, 0]);
        assert!(found.points.iter().all(|point| point.differing < 1e-12 && point.spread < 1e-12));
        assert!(found.error < 1e-12);
    }

    /// The last interval is as the first, and a fifth of its length: 100 of 220 instructions are of the other phase.
    #[test]
    fn shorter_intervals_weigh_less() {
        let found = chosen(&[&[100], &[0, 100], &[20]], &Options::default());
        assert_eq!(told(&found), [(0, 120.0 / 220.0, 2), (1, 100.0 / 220.0, 1)]);
    }

    #[test]
    fn what_does_not_change_is_one_point() {
        assert_eq!(told(&chosen(&[&[3, 4]], &Options::default())), [(0, 1.0, 1)]);
        assert_eq!(told(&chosen(&[&[3, 4][..]; 40], &Options::default())), [(0, 1.0, 40)]);
        // The same shares of another number of instructions.
        assert_eq!(told(&chosen(&[&[3, 6], &[5, 10], &[1, 2]], &Options::default())), [(0, 1.0, 3)]);
    }

    #[test]
    fn nothing_has_no_points() {
        assert_eq!(chosen(&[], &Options::default()), SimPoints::default());
        assert_eq!(chosen(&[&[], &[0]], &Options::default()), SimPoints::default());
    }

    /// One point for two halves that share nothing: whichever it is, half of the execution is elsewhere.
    #[test]
    fn too_few_points_say_how_wrong_they_are() {
        let one_point = Options { most_points: 1, ..Options::default() };
        let found = chosen(&[&[10], &[0, 10]], &one_point);
        assert_eq!(told(&found), [(0, 1.0, 2)]);
        assert_eq!((found.points[0].differing, found.error), (0.5, 0.5));
        assert_eq!(found.instructions(&Vectors::of(&profile(&[&[10], &[0, 10]]), ThreadId(0))), 10);
    }

    #[test]
    fn the_best_attempt_counts() {
        let places: Vec<[f64; 2]> =
            (0..60u32).map(|at| [f64::from(at * at % 61), f64::from(at * 17 % 59)]).collect();
        let points = Projected::points(&places, &[1.0; 60]);
        let each: Vec<f64> =
            (7..7 + ATTEMPTS).map(|seed| score::bic(&points, &kmeans::cluster(&points, 8, seed))).collect();
        let best = each.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(each[0] < best && each.iter().any(|score| *score < each[0]), "{each:?}");
        assert_eq!(best_of_attempts(&points, 8, 7).0, best);
    }

    fn executions() -> impl Strategy<Value = Vec<Vec<u64>>> {
        proptest::collection::vec(proptest::collection::vec(0u64..5, 1..6), 1..40)
    }

    proptest! {
        #[test]
        fn points_stand_for_all_intervals(
            execution in executions(),
            most_points in 1usize..12,
            dimensions in 1usize..20,
            threshold in 0.0..=1.0,
        ) {
            let options = Options { most_points, dimensions, threshold };
            let rows: Vec<&[u64]> = execution.iter().map(|row| &row[..]).collect();
            let (profile, whole) = (profile(&rows), execution.iter().flatten().sum::<u64>());
            let vectors = Vectors::of(&profile, ThreadId(0));
            let found = choose(&vectors, &options);
            prop_assert_eq!(&found, &choose(&vectors, &options));
            if whole == 0 {
                prop_assert!(found.points.is_empty());
                return Ok(());
            }
            prop_assert_eq!(found.labels.len(), rows.len());
            prop_assert!(found.points.len() <= most_points && !found.points.is_empty());
            prop_assert!((0.0..=1.0 + 1e-9).contains(&found.error));
            let mut before = 0;
            for (cluster, point) in found.points.iter().enumerate() {
                let members: Vec<usize> = (0..rows.len()).filter(|&at| found.labels[at] == cluster).collect();
                prop_assert!(members.contains(&point.interval));
                // Points are in the order of the execution.
                prop_assert!(cluster == 0 || point.interval > before);
                before = point.interval;
                prop_assert_eq!(members.len(), point.intervals);
                let instructions: u64 = members.iter().flat_map(|&at| rows[at]).sum();
                prop_assert!((point.weight - instructions as f64 / whole as f64).abs() < 1e-9);
                let nearest = members.iter().map(|&at| found.distances[at]).fold(f64::INFINITY, f64::min);
                prop_assert_eq!(found.distances[point.interval], nearest);
                prop_assert!((0.0..=1.0 + 1e-9).contains(&point.differing) && point.spread >= nearest - 1e-12);
            }
        }

        /// Where a cluster may be had for each vector, the points are exact.
        #[test]
        fn enough_points_are_exact(execution in executions()) {
            let rows: Vec<&[u64]> = execution.iter().map(|row| &row[..]).collect();
            let found = chosen(&rows, &Options { most_points: 40, threshold: 1.0, ..Options::default() });
            let profile = profile(&rows);
            let projected = Projected::of(&Vectors::of(&profile, ThreadId(0)), 15, 0);
            let points = (0..rows.len()).map(|at| projected.point(at).iter().map(|part| part.to_bits()).collect());
            let distinct = points.collect::<HashSet<Vec<u64>>>().len();
            prop_assert!(found.points.len() < distinct || found.error < 1e-9);
        }
    }
}
