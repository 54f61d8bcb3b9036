//! Rows of call stacks that threads waited with.

use super::stacked::{self, Joined, Stacked};
use super::{compact, compact_option};
use serde::{Serialize, Serializer};
use timewise_flow::Analysis;
use timewise_flow::names::Names;
use timewise_flow::waiting::{self, Programs, Threads, WaitingStack};

/// How threads waited with one stack.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Waited {
    /// Threads that waited so.
    #[serde(serialize_with = "number")]
    pub threads: Threads,
    /// How often they did; null if they were only looked at from time to time.
    #[serde(serialize_with = "compact_option")]
    pub times: Option<f64>,
    /// How long, all of them and all times together.
    #[serde(serialize_with = "compact")]
    pub duration_ns: f64,
}

impl Joined for Waited {
    fn join(&mut self, other: Waited) {
        self.threads.join(other.threads);
        self.times = self.times.zip(other.times).map(|(one, more)| one + more);
        self.duration_ns += other.duration_ns;
    }

    fn size(&self) -> f64 {
        self.duration_ns
    }
}

/// All stacks that threads waited with, longest first.
pub fn waits(analysis: &Analysis) -> Vec<Stacked<Waited>> {
    let profile = analysis.profile;
    let (names, programs) = (Names::of(profile), Programs::of(profile));
    let row = |WaitingStack { frames, threads, times, duration_ns }| {
        let waited = Waited { threads, times, duration_ns };
        Stacked::new(profile, &names, (&frames, waiting::culprit(profile, &programs, &frames)), waited)
    };
    stacked::all(waiting::stacks(profile).into_iter().map(row))
}

/// How long threads waited, all of them together, in nanoseconds.
pub fn waited_ns(rows: &[Stacked<Waited>]) -> f64 {
    rows.iter().map(|row| row.fields.duration_ns).sum()
}

/// Whether threads waited for a notable part of their time.
pub fn waiting_stands_out(analysis: &Analysis, rows: &[Stacked<Waited>]) -> bool {
    let waited = waited_ns(rows);
    waited > 0.0 && waited >= stacked::WORTH_SHOWING * waiting::threads_time_ns(analysis)
}

fn number<S: Serializer>(threads: &Threads, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(threads.count() as u64)
}
