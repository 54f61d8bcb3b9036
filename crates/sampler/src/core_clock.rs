//! How fast the core runs, found without a PMU: a chain of dependent additions takes one cycle
//! each on every x86-64 core of the last twenty years, so its duration tells the frequency.
//!
//! The chain adds a register to a register. Additions of a constant, increments and `lea` with one
//! part would not do: recent cores fold several of them into one at register renaming.

use std::arch::asm;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use timewise_target::{cpu_time, machine};

use crate::options::Progress;

/// Additions in one round of the chain.
const ADDITIONS: u64 = 64;
/// Rounds of one measurement: about 25 µs, short enough to disturb nobody and a thousand times
/// what reading the time costs.
const ROUNDS: u64 = 1000;
/// Measurements of which the fastest counts: interrupts and a hypervisor only ever make it slower.
const ATTEMPTS: u32 = 4;
/// Between two probes while the program runs; with [`ATTEMPTS`] it costs 0.04 % of one processor.
const PROBE_PAUSE: Duration = Duration::from_millis(250);
/// A core that slept takes this long at most to reach its speed.
const WARM_UP: Duration = Duration::from_millis(30);
/// On a machine this crowded, a disturbed measurement must do.
const PATIENCE: Duration = Duration::from_secs(1);
/// Speeds this near each other mean that it has.
const STEADY: f64 = 0.003;

/// What the core's frequency was, in cycles per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreFrequency {
    /// Mean of all measurements.
    pub mean_hz: f64,
    /// Lowest of them.
    pub low_hz: f64,
    /// Highest of them.
    pub high_hz: f64,
}

/// Measures the frequency of the core that the caller runs on now, once it is awake.
pub fn measure() -> CoreFrequency {
    let started = Instant::now();
    let mut former = [0.0; 2];
    loop {
        let latest = match attempt_several() {
            Some(latest) => latest,
            None if started.elapsed() < PATIENCE => continue,
            None => frequency_hz(run_chain(ROUNDS)),
        };
        let steady = former.iter().all(|&hz| (hz / latest - 1.0_f64).abs() < STEADY);
        if steady || started.elapsed() > WARM_UP {
            return Probes { hz: vec![former[0], former[1], latest] }.summary(latest);
        }
        former = [former[1], latest];
    }
}

/// Cycles per second over the fastest of a few runs of the chain; `None` if each of them was
/// interrupted by other threads, as can happen on a crowded processor.
fn attempt_several() -> Option<f64> {
    (0..ATTEMPTS).filter_map(|_| run_chain_undisturbed()).min().map(frequency_hz)
}

fn frequency_hz(of_chain: Duration) -> f64 {
    (ADDITIONS * ROUNDS) as f64 / of_chain.as_secs_f64().max(1e-9)
}

/// How long the chain took, unless the thread was off its processor for over a tenth of that; a hypervisor's theft is
/// seen where it is known.
fn run_chain_undisturbed() -> Option<Duration> {
    let before = cpu_time::of_this_thread();
    let elapsed = run_chain(ROUNDS);
    let on_processor = cpu_time::of_this_thread().saturating_sub(before);
    (elapsed.mul_f64(0.9) < on_processor).then_some(elapsed)
}

/// Runs the chain and says how long it took. The loop's own counter and branch hide beside it: they
/// depend on nothing in it.
pub(crate) fn run_chain(rounds: u64) -> Duration {
    let started = Instant::now();
    // SAFETY: changes the named registers and flags only, touches no memory, and ends after
    // `rounds`, which is not zero.
    unsafe {
        asm!(
            "2:",
            ".rept {additions}",
            "add {chain}, {term}",
            ".endr",
            "dec {rounds}",
            "jnz 2b",
            additions = const ADDITIONS,
            chain = inout(reg) 0_u64 => _,
            term = in(reg) 3_u64,
            rounds = inout(reg) rounds.max(1) => _,
            options(nomem, nostack),
        );
    }
    started.elapsed()
}

