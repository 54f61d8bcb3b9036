//! Where threads wait, as switches of the kernel or looks from time to time tell.

use super::{Collector, chain};
use crate::record::RawSample;
use crate::waits::At;

impl Collector {
    /// A thread is about to leave its processor.
    pub(super) fn leaving(&mut self, raw: RawSample) {
        if let Some(thread) = self.thread(raw.pid, raw.tid) {
            self.spells.leaving(thread, raw);
        }
    }

    /// A thread left its processor.
    pub(super) fn left(&mut self, time_ns: u64, (pid, tid): (u32, u32), preempted: bool) {
        if let Some(thread) = self.thread(pid, tid) {
            let stack = self.spells.stack(thread).filter(|_| !preempted);
            let at = stack.and_then(|raw| self.place_of_wait(&raw));
            self.spells.left(thread, time_ns, preempted, at);
        }
    }

    /// A thread got a processor.
    pub(super) fn came(&mut self, time_ns: u64, (pid, tid): (u32, u32)) {
        if let Some(thread) = self.thread(pid, tid) {
            self.spells.came(thread, time_ns, &mut self.waits);
        }
    }

    /// A look found where a thread waits.
    pub(super) fn waiting(&mut self, raw: &RawSample) {
        if let Some(thread) = self.thread(raw.pid, raw.tid)
            && let Some(at) = self.place_of_wait(raw)
        {
            self.found_at.insert(thread, at);
            self.spells.found(thread, at);
        }
    }

    /// A thread waited there so long; so much of it follows from when it ended.
    pub(super) fn waited(&mut self, (pid, tid): (u32, u32), duration_ns: u64, unseen_ns: u64) {
        self.unseen_wait_ns += unseen_ns;
        if let Some(thread) = self.thread(pid, tid) {
            let at = self.found_at.get(&thread).copied().unwrap_or_default();
            self.waits.add(thread, at, None, duration_ns);
        }
    }

    /// The program has ended, or switches are no longer told of.
    pub fn finish_waits(&mut self, now_ns: u64) {
        self.spells.finish(now_ns, &mut self.waits);
    }

    /// There are no more looks: threads that none found waiting take their places from their like, other threads of the
    /// same process, or processes of the same parent.
    pub fn place_waits(&mut self) {
        let Collector { waits, threads, processes, .. } = self;
        waits.place_those_never_found(|id| {
            let thread = &threads[id.index()];
            let process = &processes[thread.process.index()];
            let parent = process.parent.filter(|_| process.pid == thread.tid);
            (parent.unwrap_or(thread.process), parent.is_some())
        });
    }

    /// Where in the program a thread is that the kernel holds.
    fn place_of_wait(&mut self, raw: &RawSample) -> Option<At> {
        let space = &self.tracked.get(&raw.pid)?.space;
        let mut frames = Vec::new();
        match &raw.user_stack {
            Some(stack) => {
                frames.extend(space.place(stack.registers.ip));
                if self.call_stacks.is_some() {
                    self.unwinder.callers(stack, space, &self.modules, &mut frames);
                }
            }
            None => {
                chain(&raw.user_callers, space, &mut frames);
            }
        }
        Some(match frames.split_first() {
            Some((&place, callers)) => (Some(place), self.stacks.intern(callers)),
            None => At::default(),
        })
    }
}
