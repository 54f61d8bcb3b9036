//! What one sample costs the program, measured: a guest whose timer is emulated by a hypervisor
//! within a hypervisor can pay fifty times what bare metal pays, and the program would be slowed by
//! several per cent at a frequency that is unnoticeable elsewhere.

use crate::core_clock::run_chain;
use crate::options::Options;
use crate::source::Source;
use std::hint::black_box;
use std::io;
use std::time::Duration;
use timewise_target::perf::{Event, Ring, Watched, records, sys};

/// Samples a second while measuring: many enough to be felt.
const TRIAL_HZ: u32 = 20_000;
/// How long one measured piece of work takes undisturbed, about: shorter than the scheduler's turns, so that on a busy
/// machine most fit between two disturbances.
const PIECE: Duration = Duration::from_micros(500);
/// Rounds of the chain by which their number in a piece is found.
const FEW_ROUNDS: u64 = 1000;
/// Times that those are done, of which the fastest counts.
const FEW_TIMES: u32 = 4;
/// Pieces with and without samples, in turns, so that both meet the same machine. The fastest count: what else interrupts
/// them is not the sample's fault.
const PAIRS: u32 = 20;
/// Trials at most until one gives a cost that can be.
const TRIALS: u32 = 3;
/// No interrupt that records a sample takes less: what seems to is of work that was disturbed when it should not be.
const LEAST_COST: Duration = Duration::from_nanos(300);
/// Assumed where nothing was found out: more than most machines pay, and enough samples are left.
const CAUTIOUS_COST: Duration = Duration::from_micros(10);
/// Samples that are taken of a piece, if it takes no longer than one and a half.
const SAMPLES_OF_A_PIECE: u64 = 15;
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
/// their share of the program's time. An unknown cost is taken for a rather high one.
pub fn affordable_hz(options: &Options, cost: Option<Duration>) -> u32 {
    let Some(share) = options.cost_limit else { return options.frequency_hz };
    let affordable_hz = (share / cost.unwrap_or(CAUTIOUS_COST).as_secs_f64()).round() as u32;
    affordable_hz.max(LOWEST_HZ).min(options.frequency_hz)
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
/// trial is refused, the clock is too coarse for one, or the machine too busy. Takes about 25 ms a trial.
pub fn of_sample(source: &Source, options: &Options) -> Option<Duration> {
    let mut trial = source.clone();
    trial.whole_processors = false;
    trial.set_frequency(TRIAL_HZ);
    trial.attributes.set_inherit(0);
    let open = |&bytes: &usize| {
        // As much of the stack as a recording copies where it has room.
        trial.fill(bytes as u64 / SAMPLES_OF_A_PIECE, options);
        let event = Event::open(&trial.attributes, Watched::Caller, None).ok()?;
        Some((Ring::map(&event, bytes).ok()?, event))
    };
    let (mut ring, event) = RING_BYTES.iter().find_map(open)?;
    let few = (0..FEW_TIMES).map(|_| run_chain(FEW_ROUNDS)).min();
    let rounds = rounds_of_a_piece(few.unwrap_or_default())?;
    below_a_deep_stack(|| first_credible(|| try_out(&event, &mut ring, rounds).ok()?.cost()))
}

/// What `trial` gives, as soon as it is a cost that can be.
fn first_credible(mut trial: impl FnMut() -> Option<Duration>) -> Option<Duration> {
    (0..TRIALS).find_map(|_| trial().filter(|&cost| cost >= LEAST_COST))
}

/// How long the same work took.
struct Trial {
    undisturbed: Vec<Duration>,
    /// Each with the number of samples that were taken meanwhile.
    sampled: Vec<(Duration, u32)>,
}

/// Does pieces of so many rounds without and with samples.
fn try_out(event: &Event, ring: &mut Ring, rounds: u64) -> io::Result<Trial> {
    let mut trial = Trial { undisturbed: Vec::new(), sampled: Vec::new() };
    let mut bytes = Vec::new();
    for _ in 0..PAIRS {
        trial.undisturbed.push(run_chain(rounds));
        event.enable()?;
        let taken = run_chain(rounds);
        event.disable()?;
        bytes.clear();
        ring.drain_into(&mut bytes);
        let samples = records(&bytes).filter(|record| record.kind == sys::PERF_RECORD_SAMPLE).count();
        trial.sampled.push((taken, samples as u32));
    }
    Ok(trial)
}

impl Trial {
    /// What each sample cost where nothing else interrupted the work; `None` if none was taken. It is nothing if all pieces
    /// were disturbed that should not have been.
    fn cost(&self) -> Option<Duration> {
        let undisturbed = self.undisturbed.iter().min()?;
        let taken = self.sampled.iter().filter(|&&(_, samples)| samples > 0);
        taken.map(|&(taken, samples)| taken.saturating_sub(*undisturbed) / samples).min()
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose;

    #[test]
    fn what_work_takes_longer_is_the_cost_of_its_samples() {
        let cost = |undisturbed: &[u64], sampled: &[(u64, u32)]| {
            let sampled = sampled.iter().map(|&(us, samples)| (Duration::from_micros(us), samples));
            let undisturbed = undisturbed.iter().map(|&us| Duration::from_micros(us));
            Trial { undisturbed: undisturbed.collect(), sampled: sampled.collect() }.cost()
        };
        let us = |us| Some(Duration::from_micros(us));
        // Most pieces were disturbed, and not all had as many samples.
        assert_eq!(cost(&[2500, 500, 4500], &[(700, 10), (3000, 12), (625, 5)]), us(20));
        // Other work disturbed each piece that no samples should disturb.
        assert_eq!(cost(&[2500], &[(700, 10)]), us(0));
        assert_eq!(cost(&[500], &[(700, 0)]), None);
        assert_eq!(cost(&[], &[]), None);
    }

    #[test]
    fn what_no_interrupt_takes_is_no_measurement() {
        let found = |costs_ns: [u64; 4]| {
            let mut costs = costs_ns.into_iter();
            first_credible(|| costs.next().map(Duration::from_nanos))
        };
        assert_eq!(found([0, 200, 15_000, 2000]), Some(Duration::from_micros(15)));
        assert_eq!(found([2000, 15_000, 0, 0]), Some(Duration::from_micros(2)));
        assert_eq!(found([0, 0, 200, 15_000]), None);
        assert_eq!(first_credible(|| None), None);
    }

    #[test]
    fn a_clock_too_coarse_for_a_trial_gives_none() {
        assert_eq!(rounds_of_a_piece(Duration::from_micros(25)), Some(20_000));
        assert_eq!(rounds_of_a_piece(Duration::ZERO), None);
    }

    #[test]
    fn what_samples_cost_is_told_if_it_is_notable() {
        let at = |us, hz| notable(Duration::from_micros(us), hz);
        assert_eq!((at(4, 4000), at(0, 10_000)), (None, None));
        let told = at(20, 10_000).unwrap();
        assert!(told.contains("20 % more") && told.contains("--frequency 1000 it is 2 %"), "{told}");
    }

    /// How much it costs depends on the machine.
    #[test]
    fn what_can_be_sampled_can_be_tried() {
        let Ok((source, _)) = choose(&Options::default(), None) else { return };
        // On a busy machine a trial may come to nothing.
        let cost = (0..20).find_map(|_| of_sample(&source, &Options::default()));
        assert!(
            cost.is_some_and(|cost| cost > Duration::ZERO && cost < Duration::from_millis(1)),
            "{cost:?}"
        );
    }

    #[test]
    fn dear_samples_are_taken_less_often() {
        let options = Options { frequency_hz: 4000, cost_limit: Some(0.01), ..Options::default() };
        let at = |cost_us| affordable_hz(&options, Some(Duration::from_micros(cost_us)));
        assert_eq!([at(1), at(2), at(10), at(1000)], [4000, 4000, 1000, LOWEST_HZ]);
        // Not measured.
        assert_eq!(affordable_hz(&options, None), 1000);
        let unlimited = Options { cost_limit: None, ..options };
        assert_eq!(affordable_hz(&unlimited, Some(Duration::from_micros(10))), 4000);
    }
}