/// Measures again and again beside a running program, on the processor that it was last seen on.
#[derive(Debug)]
pub struct Probe {
    stop: Sender<()>,
    thread: JoinHandle<Probes>,
}

#[derive(Debug, Default)]
struct Probes {
    hz: Vec<f64>,
}

impl Probes {
    /// `otherwise` where there was no measurement.
    fn summary(&self, otherwise: f64) -> CoreFrequency {
        let measured = || self.hz.iter().copied().filter(|&hz| hz > 0.0);
        match measured().count() {
            0 => CoreFrequency { mean_hz: otherwise, low_hz: otherwise, high_hz: otherwise },
            count => {
                let low_hz = measured().fold(f64::INFINITY, f64::min);
                let high_hz = measured().fold(0.0, f64::max);
                // Of equal ones the sum may be rounded up.
                let mean_hz = (measured().sum::<f64>() / count as f64).clamp(low_hz, high_hz);
                CoreFrequency { mean_hz, low_hz, high_hz }
            }
        }
    }
}

impl Probe {
    /// Measures once, then begins to probe beside the recording that reports to `progress`.
    ///
    /// # Errors
    /// The system's, if there can be no further thread.
    pub fn start(progress: Arc<Progress>) -> std::io::Result<Probe> {
        let before = measure();
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("core clock".into()).spawn(move || {
            let mut probes = Probes { hz: vec![before.mean_hz] };
            let mut seen = 0;
            while stopped.recv_timeout(PROBE_PAUSE) == Err(RecvTimeoutError::Timeout) {
                // While the program waits, its core idles at a speed that does not matter.
                let samples = progress.samples();
                if samples != seen {
                    seen = samples;
                    // Where moving is forbidden, any core tells more than none.
                    let _moved = machine::move_to_processor(progress.last_processor());
                    probes.hz.extend(attempt_several());
                }
            }
            probes
        })?;
        Ok(Probe { stop, thread })
    }

    /// Ends the probing, measures once more, and gives what all of it found. A program that ran for
    /// longer than a few probes is described by them alone: what an idle core does before and after
    /// says less.
    pub fn finish(self) -> CoreFrequency {
        drop(self.stop);
        let mut probes = self.thread.join().unwrap_or_default();
        let after = measure().mean_hz;
        const ENOUGH: usize = 4;
        if probes.hz.len() > ENOUGH {
            probes.hz.remove(0);
        } else {
            probes.hz.push(after);
        }
        probes.summary(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice the additions take twice as long, so nothing but the chain is measured; and no core
    /// that can run this is slower than 400 MHz or faster than 8 GHz.
    #[test]
    fn duration_is_proportional_to_the_chain() {
        // By turns, so that both meet the core at its fastest.
        let (long, short) = (0..200)
            .map(|_| (run_chain(2 * ROUNDS), run_chain(ROUNDS)))
            .reduce(|one, other| (one.0.min(other.0), one.1.min(other.1)))
            .unwrap();
        let ratio = long.as_secs_f64() / short.as_secs_f64();
        assert!((1.85..2.15).contains(&ratio), "{ratio}");
        let found = measure();
        assert!(found.low_hz > 4e8 && found.high_hz < 8e9, "{found:?}");
        assert!(found.low_hz <= found.mean_hz && found.mean_hz <= found.high_hz, "{found:?}");
    }

    #[test]
    fn the_mean_of_equal_speeds_is_that_speed() {
        let probes = Probes { hz: vec![3402807316.0357294; 3] };
        let CoreFrequency { mean_hz, low_hz, high_hz } = probes.summary(0.0);
        assert_eq!([mean_hz, low_hz], [high_hz; 2]);
    }

    #[test]
    fn idle_programs_are_not_probed() {
        let probe = Probe::start(Arc::default()).unwrap();
        std::thread::sleep(PROBE_PAUSE * 2);
        drop(probe.stop);
        assert_eq!(probe.thread.join().unwrap().hz.len(), 1);
    }
}
