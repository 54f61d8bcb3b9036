//! Where threads wait: with their callers where the program is sampled by stops, and without a stop beside a
//! sampler that follows the program by other means.

use super::family::{Family, Records};
use super::sleepers::Sleepers;
use super::{Purpose, Sampler};
use crate::options::Options;
use crate::record::{RawSample, Record, Stamped};
use crate::root::Root;
use timewise_target::cpu_time::monotonic_ns;
use timewise_target::halt::Held;

/// Looks at where threads wait while another samples where they compute.
pub struct Bystander {
    family: Family,
    sleepers: Sleepers,
    records: Records,
    /// As many of a stack are copied.
    stack_bytes: usize,
}

impl Bystander {
    /// Begins now, with a process and its descendants. `None` if the system does not tell of it.
    pub fn of(pid: i32, options: &Options) -> Option<Bystander> {
        let root = Root::of(pid as u32).ok()?;
        Some(Bystander {
            family: Family::of(&root)?,
            sleepers: Sleepers::default(),
            records: Records::default(),
            stack_bytes: options.unwound_bytes() as usize,
        })
    }

    /// Looks if it is time to. Gives records of waiting alone: of all else the other sampler tells.
    pub fn look(&mut self) -> impl Iterator<Item = Stamped> {
        let Bystander { family, sleepers, records, stack_bytes } = self;
        if sleepers.are_due(monotonic_ns()) {
            family.look(records, |_| {});
            let now_ns = monotonic_ns();
            for sleep in sleepers.look(family, now_ns, *stack_bytes, records) {
                records.add(now_ns, Record::Waiting(sleep));
            }
        }
        of_waiting(std::mem::take(&mut records.0))
    }

    /// The rest, when the program has ended.
    pub fn finish(mut self) -> impl Iterator<Item = Stamped> {
        self.sleepers.finish(&self.family, monotonic_ns(), &mut self.records);
        of_waiting(self.records.0)
    }
}

fn of_waiting(records: Vec<Stamped>) -> impl Iterator<Item = Stamped> {
    records.into_iter().filter(|of| matches!(of.record, Record::Waiting(_) | Record::Waited { .. }))
}

impl Sampler {
    /// Records what threads waited, if it is time to, and asks those to stop of which the callers are not known.
    pub(super) fn ask_sleepers(&mut self) {
        let now_ns = monotonic_ns();
        if !self.sleepers.are_due(now_ns) {
            return;
        }
        for sleep in self.sleepers.look(&mut self.family, now_ns, self.stack_bytes, &mut self.records) {
            if self.asked.ask(sleep.pid as i32, sleep.tid as i32, Purpose::Callers).is_err() {
                self.records.add(now_ns, Record::Waiting(sleep));
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
