//! From a frequency to the period of a clock.
//!
//! The kernel turns a frequency asked of `cpu-clock` into one fixed period by itself, so asking
//! for the period loses nothing and lets us choose one that programs and the kernel do not use.

/// The kernel silently makes shorter periods of a clock 10,000 ns long; this is the prime above.
const SHORTEST_NS: u64 = 10_007;

/// Nanoseconds between samples for `frequency_hz`: near it, but in step with nothing.
///
/// A program that does something every millisecond would otherwise meet a 4000 Hz clock at the same
/// four points of its period each time, and what it does there would get all of the samples or
/// none. A period shorter by one part in 256 wanders through such a millisecond in 64 ms, and
/// being prime it shares no divisor with any other timer.
pub fn of_clock_ns(frequency_hz: u32) -> u64 {
    let exact = 1_000_000_000 / u64::from(frequency_hz.max(1));
    let shifted = (exact - exact / 256).max(SHORTEST_NS);
    (2..=shifted).rev().find(|&n| is_prime(n)).unwrap_or(1)
}

fn is_prime(n: u64) -> bool {
    (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_stay_near_the_frequency() {
        for frequency_hz in [1, 50, 999, 1000, 4000, 10_000, 100_000] {
            let got = 1e9 / of_clock_ns(frequency_hz) as f64;
            let ratio = got / f64::from(frequency_hz);
            assert!((0.999..1.008).contains(&ratio), "{frequency_hz} Hz became {got}");
        }
    }

    #[test]
    fn a_periodic_task_is_met_all_over_its_period() {
        let period_ns = of_clock_ns(4000);
        for task_ns in [1_000_000, 4_000_000, 10_000_000] {
            let met: std::collections::BTreeSet<u64> =
                (0..4000).map(|sample| sample * period_ns % task_ns * 100 / task_ns).collect();
            assert_eq!(met.len(), 100, "every hundredth of a task of {task_ns} ns within a second");
        }
    }
}
