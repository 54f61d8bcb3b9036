//! What windows tell of the execution that they were taken of: how much of it they are, and its cycles per instruction
//! with limits.
//!
//! Windows at equal distances are a sample of an execution (Wunderlich, Wenisch, Falsafi and Hoe, SMARTS, ISCA 2003). Their
//! instructions differ, as a thread ends in its last one, so cycles per instruction are a ratio of two sums, and its
//! variance is that of the residuals between windows (Cochran, Sampling Techniques, 1977, sections 2.11 and 6.4), less what
//! was simulated of the whole: nothing is unknown of an execution without gaps. Windows are taken for chosen at random.
//! Where neighbours resemble each other, as in phases, equal distances are better than that and the limits too wide; where
//! the program repeats itself at that distance, they are too narrow. Cycles that a core would not have spent had all that
//! passed left its traces are in each window, and in no limit.

use crate::cost::Estimate;
use crate::interval::CONFIDENCE;
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::BTreeMap;
use timewise_profile::{Profile, SimulatedPart, SimulatedThreadId, SimulatedWindow, SimulationId};

/// Fewer windows have no limits: Student's distribution supposes that their mean is nearly normal, and a few windows of a
/// program with phases are all of one phase, or miss one, too easily. From this many on that holds as a rule (SMARTS,
/// section 3), and did in programs of which all was simulated (`cargo xtask check windows`), where limits of a dozen windows
/// held the truth in less than half of all cases in one. What a thread executes behind its last window is then at most the
/// same part of the execution.
pub const FEWEST: usize = 30;

/// How much of an execution was simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Windows.
    pub windows: usize,
    /// Threads that have some.
    pub threads: usize,
    /// Instructions of all windows.
    pub simulated: u64,
    /// Instructions that threads had executed at the ends of their last windows, all threads together.
    pub reached: u64,
    /// Instructions that all threads executed; `None` if it is not known exactly.
    pub executed: Option<u64>,
}

/// What is estimated from windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// Whether windows were taken of the whole execution, or up to the ends of threads' last windows only.
    pub is_whole: bool,
    /// Instructions of what it is of.
    pub instructions: u64,
    /// Cycles per instruction.
    pub cpi: Estimate,
}

impl Sampled {
    /// Cycles of all these instructions.
    pub fn cycles(&self) -> Estimate {
        let of = |cpi: f64| cpi * self.instructions as f64;
        Estimate { value: of(self.cpi.value), low: of(self.cpi.low), high: of(self.cpi.high) }
    }
}

/// How much of its run a simulation is of, and what follows from that; the second is nothing where windows have no gaps
/// between them, or are fewer than [`FEWEST`]. Nothing where windows are not known, as of older profiles.
pub fn sampled(profile: &Profile, simulation: SimulationId) -> Option<(Coverage, Option<Sampled>)> {
    let windows = windows(profile, simulation);
    let coverage = coverage(&windows, profile.simulations[simulation.index()].executed)?;
    Some((coverage, estimate(&windows, &coverage, profile.simulations[simulation.index()].part)))
}

fn windows(profile: &Profile, simulation: SimulationId) -> Vec<SimulatedWindow> {
    let is_of = |window: &&SimulatedWindow| {
        profile.simulated_threads[window.thread.index()].simulation == simulation && window.instructions > 0
    };
    profile.simulated_windows.iter().filter(is_of).copied().collect()
}

/// Nothing without windows.
fn coverage(windows: &[SimulatedWindow], executed: Option<u64>) -> Option<Coverage> {
    let mut ends: BTreeMap<SimulatedThreadId, u64> = BTreeMap::new();
    for window in windows {
        let end = ends.entry(window.thread).or_default();
        *end = window.end().max(*end);
    }
    let coverage = Coverage {
        windows: windows.len(),
        threads: ends.len(),
        simulated: sum(windows.iter().map(|window| window.instructions)),
        reached: sum(ends.into_values()),
        executed,
    };
    (coverage.windows > 0).then_some(coverage)
}

impl Coverage {
    /// Instructions behind the last windows of threads, and of threads that have none; `None` if it is not known.
    pub fn left(&self) -> Option<u64> {
        Some(self.executed?.saturating_sub(self.reached))
    }

    /// Whether all that was executed was simulated.
    pub fn is_everything(&self) -> bool {
        self.executed.is_some_and(|executed| executed <= self.simulated)
    }

    /// Whether windows were taken of the whole execution: less is left than would have made another window of each thread,
    /// and little enough for one that has [`FEWEST`].
    fn is_whole(&self, part: SimulatedPart) -> bool {
        let period = part.skipped.saturating_add(part.length.unwrap_or(u64::MAX));
        let most = period.saturating_mul(self.threads as u64);
        self.left()
            .zip(self.executed)
            .is_some_and(|(left, executed)| left < most && left.saturating_mul(FEWEST as u64) <= executed)
    }
}

fn estimate(windows: &[SimulatedWindow], coverage: &Coverage, part: SimulatedPart) -> Option<Sampled> {
    // What is simulated to the end of each thread lies behind what passes, and is no sample of both.
    part.length?;
    let is_whole = coverage.is_whole(part);
    let instructions = coverage.executed.filter(|_| is_whole).unwrap_or(coverage.reached);
    // Without gaps between them nothing was left out but what lies behind the last, of which none is.
    if windows.len() < FEWEST || part.skipped == 0 || coverage.simulated >= instructions {
        return None;
    }
    let pairs = windows.iter().map(|window| (window.cycles as f64, window.instructions as f64));
    let cpi = ratio(&pairs.collect::<Vec<_>>(), coverage.simulated as f64 / instructions as f64)?;
    Some(Sampled { is_whole, instructions, cpi })
}

