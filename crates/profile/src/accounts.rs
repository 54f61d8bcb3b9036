//! Whether samples stand for the CPU time that the system accounted: the check that a sampling run saw all of the
//! program.

use crate::model::{ClockScope, Exit, ProcessId, Profile, Run, RunId, Sample};
use std::fmt;

/// A share of the time that is worth a word.
const NOTABLE_SHARE: f64 = 0.1;

/// How many times its standard error a sum of samples may be off, if it were that of as many independent ones.
/// Samples at even intervals do better.
const STANDARD_ERRORS: f64 = 3.0;

/// The longest tick of Linux. By what ticks meet, the system divides a thread's time into user's and its own: of one
/// that met none, all is one of both. Two are what a process that was attached to is accounted too much or too little.
const TICK_NS: f64 = 1e7;

/// Samples that stand for far less or far more CPU time than the system accounted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disagreement {
    sampled_ns: f64,
    accounted_ns: f64,
    /// Of the time accounted, only the user's was to be sampled.
    user_only: bool,
    cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cause {
    /// Each of so many threads was seen after a whole period only.
    ShortThreads { threads: usize, period_ns: f64 },
    /// Threads began and ended between two looks.
    BetweenLooks,
    /// Some samples are missing, for a reason that is not known.
    Missing,
    /// There are processes that the system does not account as the program's.
    Unaccounted,
}

impl Profile {
    /// How far the samples of a run are from what the system accounted, if that is more than chance and the way
    /// of accounting explain.
    pub fn disagreement(&self, run: RunId) -> Option<Disagreement> {
        let of_run = |process: ProcessId| self.processes[process.index()].run == run;
        let ours: Vec<bool> = self.threads.iter().map(|thread| of_run(thread.process)).collect();
        let samples = self.samples.iter().filter(|sample| ours[sample.thread.index()]);
        let threads = ours.iter().filter(|&&ours| ours).count();
        judge(&self.runs[run.index()], threads, Sampled::sum(samples))
    }

    /// The share of a run's time in user mode that no sample stands for because samples were lost, 0 to 1. More are not
    /// missing than were lost, of which some may have been other programs', and no more time than the system accounted
    /// beyond what the others stand for.
    pub fn missing_share(&self, run: RunId) -> f64 {
        let Run { lost_samples, user_ns, ref clock, .. } = self.runs[run.index()];
        if lost_samples == 0 {
            return 0.0;
        }
        let of_run = |sample: &&Sample| {
            let process = self.threads[sample.thread.index()].process;
            self.processes[process.index()].run == run
        };
        let (mut taken, mut sampled_ns) = (0.0, 0.0);
        for sample in self.samples.iter().filter(of_run) {
            taken += 1.0;
            sampled_ns += if sample.kernel { 0.0 } else { sample.weight_ns as f64 };
        }
        let lost_share = lost_samples as f64 / (lost_samples as f64 + taken);
        // What `perf` recorded has no account but that of its samples.
        let is_accounted = user_ns > 0 && clock.as_ref().is_some_and(|clock| clock.scope.is_some());
        match is_accounted && sampled_ns > 0.0 {
            true => lost_share.min(1.0 - sampled_ns / user_ns as f64).max(0.0),
            false => lost_share,
        }
    }
}

/// What all samples of a run come to.
#[derive(Clone, Copy, Debug, Default)]
struct Sampled {
    ns: f64,
    cycles: f64,
    in_kernel: bool,
}

impl Sampled {
    fn sum<'a>(samples: impl Iterator<Item = &'a Sample>) -> Sampled {
        samples.fold(Sampled::default(), |sum, sample| Sampled {
            ns: sum.ns + sample.weight_ns as f64,
            cycles: sum.cycles + sample.weight_cycles.unwrap_or_default() as f64,
            in_kernel: sum.in_kernel || sample.kernel,
        })
    }
}

fn judge(run: &Run, threads: usize, sampled: Sampled) -> Option<Disagreement> {
    let clock = run.clock.as_ref()?;
    let (user_ns, all_ns) = (run.user_ns as f64, run.user_ns as f64 + run.kernel_ns as f64);
    let period_ns = 1e9 / f64::from(clock.frequency_hz.max(1));
    // Where cycles are counted, they are so much time at least, and at most.
    let lasting = |hz: f64| sampled.ns + if clock.counts_cycles { sampled.cycles / hz * 1e9 } else { 0.0 };
    let (least_ns, most_ns) = (lasting(clock.core_hz_high), lasting(clock.core_hz_low));
    // Nobody accounts a process that is gone before it is waited for, or knows a core's frequency always.
    if all_ns == 0.0 || !most_ns.is_finite() {
        return None;
    }
    let short = matches!(clock.scope, Some(ClockScope::Threads | ClockScope::Looks))
        && threads as f64 * period_ns / 2.0 > NOTABLE_SHARE * all_ns;
    let accounted_ns = if sampled.in_kernel { all_ns } else { user_ns };
    // Where short threads are lost as well, nothing speaks for the program.
    let divided_wrongly_ns = if sampled.in_kernel || short { 0.0 } else { threads as f64 * TICK_NS };
    let chance_ns = STANDARD_ERRORS * (period_ns * all_ns).sqrt() + 2.0 * TICK_NS;
    let found_ns = most_ns + run.lost_samples as f64 * period_ns;
    let told = |sampled_ns, accounted_ns, user_only, cause| {
        Some(Disagreement { sampled_ns, accounted_ns, user_only, cause })
    };
    if found_ns < (1.0 - NOTABLE_SHARE) * (accounted_ns - divided_wrongly_ns) - chance_ns {
        let cause = match clock.scope {
            Some(ClockScope::Looks) => Cause::BetweenLooks,
            _ if short => Cause::ShortThreads { threads, period_ns },
            _ => Cause::Missing,
        };
        return told(most_ns, accounted_ns, !sampled.in_kernel, cause);
    }
    // Of a program that was attached to, the children are sampled and not accounted.
    if run.exit != Exit::Unknown && least_ns > (1.0 + NOTABLE_SHARE) * all_ns + chance_ns {
        return told(least_ns, all_ns, false, Cause::Unaccounted);
    }
    None
}

