//! What one sample costs the program, measured: a guest whose timer is emulated by a hypervisor
//! within a hypervisor can pay fifty times what bare metal pays, and the program would be slowed by
//! several per cent at a frequency that is unnoticeable elsewhere.

use crate::core_clock::run_chain;
use crate::options::Options;
use crate::source::Source;
use std::hint::black_box;
use std::time::Duration;
use timewise_target::perf::{Event, Ring, Watched};

/// Samples a second while measuring: many enough to be felt.
const TRIAL_HZ: u32 = 20_000;
/// How long one measured piece of work takes undisturbed, about.
const PIECE: Duration = Duration::from_millis(2);
/// Rounds of the chain by which their number in a piece is found.
const FEW_ROUNDS: u64 = 1000;
/// Pieces of which the fastest counts: what else interrupts them is not the sample's fault.
const PIECES: u32 = 5;
/// Sizes to try for the ring of the trial. The first holds all samples of a piece; into a full one nothing is
/// copied.
const RING_BYTES: [usize; 4] = [1 << 20, 512 << 10, 128 << 10, 16 << 10];
/// No more than this of a stack is ever copied.
const DEEP_STACK: usize = 64 << 10;
/// Of the program's time, from which on what samples cost is worth a word.
const NOTABLE_SHARE: f64 = 0.02;
/// However costly, fewer samples than this say too little.
const LOWEST_HZ: u32 = 250;

/// The frequency that `options` ask for, or a lower one if at `cost` a sample they would take more than
/// their share of the program's time. Where the cost is unknown, nothing speaks against the one asked
/// for.
pub fn affordable_hz(options: &Options, cost: Option<Duration>) -> u32 {
    let wanted_hz = options.frequency_hz;
    match (options.cost_limit, cost) {
        (Some(share), Some(cost)) if !cost.is_zero() => {
            let affordable_hz = (share / cost.as_secs_f64()).round() as u32;
            affordable_hz.max(LOWEST_HZ).min(wanted_hz)
        }
        _ => wanted_hz,
    }
}

/// What is to be said of samples that cost a notable share of the program's time, which counts as its own.
pub fn notable(cost: Duration, frequency_hz: u32) -> Option<String> {
    let share = cost.as_secs_f64() * f64::from(frequency_hz);
    let affordable = (NOTABLE_SHARE / cost.as_secs_f64()).round() as u32 / 10 * 10;
    (share > NOTABLE_SHARE).then(|| {
        format!(
            "a sample takes {:.0} microseconds here, so at {frequency_hz} Hz the program took {:.0} % more time than without, \
             and costs are too high by as much; with --frequency {affordable} it is 2 %",
            cost.as_secs_f64() * 1e6,
            100.0 * share
        )
    })
}

/// What one sample of `source` costs the thread that it interrupts, here and now, or `None` if a
/// trial is refused or the clock is too coarse for one. Takes about 20 ms.
pub fn of_sample(source: &Source) -> Option<Duration> {
    let mut trial = source.clone();
    trial.whole_processors = false;
    trial.set_frequency(TRIAL_HZ);
    trial.attributes.set_inherit(0);
    let event = Event::open(&trial.attributes, Watched::Caller, None).ok()?;
    let mut ring = RING_BYTES.iter().find_map(|&bytes| Ring::map(&event, bytes).ok())?;
    let mut records = Vec::new();
    let rounds = rounds_of_a_piece(fastest(FEW_ROUNDS, || {}))?;
    let undisturbed = fastest(rounds, || {});
    event.enable().ok()?;
    let sampled = below_a_deep_stack(|| {
        fastest(rounds, || {
            records.clear();
            ring.drain_into(&mut records);
        })
    });
    event.disable().ok()?;
    Some(for_each(undisturbed, sampled))
}

/// As many as a piece takes where [`FEW_ROUNDS`] took so long; `None` where that was less than the clock shows, since
/// the piece would have no end.
fn rounds_of_a_piece(few: Duration) -> Option<u64> {
    (!few.is_zero()).then(|| (FEW_ROUNDS as f64 * PIECE.as_secs_f64() / few.as_secs_f64()) as u64)
}

/// Has `work` done with as much stack above it as may be copied; the first frames of a thread have less.
#[inline(never)]
fn below_a_deep_stack<T>(work: impl FnOnce() -> T) -> T {
    let above = black_box([1_u8; DEEP_STACK]);
    let done = work();
    black_box(&above);
    done
}

/// What one sample costs where the same work took so long without and with [`TRIAL_HZ`] samples a second.
fn for_each(undisturbed: Duration, sampled: Duration) -> Duration {
    let samples = sampled.as_secs_f64() * f64::from(TRIAL_HZ);
    if samples > 0.0 { sampled.saturating_sub(undisturbed).div_f64(samples) } else { Duration::ZERO }
}

/// The fastest of a few pieces; `between` is done after each.
fn fastest(rounds: u64, mut between: impl FnMut()) -> Duration {
    let pieces = (0..PIECES).map(|_| {
        let taken = run_chain(rounds);
        between();
        taken
    });
    pieces.min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose;

    #[test]
    fn what_work_takes_longer_is_the_cost_of_its_samples() {
        // 40 samples.
        let cost = for_each(Duration::from_micros(1800), Duration::from_micros(2000));
        assert_eq!(cost, Duration::from_micros(5));
        // Other work disturbed the piece that no samples should disturb.
        assert_eq!(for_each(Duration::from_micros(2000), Duration::from_micros(1800)), Duration::ZERO);
        assert_eq!(for_each(Duration::ZERO, Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn a_clock_too_coarse_for_a_trial_gives_none() {
        assert_eq!(rounds_of_a_piece(Duration::from_micros(25)), Some(80_000));
        assert_eq!(rounds_of_a_piece(Duration::ZERO), None);
    }

    #[test]
    fn what_samples_cost_is_told_if_it_is_notable() {
        let at = |us, hz| notable(Duration::from_micros(us), hz);
        assert_eq!((at(4, 4000), at(0, 10_000)), (None, None));
        let told = at(20, 10_000).unwrap();
        assert!(told.contains("20 % more") && told.contains("--frequency 1000 it is 2 %"), "{told}");
    }

    /// How much it costs depends on the machine and on what else it does.
    #[test]
    fn what_can_be_sampled_can_be_tried() {
        let Ok((source, _)) = choose(&Options::default(), None) else { return };
        assert!(of_sample(&source).is_some());
    }

    #[test]
    fn dear_samples_are_taken_less_often() {
        let options = Options { frequency_hz: 4000, cost_limit: Some(0.01), ..Options::default() };
        let at = |cost_us| affordable_hz(&options, Some(Duration::from_micros(cost_us)));
        assert_eq!([at(0), at(1), at(2), at(10), at(1000)], [4000, 4000, 4000, 1000, LOWEST_HZ]);
        assert_eq!(affordable_hz(&options, None), 4000);
        let unlimited = Options { cost_limit: None, ..options };
        assert_eq!(affordable_hz(&unlimited, Some(Duration::from_micros(10))), 4000);
    }
}
