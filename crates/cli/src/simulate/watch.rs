//! What is seen of the commit stages of a run's cores.

use super::traced::Tracing;
use std::collections::BTreeMap;
use timewise_attribution::comparison::Findings;
use timewise_attribution::event_counts::EventCounts;
use timewise_attribution::policy::TimeProportional;
use timewise_attribution::{Comparison, Profiler, Schedule, Stacks};
use timewise_core_model::{Ended, Totals, Turn, Window};
use timewise_trace::{Doctor, Record, Recorder, Room, Seat, Worker};

/// What looks at the commit stage of a thread's core.
struct Watch {
    /// Every cycle, where nothing is compared with it.
    alone: Option<Profiler<TimeProportional>>,
    /// Every cycle, and what profilers find that sample.
    compared: Option<Comparison>,
    /// Executions.
    counts: EventCounts,
}

impl Watch {
    /// A watch that has seen nothing.
    fn new(schedule: Option<&Schedule>) -> Watch {
        Watch {
            alone: schedule.is_none().then(Profiler::oracle),
            compared: schedule.cloned().map(Comparison::new),
            counts: EventCounts::default(),
        }
    }
}

impl Worker<Record> for Watch {
    fn take(&mut self, part: &[Record]) {
        Worker::take(&mut self.alone, part);
        Worker::take(&mut self.compared, part);
        self.counts.take(part);
    }
}

/// What was seen of all cores, by the numbers that the simulation gives instructions.
#[derive(Default)]
pub struct Found {
    /// Cycle stacks, where nothing is compared with them.
    alone: Stacks,
    /// The same, and what profilers find that sample.
    pub compared: Option<Findings>,
    /// Executions.
    pub counts: EventCounts,
}

impl Found {
    /// Adds what was seen of one of them.
    fn add(&mut self, watch: &Watch) {
        self.counts.merge(&watch.counts);
        if let Some(alone) = &watch.alone {
            self.alone.merge(alone.stacks());
        }
        let Some(findings) = watch.compared.as_ref().map(Comparison::findings) else { return };
        match &mut self.compared {
            Some(all) => all.merge(&findings),
            none => *none = Some(findings),
        }
    }

    /// Cycle stacks.
    pub fn stacks(&self) -> &Stacks {
        self.compared.as_ref().map_or(&self.alone, |compared| &compared.reference)
    }
}

/// A thread of a program, on a core of its own.
pub struct Thread {
    /// The process image, as streams name it.
    pub image: u64,
    /// Its place in the shared memory, likewise; one that began where another had ended has that one's.
    pub area: u64,
    /// Whether it is the one that its process began with.
    pub is_first: bool,
    /// Its id.
    pub tid: u32,
    /// What its core did.
    pub totals: Totals,
    /// The same, window by window.
    pub windows: Vec<Window>,
}

/// Who watches the cores of a run, and what was seen of those that have ended.
pub struct Watching<'a> {
    schedule: Option<&'a Schedule>,
    tracing: Option<&'a mut Tracing>,
    seats: BTreeMap<Turn, Seat<Watch>>,
    threads: Vec<Thread>,
    found: Found,
}

impl<'a> Watching<'a> {
    /// No cores yet.
    pub fn new(schedule: Option<&'a Schedule>, tracing: Option<&'a mut Tracing>) -> Watching<'a> {
        let (seats, threads) = (BTreeMap::new(), Vec::new());
        Watching { schedule, tracing, seats, threads, found: Found::default() }
    }

    /// A thread's core begins.
    pub fn begin(&mut self, turn: Turn) -> Recorder {
        let mut doctor = Doctor::new(Room::default());
        self.seats.insert(turn, doctor.attach(Watch::new(self.schedule)));
        if let Some(tracing) = &mut self.tracing {
            tracing.attach(turn, &mut doctor);
        }
        Recorder::new(doctor)
    }

    /// A thread has ended.
    pub fn end(&mut self, thread: Ended<Recorder>) {
        let Ended { turn, image, area, pid, tid, observer, totals, windows } = thread;
        observer.finish();
        if let Some(seat) = self.seats.remove(&turn) {
            self.found.add(&seat.join());
        }
        if let Some(tracing) = &mut self.tracing {
            tracing.detach(turn);
        }
        self.threads.push(Thread { image, area, is_first: tid == pid, tid, totals, windows });
    }

    /// What there was, once all threads have ended.
    pub fn finish(self) -> (Vec<Thread>, Found) {
        (self.threads, self.found)
    }
}
