//! Intervals that are in step with nothing.
//!
//! A look that stops a thread of the program sets the pace of what that does next: where it waits for so long again and
//! again, the next look, after a fixed time, would find it at the same point of its round, and the next, and so on.

use std::time::Duration;

/// Intervals are shorter or longer by up to this share, evenly spread: half of the interval together.
const SPREAD: f64 = 0.25;

/// Draws intervals.
#[derive(Debug)]
pub struct Uneven(u64);

impl Uneven {
    /// Begins anywhere.
    pub fn new(seed: u64) -> Uneven {
        Uneven(seed | 1)
    }

    /// An interval that is `mean` on average.
    pub fn around(&mut self, mean: Duration) -> Duration {
        // Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let even = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        mean.mul_f64(1.0 + SPREAD * (2.0 * even - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_differ_and_keep_their_mean() {
        let mut uneven = Uneven::new(7);
        let intervals: Vec<f64> =
            (0..10_000).map(|_| uneven.around(Duration::from_millis(20)).as_secs_f64() * 1e3).collect();
        let mean = intervals.iter().sum::<f64>() / intervals.len() as f64;
        assert!((mean - 20.0).abs() < 0.2, "{mean}");
        assert!(intervals.iter().all(|interval| (15.0..=25.0).contains(interval)));
        // Wherever in a round of 3 ms one is, the next is anywhere in another.
        let thirds = intervals.iter().fold([0; 3], |mut thirds, interval| {
            thirds[(interval % 3.0) as usize] += 1;
            thirds
        });
        assert!(thirds.iter().all(|third| (2500..4200).contains(third)), "{thirds:?}");
    }
}
