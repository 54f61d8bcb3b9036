//! Conditions for continuous integration: what must not grow by more than so much.
//!
//! ```text
//! elapsed>5%          the time from start to end
//! events>1%           events of all threads and processes
//! calls:openat>0%     system calls of one name
//! ```
//!
//! A gate fails where what it names grew by more than the given share of its mean in BASE, and where that is not chance:
//! where both sides have several runs, the lower limit of the difference's 95 % interval must exceed the share.

use crate::estimate::{Difference, Estimate};
use std::fmt;
use std::str::FromStr;
use timewise_profile::ends::{EndedOtherwise, ended_otherwise};
use timewise_profile::limit::Limit;
use timewise_profile::{OsEvent, Profile, RunKind};

/// What must not grow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Metric {
    /// Time from start to end.
    Elapsed,
    /// Events of all kinds.
    Events,
    /// System calls of this name.
    Calls(String),
}

/// A condition.
#[derive(Clone, PartialEq, Debug)]
pub struct Gate {
    /// What must not grow.
    pub metric: Metric,
    /// By which share of its mean in BASE it may grow.
    pub limit: Limit,
}

/// How a condition was judged.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Verdict {
    /// In an average run of BASE: nanoseconds, or how many.
    pub base: f64,
    /// In one of TEST.
    pub test: f64,
    /// How much more that is.
    pub difference: Difference,
    /// Whether it is more than the limit, beyond chance as far as that is known.
    pub fails: bool,
}

/// A condition cannot be judged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GateError {
    /// It is none.
    #[error("'{0}' is no condition: write elapsed>5%, events>1% or, for one system call, calls:NAME>0%")]
    Grammar(String),
    /// Chance is not known.
    #[error("one run of a side tells nothing of how much elapsed time varies: record several with --rounds")]
    OneRun,
    /// TEST did not end as BASE did.
    #[error(transparent)]
    EndedOtherwise(#[from] EndedOtherwise),
    /// A run has more events than were kept.
    #[error("{0} events of a run were not kept, so no condition can be judged: record less at a time")]
    Truncated(u64),
}

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Gate, GateError> {
        let wrong = || GateError::Grammar(text.to_string());
        let (what, limit) = Limit::split(text).ok_or_else(wrong)?;
        let metric = match what {
            "elapsed" => Metric::Elapsed,
            "events" => Metric::Events,
            calls => match calls.strip_prefix("calls:").map(str::trim) {
                Some(name) if !name.is_empty() => Metric::Calls(name.into()),
                _ => return Err(wrong()),
            },
        };
        Ok(Gate { metric, limit })
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match &self.metric {
            Metric::Elapsed => formatter.write_str("elapsed")?,
            Metric::Events => formatter.write_str("events")?,
            Metric::Calls(name) => write!(formatter, "calls:{name}")?,
        }
        self.limit.fmt(formatter)
    }
}

/// How many events of the first run that has too many were not kept.
pub fn truncated(profile: &Profile) -> Option<u64> {
    profile.runs_of(RunKind::Events).map(|run| run.lost_samples).find(|&lost| lost > 0)
}

impl Gate {
    /// Judges the condition.
    ///
    /// # Errors
    /// It cannot be judged.
    pub fn judge(&self, base: &Profile, test: &Profile) -> Result<Verdict, GateError> {
        if let Some(otherwise) = ended_otherwise(base, test) {
            return Err(otherwise.into());
        }
        if let Some(lost) = truncated(base).or(truncated(test)) {
            return Err(GateError::Truncated(lost));
        }
        let [base, test] = [base, test].map(|profile| Estimate::of(&self.amounts(profile)));
        let difference = Difference::between(base, test);
        if self.metric == Metric::Elapsed && difference.within.is_none() {
            return Err(GateError::OneRun);
        }
        // A number of events is exact of the one run that there is.
        let least = difference.amount - difference.within.unwrap_or(0.0);
        let fails = least > self.limit.0 * base.mean;
        Ok(Verdict { base: base.mean, test: test.mean, difference, fails })
    }

    /// Of each run.
    fn amounts(&self, profile: &Profile) -> Vec<f64> {
        if self.metric == Metric::Elapsed {
            return profile.runs_of(RunKind::Events).map(|run| run.elapsed_ns as f64).collect();
        }
        let counts = |event: &&OsEvent| match &self.metric {
            Metric::Calls(name) => {
                event.is_call() && event.name.is_some_and(|id| profile.os_name(id) == name.as_bytes())
            }
            Metric::Elapsed | Metric::Events => true,
        };
        let mut amounts = vec![0.0; profile.runs.len()];
        for event in profile.os_events.iter().filter(counts) {
            let process = profile.threads[event.thread.index()].process;
            amounts[profile.processes[process.index()].run.index()] += 1.0;
        }
        let of_runs = profile.runs.iter().zip(amounts).filter(|(run, _)| run.kind == RunKind::Events);
        of_runs.map(|(_, amount)| amount).collect()
    }
}
