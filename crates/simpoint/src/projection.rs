//! Vectors of many blocks as points of few dimensions, whose distances are about as those of the vectors.

use crate::random;
use crate::vectors::Vectors;

/// A point for each interval, with its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Projected {
    dimensions: usize,
    /// Point by point.
    coordinates: Vec<f64>,
    /// Instructions of each interval.
    weights: Vec<f64>,
}

impl Projected {
    /// A random linear projection of shares of blocks. A coefficient lies between -1 and 1 and depends on seed, block and
    /// dimension only, so that none has to be kept.
    pub fn of(vectors: &Vectors, dimensions: usize, seed: u64) -> Projected {
        let intervals = vectors.intervals();
        let mut coordinates = vec![0.0; intervals.len() * dimensions];
        for (interval, point) in coordinates.chunks_exact_mut(dimensions.max(1)).enumerate() {
            for (block, share) in vectors.shares(interval) {
                for (dimension, coordinate) in (0u32..).zip(&mut *point) {
                    *coordinate += share * (2.0 * random::share_of(seed, block.0, dimension) - 1.0);
                }
            }
        }
        let weights = intervals.iter().map(|interval| interval.instructions as f64).collect();
        Projected { dimensions, coordinates, weights }
    }

    /// Points with weights, as they are.
    #[cfg(test)]
    pub fn points<const DIMENSIONS: usize>(points: &[[f64; DIMENSIONS]], weights: &[f64]) -> Projected {
        assert_eq!(points.len(), weights.len(), "each point has a weight");
        Projected { dimensions: DIMENSIONS, coordinates: points.concat(), weights: weights.to_vec() }
    }

    /// How many dimensions points have.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// The coordinates of a point.
    #[inline]
    pub fn point(&self, number: usize) -> &[f64] {
        &self.coordinates[number * self.dimensions..][..self.dimensions]
    }

    /// The weight of a point, in instructions.
    #[inline]
    pub fn weight(&self, number: usize) -> f64 {
        self.weights[number]
    }

    /// The weight of all points, in instructions.
    pub fn weight_of_all(&self) -> f64 {
        self.weights.iter().sum()
    }
}

/// The square of the distance between two points.
#[inline]
pub fn square_distance(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other) * (one - other)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::tests::profile;
    use timewise_profile::ThreadId;

    fn projected(intervals: &[&[u64]], dimensions: usize, seed: u64) -> Projected {
        Projected::of(&Vectors::of(&profile(intervals), ThreadId(0)), dimensions, seed)
    }

    #[test]
    fn it_is_linear_in_shares() {
        let points = projected(&[&[8], &[0, 8], &[2, 6], &[1, 3], &[0, 0]], 15, 1);
        for dimension in 0..15 {
            let [one, other, mixed, shorter, none] = [0, 1, 2, 3, 4].map(|at| points.point(at)[dimension]);
            assert!((0.25 * one + 0.75 * other - mixed).abs() < 1e-12);
            assert_eq!((shorter, none), (mixed, 0.0));
            assert!((-1.0..1.0).contains(&one) && one != other);
        }
        assert_eq!([0, 3].map(|at| points.weight(at)), [8.0, 4.0]);
        assert_eq!((points.weight_of_all(), points.len()), (28.0, 5));
    }

    #[test]
    fn seeds_and_dimensions_differ() {
        let [one, same, other] = [1, 1, 2].map(|seed| projected(&[&[1, 2, 3]], 3, seed));
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert!(one.point(0)[0] != one.point(0)[1]);
        assert_eq!(projected(&[&[1, 2, 3]], 2, 1).point(0), &one.point(0)[..2]);
    }

    /// A coefficient's mean square is 1/3, and so is that of a difference of vectors of length 1, for each dimension.
    #[test]
    fn distances_are_about_kept() {
        let points = projected(&[&[1, 0, 0, 1], &[0, 1, 1, 0]], 3000, 5);
        let square = square_distance(points.point(0), points.point(1)) / 3000.0;
        assert!((square - 1.0 / 3.0).abs() < 0.03, "{square}");
    }
}
