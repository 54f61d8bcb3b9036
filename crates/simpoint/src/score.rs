//! How well a clustering explains its points, for its number of clusters.

use crate::kmeans::Clustering;
use crate::projection::Projected;
use std::f64::consts::TAU;

/// What intervals of one phase differ by, in any dimension, that means nothing: a ten-thousandth of their instructions.
/// Without it the score of clusters of equal vectors would be infinite, and vectors that differ by where a loop's round
/// was cut, by an instruction or two, would be divided until they are.
const MEANINGLESS: f64 = 1e-4;

/// The Bayesian information criterion of a clustering, larger for better ones: the logarithm of the likelihood of the points
/// in a mixture of spherical Gaussians of one variance, less what its parameters cost (Pelleg and Moore, "X-means",
/// ICML 2000). As SimPoint 3.2 has it, the variance is the most likely one, and weights are those of intervals with a mean
/// of 1; ours is never less than that of differences that mean nothing.
pub fn bic(points: &Projected, clustering: &Clustering) -> f64 {
    let number = points.len() as f64;
    let (dimensions, clusters) = (points.dimensions() as f64, clustering.clusters() as f64);
    let squares = clustering.distances.iter().enumerate();
    let squares: f64 = squares.map(|(at, distance)| points.weight(at) * distance * distance).sum();
    let mean_square = squares / points.weight_of_all() / dimensions;
    let variance = mean_square.max(MEANINGLESS * MEANINGLESS);
    let of_distances = -dimensions / 2.0 * ((TAU * variance).ln() + mean_square / variance);
    let shares = clustering.shares.iter().filter(|share| **share > 0.0);
    let of_shares: f64 = shares.map(|share| share * share.ln()).sum();
    // Of shares all but one, of centroids, and of the variance.
    let parameters = (clusters - 1.0) + clusters * dimensions + 1.0;
    number * (of_distances + of_shares) - parameters / 2.0 * number.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kmeans::cluster;

    fn score(points: &Projected, clusters: usize) -> f64 {
        bic(points, &cluster(points, clusters, 0))
    }

    /// Four points at 0, 2, 10 and 12. One cluster: squares 36 + 16 + 16 + 36, so the variance is 26 and the likelihood's
    /// logarithm 4 · -1/2 · (ln 2π·26 + 1) = -12.191948; less two parameters, ln 4 = 1.386294. Two: variance 1, so
    /// 4 · (-1/2 · (ln 2π + 1) + ln 1/2) = -8.448343; less four, 2 ln 4 = 2.772589.
    #[test]
    fn it_is_what_a_hand_computes() {
        let points = Projected::points(&[[0.0], [2.0], [10.0], [12.0]], &[1.0; 4]);
        assert!((score(&points, 1) - -13.578242).abs() < 1e-6);
        assert!((score(&points, 2) - -11.220932).abs() < 1e-6);
        // Weights that are all the same are none.
        let heavy = Projected::points(&[[0.0], [2.0], [10.0], [12.0]], &[7e9; 4]);
        assert!((score(&heavy, 2) - -11.220932).abs() < 1e-6);
    }

    /// Two dimensions: squares 1 · 9 + 3 · 1 = 12 of weight 4, so the variance is 12 / 4 / 2 = 1.5 and the logarithm
    /// 2 · -2/2 · (ln 2π·1.5 + 1) = -6.486685; less three parameters, 3/2 ln 2 = 1.039721.
    #[test]
    fn weights_count_for_variance() {
        let points = Projected::points(&[[0.0, 0.0], [4.0, 0.0]], &[1.0, 3.0]);
        assert!((score(&points, 1) - -7.526405).abs() < 1e-6, "{}", score(&points, 1));
    }

    #[test]
    fn differences_that_mean_nothing_make_no_clusters() {
        let [near, far] =
            [1e-6, 1e-2].map(|apart| Projected::points(&[[0.0], [0.0], [apart], [apart]], &[1.0; 4]));
        assert!(score(&near, 1) > score(&near, 2) && score(&near, 2).is_finite());
        assert!(score(&far, 1) < score(&far, 2) && score(&far, 2).is_finite());
    }
}
