//! Where threads wait: with their callers where the program is sampled by stops, and without a stop beside a
//! sampler that follows the program by other means.

use super::family::Records;
use super::sleepers::{Follower, Sleepers};
use super::{Purpose, Sampler};
use crate::options::{LARGEST_STACK, Options};
use crate::record::{RawSample, Record, Stamped};
use crate::roster::Roster;
use std::time::Duration;
use timewise_target::cpu_time::{ThreadAccount, Turns, monotonic_ns};
use timewise_target::halt::Held;

/// Looks at where threads wait while another samples where they compute.
pub struct Bystander {
    sleepers: Sleepers,
    records: Records,
    /// As many of a stack are copied.
    stack_bytes: usize,
}

impl Bystander {
    /// Begins now, with the threads of a recording.
    pub fn of(roster: &Roster, options: &Options) -> Bystander {
        let sleepers = Sleepers::of(roster, monotonic_ns(), &Stranger);
        Bystander {
            sleepers,
            records: Records::default(),
            stack_bytes: options.unwound_bytes_of(LARGEST_STACK) as usize,
        }
    }

    /// How long it is until it is time to look.
    pub fn due_in(&self, now_ns: u64) -> Option<Duration> {
        self.sleepers.due_in(now_ns)
    }

    /// Looks if it is time to. Gives records of waiting alone: of all else the other sampler tells.
    pub fn look(&mut self, roster: &mut Roster) -> Vec<Stamped> {
        let Bystander { sleepers, records, stack_bytes } = self;
        let now_ns = monotonic_ns();
        if sleepers.are_due(now_ns) {
            for sleep in sleepers.look(roster, now_ns, *stack_bytes, records, &mut Stranger) {
                records.add(now_ns, Record::Waiting(sleep));
            }
        }
        std::mem::take(&mut records.0)
    }

    /// The rest, when the program has ended.
    pub fn finish(mut self, roster: &mut Roster) -> Vec<Stamped> {
        self.sleepers.finish(roster, monotonic_ns(), &mut self.records, &Stranger);
        self.records.0
    }
}

/// One to whom others tell what is mapped.
struct Stranger;

impl Follower for Stranger {
    /// Not kept open: there may be more threads than files that we may have.
    fn account(&self, pid: i32, tid: i32) -> Option<Turns> {
        ThreadAccount::open(pid, tid).ok()?.read()
    }

    fn place(&mut self, _: i32, _: u64, _: u64, _: &mut Records) {}
}

impl Sampler {
    /// Records what threads waited, if it is time to, and gives those of which the callers are not known.
    pub(super) fn look_at_sleepers(&mut self) -> Vec<RawSample> {
        let now_ns = monotonic_ns();
        let Sampler { family, sleepers, roster, records, stack_bytes, .. } = self;
        match sleepers.are_due(now_ns) {
            true => sleepers.look(roster, now_ns, *stack_bytes, records, family),
            false => Vec::new(),
        }
    }

    /// Asks threads to stop that wait.
    pub(super) fn ask_for_callers(&mut self, sleeps: Vec<RawSample>) {
        for sleep in sleeps {
            if self.asked.ask(sleep.pid as i32, sleep.tid as i32, Purpose::Callers).is_err() {
                self.records.add(monotonic_ns(), Record::Waiting(sleep));
            }
        }
    }

    /// Records with which callers a thread waits, that stands now.
    pub(super) fn find_callers(&mut self, pid: i32, tid: i32, held: Held) {
        let time_ns = monotonic_ns();
        let waits = held.in_system_call();
        let (user_callers, user_stack) = self.callers(pid, &held);
        if waits {
            self.family.place(pid, held.registers().rip, time_ns, &mut self.records);
        }
        self.release(held, Purpose::Callers);
        // It may have gone on before it was stopped; then it is found again if it waits again.
        if !waits {
            return self.sleepers.forget(pid, tid);
        }
        let sample = RawSample { user_callers, user_stack, ..RawSample::in_kernel(pid as u32, tid as u32) };
        self.records.add(time_ns, Record::Waiting(sample));
    }
}