impl fmt::Display for Disagreement {
    /// What contradicts what, why, and what to do.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let seconds = |ns: f64| ns / 1e9;
        write!(
            f,
            "the samples stand for {:.2} s, the system accounted {:.2} s of CPU time{}: ",
            seconds(self.sampled_ns),
            seconds(self.accounted_ns),
            if self.user_only { " in user mode" } else { "" }
        )?;
        match self.cause {
            Cause::ShortThreads { threads, period_ns } => write!(
                f,
                "each of {threads} threads was seen only after its first {:.2} ms, so shares are wrong; raise \
                 --frequency, or have whole processors watched (timewise doctor, short threads, says what permits \
                 that)",
                period_ns / 1e6
            ),
            Cause::BetweenLooks => write!(
                f,
                "threads that began and ended between two looks were not seen, so shares are wrong; raise \
                 --frequency, or sample with performance events (timewise doctor says what permits them)"
            ),
            Cause::Missing => write!(
                f,
                "part of what the program did was not sampled, so shares may be wrong; record it again before \
                 relying on them"
            ),
            Cause::Unaccounted => write!(
                f,
                "it does not account processes that nobody waited for, or not before the program ended; times that \
                 come from the samples have them"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Clock, RunKind};

    const SECOND_NS: f64 = 1e9;

    /// What is said of a run of 4 s in user mode and 2 s in the kernel, sampled every millisecond.
    fn said(scope: ClockScope, threads: usize, sampled: Sampled) -> Option<Cause> {
        let clock = Clock {
            event: "cpu-clock:u".into(),
            counts_cycles: false,
            precise_level: 0,
            frequency_hz: 1000,
            scope: Some(scope),
            core_hz: 2e9,
            core_hz_low: 1.9e9,
            core_hz_high: 2.1e9,
        };
        let (user_ns, kernel_ns) = (4_000_000_000, 2_000_000_000);
        let run = Run {
            clock: Some(clock),
            user_ns,
            kernel_ns,
            exit: Exit::Code(0),
            ..Run::new(RunKind::Sampling)
        };
        let found = judge(&run, threads, sampled);
        // Of what was attached to, more may be sampled; and of what was lost, something is known.
        let attached = judge(&Run { exit: Exit::Unknown, ..run.clone() }, threads, sampled);
        assert_eq!(attached, found.filter(|found| found.cause != Cause::Unaccounted));
        assert_eq!(judge(&Run { user_ns: 0, kernel_ns: 0, ..run.clone() }, threads, sampled), None);
        let all_lost = judge(&Run { lost_samples: 6000, ..run.clone() }, threads, sampled);
        assert!(all_lost.is_none_or(|found| found.cause == Cause::Unaccounted));
        // The same in cycles, of which it is not known how long they are.
        let cycles = Sampled { ns: 0.0, cycles: sampled.ns * 2.0, ..sampled };
        let clock = run.clock.clone().map(|clock| Clock { counts_cycles: true, ..clock });
        if found.is_none() {
            assert_eq!(judge(&Run { clock: clock.clone(), ..run.clone() }, threads, cycles), None);
        }
        let clock = clock.map(|clock| Clock { core_hz_low: f64::NAN, ..clock });
        assert_eq!(judge(&Run { clock, ..run }, threads, cycles), None);
        found.map(|found| found.cause)
    }

    fn sampled(seconds: f64, in_kernel: bool) -> Sampled {
        Sampled { ns: seconds * SECOND_NS, cycles: 0.0, in_kernel }
    }

    #[test]
    fn what_chance_explains_is_no_disagreement() {
        for scope in [ClockScope::Processors, ClockScope::Threads, ClockScope::Looks] {
            assert_eq!(said(scope, 1, sampled(3.8, false)), None);
            // Where all is accounted to the user that met no tick, the kernel's part is part of it.
            assert_eq!(said(scope, 1, sampled(6.2, false)), None);
            assert_eq!(said(scope, 1, sampled(5.8, true)), None);
            assert_eq!(said(scope, 1, sampled(7.0, true)), Some(Cause::Unaccounted));
        }
    }

    #[test]
    fn what_is_missing_is_told_with_its_cause() {
        assert_eq!(said(ClockScope::Processors, 1, sampled(3.0, false)), Some(Cause::Missing));
        assert_eq!(said(ClockScope::Processors, 1, sampled(4.5, true)), Some(Cause::Missing));
        assert_eq!(said(ClockScope::Looks, 1, sampled(3.0, false)), Some(Cause::BetweenLooks));
        let short = Some(Cause::ShortThreads { threads: 2000, period_ns: 1e6 });
        assert_eq!(said(ClockScope::Threads, 2000, sampled(3.0, false)), short);
    }

    #[test]
    fn time_divided_by_ticks_is_not_missed() {
        // 300 processes of 20 ms that met no tick: all their time may have been accounted as the user's.
        assert_eq!(said(ClockScope::Processors, 300, sampled(1.0, false)), None);
        assert_eq!(said(ClockScope::Processors, 300, sampled(1.0, true)), Some(Cause::Missing));
        // Each of them is known but for its first millisecond.
        assert_eq!(said(ClockScope::Threads, 300, sampled(1.0, false)), None);
    }
}
