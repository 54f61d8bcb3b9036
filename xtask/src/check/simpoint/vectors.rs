//! Basic block vectors in files of SimPoint's, and how far intervals are from each other.

use anyhow::{Context, Result};
use std::path::Path;

/// Vectors, each with blocks in order and their instructions.
pub struct Vectors(Vec<Vec<(u64, f64)>>);

/// How distances between the same intervals agree in two sets of vectors.
pub struct Agreement {
    /// The mean distance in the first.
    pub mean: f64,
    /// The mean difference.
    pub apart: f64,
    /// The correlation, 1 if they agree.
    pub correlation: f64,
}

/// The distances between so many intervals are enough.
const MOST_INTERVALS: usize = 300;

impl Vectors {
    /// Reads `T:BLOCK:INSTRUCTIONS :BLOCK:INSTRUCTIONS`, a line for each interval.
    ///
    /// # Errors
    /// If it is none.
    pub fn read(path: &Path) -> Result<Vectors> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let vectors = text.lines().filter_map(|line| line.strip_prefix('T')).map(|line| {
            let parts: Option<Vec<(u64, f64)>> = line.split_whitespace().map(part).collect();
            let mut parts = parts.with_context(|| format!("{}: {line}", path.display()))?;
            parts.sort_by_key(|&(block, _)| block);
            Ok(parts)
        });
        Ok(Vectors(vectors.collect::<Result<_>>()?))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Instructions of all.
    pub fn instructions(&self) -> f64 {
        self.0.iter().map(|vector| sum(vector)).sum()
    }

    /// How distances between intervals agree with those of others.
    pub fn agreement(&self, others: &Vectors) -> Agreement {
        // The last of ours may be shorter.
        let common = others.len().min(self.len().saturating_sub(1));
        let every = common.div_ceil(MOST_INTERVALS).max(1);
        let chosen: Vec<usize> = (0..common).step_by(every).collect();
        let pairs = chosen
            .iter()
            .enumerate()
            .flat_map(|(at, &one)| chosen[..at].iter().map(move |&other| (one, other)));
        let distances =
            |vectors: &Vectors, (one, other): (usize, usize)| distance(&vectors.0[one], &vectors.0[other]);
        let found: Vec<(f64, f64)> =
            pairs.map(|pair| (distances(self, pair), distances(others, pair))).collect();
        agreement(&found)
    }
}

fn part(word: &str) -> Option<(u64, f64)> {
    let (block, instructions) = word.strip_prefix(':')?.split_once(':')?;
    Some((block.parse().ok()?, instructions.parse().ok()?))
}

fn sum(vector: &[(u64, f64)]) -> f64 {
    vector.iter().map(|(_, instructions)| instructions).sum()
}

/// The Manhattan distance between shares of blocks: 2 where none is in both.
fn distance(one: &[(u64, f64)], other: &[(u64, f64)]) -> f64 {
    let (of_one, of_other) = (sum(one), sum(other));
    let mut rest = other.iter().copied().peekable();
    let mut apart = 0.0;
    for &(block, instructions) in one {
        while let Some((_, alone)) = rest.next_if(|&(next, _)| next < block) {
            apart += alone / of_other;
        }
        let common = rest.next_if(|&(next, _)| next == block).map_or(0.0, |(_, common)| common);
        apart += (instructions / of_one - common / of_other).abs();
    }
    apart + rest.map(|(_, alone)| alone / of_other).sum::<f64>()
}

fn agreement(pairs: &[(f64, f64)]) -> Agreement {
    let mean =
        |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len().max(1) as f64;
    let (ours, theirs) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
    let squares = mean(&|pair| (pair.0 - ours).powi(2)) * mean(&|pair| (pair.1 - theirs).powi(2));
    Agreement {
        mean: ours,
        apart: mean(&|pair| (pair.0 - pair.1).abs()),
        correlation: mean(&|pair| (pair.0 - ours) * (pair.1 - theirs)) / squares.sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vectors {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Vectors::read(file.path()).unwrap()
    }

    #[test]
    fn both_forms_are_read() {
        let ours = read("T:1:30 :2:70 \nT:2:50 \n");
        assert_eq!(ours.0, read("# of Valgrind\nT:2:70   :1:30   \nT:2:50\n\n").0);
        assert_eq!((ours.len(), ours.instructions()), (2, 150.0));
    }

    #[test]
    fn distances_are_of_shares() {
        let vectors = read("T:1:30 :2:70\nT:1:3 :2:7\nT:1:50 :3:50\nT:4:1\n");
        let from_first = |other: usize| distance(&vectors.0[0], &vectors.0[other]);
        assert_eq!([0, 1, 3].map(from_first), [0.0, 0.0, 2.0]);
        assert!((from_first(2) - 1.4).abs() < 1e-12);
        assert_eq!(from_first(2), distance(&vectors.0[2], &vectors.0[0]));
    }

    #[test]
    fn the_division_into_blocks_means_nothing() {
        let whole = read("T:1:40 :2:60\nT:1:80 :2:20\nT:2:100\nT:1:1\n");
        let divided = read("T:1:10 :9:30 :2:60\nT:1:20 :9:60 :2:20\nT:2:100\nT:1:1\n");
        let other = read("T:1:10 :9:30 :2:60\nT:3:20 :9:60 :2:20\nT:1:100\nT:1:1\n");
        let same = whole.agreement(&divided);
        assert!(same.apart < 1e-12 && same.correlation > 1.0 - 1e-12);
        assert!((same.mean - (0.8 + 0.8 + 1.6) / 3.0).abs() < 1e-12);
        let differing = whole.agreement(&other);
        assert!(differing.apart > 0.1 && differing.correlation < 0.9);
    }
}
