//! Points in clusters: k-means by Lloyd's iterations, from centroids chosen as in k-means++ (Arthur and Vassilvitskii,
//! 2007).

use crate::projection::{Projected, square_distance};
use crate::random::Random;

/// More iterations are not made: what moves after so many are single points between clusters that are as good for
/// them. SimPoint's limit is the same.
const MOST_ITERATIONS: usize = 100;

/// Points in clusters, none of them empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustering {
    /// The cluster of each point.
    pub labels: Vec<usize>,
    /// How far each point is from its cluster's centroid.
    pub distances: Vec<f64>,
    /// The weight of each cluster, of all; together 1.
    pub shares: Vec<f64>,
}

impl Clustering {
    /// How many clusters there are.
    pub fn clusters(&self) -> usize {
        self.shares.len()
    }
}

/// Divides points into `clusters` clusters, or fewer where no more of them differ or weigh anything. Centroids are means by
/// weight, and what is chosen at random depends on `seed` only.
pub fn cluster(points: &Projected, clusters: usize, seed: u64) -> Clustering {
    let mut centroids = initial(points, clusters, seed);
    let mut labels = vec![0; points.len()];
    assign(points, &centroids, &mut labels);
    for _ in 0..MOST_ITERATIONS {
        centroids = means(points, &labels, centroids);
        let has_changed = assign(points, &centroids, &mut labels);
        if !has_changed {
            break;
        }
    }
    finished(points, &centroids, labels)
}

/// A centroid, point by point, is chosen with a chance that grows with its weight and the square of its distance from
/// those that are there.
fn initial(points: &Projected, clusters: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut random = Random::new(seed);
    let mut chances: Vec<f64> = (0..points.len()).map(|number| points.weight(number)).collect();
    let mut squares = vec![f64::INFINITY; points.len()];
    let mut centroids = Vec::new();
    while centroids.len() < clusters {
        let Some(chosen) = chosen(&chances, random.share()) else { break };
        let centroid = points.point(chosen).to_vec();
        for (number, square) in squares.iter_mut().enumerate() {
            *square = square.min(square_distance(points.point(number), &centroid));
            chances[number] = points.weight(number) * *square;
        }
        centroids.push(centroid);
    }
    // Points that weigh nothing have to be somewhere, too.
    if centroids.is_empty() && !points.is_empty() {
        centroids.push(points.point(0).to_vec());
    }
    centroids
}

/// Where a share of all chances is reached; none if there are no chances.
fn chosen(chances: &[f64], share: f64) -> Option<usize> {
    let mut left = share * chances.iter().sum::<f64>();
    let mut possible = chances.iter().enumerate().filter(|(_, chance)| **chance > 0.0);
    // Sums are rounded, so that nothing may be left over behind the last.
    let last = possible.clone().next_back()?.0;
    let reached = possible.find(|(_, chance)| {
        left -= **chance;
        left < 0.0
    });
    Some(reached.map_or(last, |(number, _)| number))
}

/// Gives each point the label of the nearest centroid, the first of several. Whether any has another than before.
fn assign(points: &Projected, centroids: &[Vec<f64>], labels: &mut [usize]) -> bool {
    let mut has_changed = false;
    for (number, label) in labels.iter_mut().enumerate() {
        let nearest = nearest(points.point(number), centroids);
        has_changed |= *label != nearest;
        *label = nearest;
    }
    has_changed
}

fn nearest(point: &[f64], centroids: &[Vec<f64>]) -> usize {
    let mut best = (f64::INFINITY, 0);
    for (number, centroid) in centroids.iter().enumerate() {
        let square = square_distance(point, centroid);
        if square < best.0 {
            best = (square, number);
        }
    }
    best.1
}

/// The means of all clusters; what has lost its points stays where it was.
fn means(points: &Projected, labels: &[usize], former: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut sums = vec![(0.0, vec![0.0; points.dimensions()]); former.len()];
    for (number, &label) in labels.iter().enumerate() {
        let (weight, sum) = &mut sums[label];
        *weight += points.weight(number);
        for (sum, coordinate) in sum.iter_mut().zip(points.point(number)) {
            *sum += points.weight(number) * coordinate;
        }
    }
    let mean = |((weight, sum), former): ((f64, Vec<f64>), Vec<f64>)| match weight > 0.0 {
        true => sum.into_iter().map(|sum| sum / weight).collect(),
        false => former,
    };
    sums.into_iter().zip(former).map(mean).collect()
}

/// Leaves out empty clusters, and numbers the others anew.
fn finished(points: &Projected, centroids: &[Vec<f64>], mut labels: Vec<usize>) -> Clustering {
    let distance =
        |(number, &label): (usize, &usize)| square_distance(points.point(number), &centroids[label]).sqrt();
    let distances = labels.iter().enumerate().map(distance).collect();
    let mut names = vec![None; centroids.len()];
    let mut weights = Vec::new();
    for (number, label) in labels.iter_mut().enumerate() {
        *label = *names[*label].get_or_insert_with(|| {
            weights.push(0.0);
            weights.len() - 1
        });
        weights[*label] += points.weight(number);
    }
    let whole: f64 = weights.iter().sum();
    let share = |weight: f64| if whole > 0.0 { weight / whole } else { 0.0 };
    Clustering { labels, distances, shares: weights.into_iter().map(share).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_where_points_lie_together() {
        let points = Projected::points(&[[10.0], [0.0], [2.0], [12.0], [1.0]], &[1.0; 5]);
        for seed in 0..20 {
            let found = cluster(&points, 2, seed);
            assert_eq!(found.labels, [0, 1, 1, 0, 1]);
            assert_eq!(found.distances, [1.0, 1.0, 1.0, 1.0, 0.0]);
            assert_eq!(found.shares, [0.4, 0.6]);
        }
    }

    #[test]
    fn weights_move_centroids() {
        let points = Projected::points(&[[0.0, 0.0], [4.0, 0.0]], &[3.0, 1.0]);
        let found = cluster(&points, 1, 0);
        assert_eq!((found.distances, found.shares), (vec![1.0, 3.0], vec![1.0]));
    }

    #[test]
    fn there_are_no_more_clusters_than_points_that_differ() {
        let points = Projected::points(&[[1.0], [1.0], [2.0], [1.0]], &[1.0; 4]);
        let found = cluster(&points, 4, 3);
        assert_eq!((found.labels, found.distances), (vec![0, 0, 1, 0], vec![0.0; 4]));
        let none = cluster(&Projected::points::<1>(&[], &[]), 3, 0);
        assert_eq!((none.clusters(), none.labels.len()), (0, 0));
        let weightless = cluster(&Projected::points(&[[1.0], [2.0]], &[0.0; 2]), 2, 0);
        assert_eq!((weightless.clusters(), weightless.labels), (1, vec![0, 0]));
    }

    #[test]
    fn the_farther_a_point_is_the_more_likely_it_is_chosen() {
        assert_eq!(
            [0.0, 0.24, 0.26, 0.99].map(|share| chosen(&[1.0, 0.0, 3.0], share)),
            [0, 0, 2, 2].map(Some)
        );
        assert_eq!(chosen(&[1.0, 0.0], 1.0), Some(0));
        assert_eq!((chosen(&[0.0], 0.5), chosen(&[], 0.5)), (None, None));
        let points = Projected::points(&[[0.0], [0.0], [0.0], [1.0]], &[1.0; 4]);
        assert!((0..20).all(|seed| initial(&points, 2, seed).concat().iter().sum::<f64>() == 1.0));
    }
}
