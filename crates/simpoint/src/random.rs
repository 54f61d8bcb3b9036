//! Numbers that look like chance and are the same in every run: SplitMix64 (Steele, Lea and Flood, 2014).

/// By how much the state of the generator grows.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// One that begins at `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number, at least 0 and less than 1.
    pub fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(STEP);
        share(mixed(self.0))
    }
}

/// A number for a seed and a pair, at least 0 and less than 1: the same for the same ones, whatever was asked for before.
pub fn share_of(seed: u64, one: u32, other: u32) -> f64 {
    let pair = u64::from(one) << 32 | u64::from(other);
    share(mixed(mixed(seed.wrapping_add(STEP)) ^ pair.wrapping_mul(STEP)))
}

fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// The upper 53 bits, which are as many as a number of double precision holds.
fn share(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first number for the seed 1234567 is published with the generator.
    #[test]
    fn it_is_the_generator_that_it_says() {
        assert_eq!(mixed(1_234_567u64.wrapping_add(STEP)), 6_457_827_717_110_365_317);
    }

    #[test]
    fn numbers_are_spread_evenly() {
        let mut random = Random::new(7);
        let of_generator: Vec<f64> = (0..10_000).map(|_| random.share()).collect();
        let of_pairs: Vec<f64> = (0..10_000).map(|pair| share_of(7, pair / 15, pair % 15)).collect();
        for numbers in [of_generator, of_pairs] {
            let mean = numbers.iter().sum::<f64>() / 10_000.0;
            // Four standard errors of the mean of 10,000 even numbers.
            assert!((mean - 0.5).abs() < 4.0 / (12.0f64 * 10_000.0).sqrt(), "{mean}");
            let tenths = numbers.iter().map(|number| (10.0 * number) as usize);
            let mut times = [0; 10];
            tenths.for_each(|tenth| times[tenth] += 1);
            assert!(times.iter().all(|times| (850..1150).contains(times)), "{times:?}");
        }
    }
}