/// The ratio of two sums of which parts were seen, with limits: `seen` is the share of the second sum that was.
fn ratio(pairs: &[(f64, f64)], seen: f64) -> Option<Estimate> {
    let above: f64 = pairs.iter().map(|pair| pair.0).sum();
    let below: f64 = pairs.iter().map(|pair| pair.1).sum();
    let freedom = pairs.len() as f64 - 1.0;
    let value = above / below;
    let residuals: f64 = pairs.iter().map(|pair| (pair.0 - value * pair.1).powi(2)).sum();
    let variance = (1.0 - seen) * pairs.len() as f64 * residuals / freedom / below.powi(2);
    let deviations = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf((1.0 + CONFIDENCE) / 2.0);
    let range = deviations * variance.sqrt();
    Some(Estimate { value, low: (value - range).max(0.0), high: value + range })
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 0.001 * want.abs(), "{got} is not {want}");
    }

    fn window(thread: u32, first_instruction: u64, instructions: u64, cycles: u64) -> SimulatedWindow {
        SimulatedWindow { thread: SimulatedThreadId(thread), first_instruction, instructions, cycles }
    }

    /// Half of them take a cycle an instruction, half three.
    fn phases() -> Vec<SimulatedWindow> {
        (0..30).map(|at| window(0, 900 + 1000 * at, 100, if at < 15 { 100 } else { 300 })).collect()
    }

    const PART: SimulatedPart = SimulatedPart { skipped: 900, length: Some(100), windows: None };

    /// By hand: residuals of ±100 around 2, so a variance of 300,000 / 29 between windows; of their mean 0.9 / 30 of that, in
    /// cycles of 100 instructions; 2.0452 is the quantile of Student's distribution with 29 degrees of freedom.
    #[test]
    fn limits_are_those_of_the_ratio() {
        let windows = phases();
        let coverage = coverage(&windows, Some(30_400)).unwrap();
        assert_eq!((coverage.simulated, coverage.reached, coverage.left()), (3000, 30_000, Some(400)));
        let Sampled { is_whole, instructions, cpi } = estimate(&windows, &coverage, PART).unwrap();
        assert_eq!((is_whole, instructions, cpi.value), (true, 30_400, 2.0));
        let range = 2.0452 * f64::sqrt((1.0 - 3000.0 / 30_400.0) / 30.0 * 300_000.0 / 29.0) / 100.0;
        near(cpi.high - cpi.value, range);
        near(cpi.value - cpi.low, range);
        near(estimate(&windows, &coverage, PART).unwrap().cycles().high, (2.0 + range) * 30_400.0);
    }

    /// A window of half the length has half the weight, and is no outlier for having half the cycles.
    #[test]
    fn short_windows_weigh_less() {
        let even: Vec<_> = (0..10)
            .map(|at| (if at == 9 { 100.0 } else { 200.0 }, if at == 9 { 50.0 } else { 100.0 }))
            .collect();
        assert_eq!(ratio(&even, 0.0), Some(Estimate { value: 2.0, low: 2.0, high: 2.0 }));
        let more = ratio(&[(300.0, 100.0), (50.0, 50.0)], 0.0).unwrap();
        near(more.value, 350.0 / 150.0);
    }

    #[test]
    fn few_windows_have_no_limits_and_whole_executions_need_none() {
        let told = |windows: &[SimulatedWindow], executed, part| {
            estimate(windows, &coverage(windows, executed).unwrap(), part)
        };
        assert_eq!(told(&phases()[..29], Some(30_000), PART), None);
        // One behind the other: nothing was left out of what they reach.
        let all: Vec<_> = (0..30).map(|at| window(0, 100 * at, 100, 100)).collect();
        let of_all = SimulatedPart { skipped: 0, length: Some(100), windows: Some(30) };
        assert_eq!(told(&all, Some(3000), of_all), None);
        assert_eq!(told(&all, Some(3050), of_all), None, "the rest is no sample of the whole");
        assert_eq!(told(&all, Some(5000), of_all), None);
        assert!(coverage(&all, Some(3000)).unwrap().is_everything());
        assert!(!coverage(&all, Some(3001)).unwrap().is_everything());
        let rest = SimulatedPart { skipped: 900, length: None, windows: Some(1) };
        assert_eq!(told(&phases(), Some(30_000), rest), None);
        assert_eq!(coverage(&[], Some(1)), None);
    }

    #[test]
    fn what_lies_behind_the_last_window_is_not_estimated() {
        let of = |executed: Option<u64>| {
            let windows = phases();
            let told = estimate(&windows, &coverage(&windows, executed).unwrap(), PART).unwrap();
            (told.is_whole, told.instructions)
        };
        assert_eq!(of(Some(30_999)), (true, 30_999));
        assert_eq!(of(Some(31_000)), (false, 30_000), "there was room for another window");
        assert_eq!(of(None), (false, 30_000));
    }

    /// Of two threads there is less left than a window of each, but of threads without windows it may be a large part.
    #[test]
    fn threads_without_windows_are_left_out() {
        let windows: Vec<_> =
            (0..30).map(|at| window(at as u32 % 2, 900 + 1000 * (at / 2), 100, 100)).collect();
        let of = |executed| {
            let coverage = coverage(&windows, Some(executed)).unwrap();
            assert_eq!((coverage.threads, coverage.reached), (2, 30_000));
            estimate(&windows, &coverage, PART).unwrap().is_whole
        };
        assert!(of(31_000));
        assert!(!of(31_900), "more than a thirtieth");
    }
}
