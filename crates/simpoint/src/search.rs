//! How many clusters there should be: SimPoint's binary search for the smallest number with a score that is good enough.

struct Tried<T> {
    number: usize,
    score: f64,
    result: T,
}

/// Tries numbers from 1 to `most`, of which there is at least one, and gives what `attempt` made of the smallest whose
/// score, on a scale from the worst seen (0) to the best (1), reaches `threshold`. Where scores rise with the number, what
/// is looked for is where they first reach it, in about log₂ `most` attempts.
pub fn smallest_good<T>(most: usize, threshold: f64, mut attempt: impl FnMut(usize) -> (f64, T)) -> T {
    let mut attempt = |number: usize| {
        let (score, result) = attempt(number);
        Tried { number, score, result }
    };
    let mut tried = vec![attempt(1)];
    if most > 1 {
        tried.push(attempt(most));
    }
    let (mut low, mut high) = (1, most.max(1));
    while high - low > 1 {
        let middle = (low + high) / 2;
        tried.push(attempt(middle));
        let is_good = tried[tried.len() - 1].score >= enough(&tried, threshold);
        if rises(&tried) && !is_good {
            low = middle;
        } else {
            high = middle;
        }
    }
    let enough = enough(&tried, threshold);
    tried.sort_by_key(|tried| tried.number);
    // Rounding may put what is enough above the best.
    let best = tried.iter().map(|tried| tried.score).fold(f64::NEG_INFINITY, f64::max);
    let chosen = tried.iter().position(|tried| tried.score >= enough.min(best)).unwrap_or(0);
    tried.swap_remove(chosen).result
}

/// The score that reaches the threshold.
fn enough<T>(tried: &[Tried<T>], threshold: f64) -> f64 {
    let scores = || tried.iter().map(|tried| tried.score);
    let (worst, best) = (scores().fold(f64::INFINITY, f64::min), scores().fold(f64::NEG_INFINITY, f64::max));
    worst + threshold * (best - worst)
}

/// Whether the best score seen is of a larger number than the worst.
fn rises<T>(tried: &[Tried<T>]) -> bool {
    let by_score = |one: &&Tried<T>, other: &&Tried<T>| one.score.total_cmp(&other.score);
    let [worst, best] = [tried.iter().min_by(by_score), tried.iter().max_by(by_score)];
    best.map(|tried| tried.number) > worst.map(|tried| tried.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is chosen by scores of 1, 2 and so on, and what was tried for it.
    fn found(scores: &[f64], threshold: f64) -> (usize, Vec<usize>) {
        let mut tried = Vec::new();
        let chosen = smallest_good(scores.len(), threshold, |number| {
            tried.push(number);
            (scores[number - 1], number)
        });
        (chosen, tried)
    }

    #[test]
    fn it_is_the_smallest_above_the_threshold() {
        let scores: Vec<f64> = (1..=30).map(|number| 1.0 - 1.0 / f64::from(number)).collect();
        // From 0 to 29/30: 0.9 of that is 0.87, which 8 reaches with 0.875.
        assert_eq!(found(&scores, 0.9), (8, vec![1, 30, 15, 8, 4, 6, 7]));
        assert_eq!(found(&scores, 1.0).0, 30);
        assert_eq!(found(&scores, 0.0).0, 1);
    }

    #[test]
    fn what_does_not_rise_needs_one() {
        assert_eq!(found(&[5.0, 4.0, 3.0, 2.0, 1.0], 0.9), (1, vec![1, 5, 3, 2]));
        assert_eq!(found(&[5.0; 5], 0.9).0, 1);
        assert_eq!(found(&[-3.0], 0.9), (1, vec![1]));
        assert_eq!(found(&[1.0, 2.0], 0.9), (2, vec![1, 2]));
    }

    /// Pulled down by what more clusters cost, the best is in the middle.
    #[test]
    fn it_finds_a_peak() {
        assert_eq!(found(&[0.0, 50.0, 100.0, 99.0, 98.0, 97.0, 96.0], 0.99), (3, vec![1, 7, 4, 2, 3]));
    }
}
