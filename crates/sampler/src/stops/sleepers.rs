//! Where threads wait, found by looking at them from time to time.
//!
//! How long a thread waited in all follows from the scheduler's account of it: the time that it lived, less its CPU
//! time and the time that it was queued for a processor. Where it waited is what is found when it is looked at:
//! each wait that lasts until a look is charged with what the thread waited since the look before.

use super::family::Records;
use super::rests::{Rest, Rests};
use crate::record::{RawSample, Record};
use crate::roster::{Ended, Roster};
use crate::uneven::Uneven;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;
use timewise_callers::UserStack;
use timewise_image::Registers;
use timewise_target::cpu_time::{self, Turns};
use timewise_target::memory;

/// Between looks, on average.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks may take this part of the time; where there are many threads, they are looked at less often.
const COST_LIMIT: f64 = 0.01;

/// As much of a stack tells one wait from another.
const TELLING_BYTES: usize = 1024;

/// A thread that has no account has ended, though its record may still be on its way; after so long, that was lost.
const LOST_NS: u64 = 1_000_000_000;

/// Who knows the threads that are looked at.
pub trait Follower {
    /// What the scheduler did with a thread so far; `None` if it has ended.
    fn account(&self, pid: i32, tid: i32) -> Option<Turns>;

    /// Sees to it that the code at this address is known to whatever is recorded after this at the same moment.
    fn place(&mut self, pid: i32, address: u64, now_ns: u64, records: &mut Records);
}

/// Threads by process and id.
#[derive(Debug)]
pub struct Sleepers {
    threads: HashMap<(i32, i32), Sleeper>,
    rests: Rests,
    /// What all threads did since they were first seen.
    ran_ns: u64,
    queued_ns: u64,
    /// When to look next; at once at first. `None` where the system keeps no accounts of threads.
    due_ns: Option<u64>,
    uneven: Uneven,
}

/// What is known of a thread.
#[derive(Debug)]
pub struct Sleeper {
    /// What it had not waited before it was of concern: the moment, less its CPU time and its time in the queue.
    base_ns: u64,
    /// The last look at it.
    looked_ns: u64,
    turns: Turns,
    /// What of its waiting was accounted for.
    told_ns: u64,
    /// What it waited in places that are not known yet.
    untold_ns: u64,
    /// Where it was found last.
    place: Option<u64>,
    /// When it was found to have ended, of which nobody told.
    gone_ns: Option<u64>,
}

impl Sleepers {
    /// Begins with the threads that there are: what they did so far is of no concern.
    pub fn of(roster: &Roster, now_ns: u64, follower: &impl Follower) -> Sleepers {
        let (mut threads, mut present) = (HashMap::new(), HashMap::new());
        for (pid, tid, _) in roster.threads() {
            if let Some(turns) = follower.account(pid, tid) {
                *present.entry(pid).or_default() += turns.ran_ns;
                threads.insert((pid, tid), Sleeper::of(not_waited_ns(turns, now_ns), now_ns, turns));
            }
        }
        Sleepers {
            threads,
            rests: Rests::of(&present),
            ran_ns: 0,
            queued_ns: 0,
            due_ns: (!present.is_empty()).then_some(0),
            uneven: Uneven::new(now_ns),
        }
    }

    /// Whether it is time to look.
    pub fn are_due(&self, now_ns: u64) -> bool {
        self.due_ns.is_some_and(|due_ns| now_ns >= due_ns)
    }

    /// How long it is until then.
    pub fn due_in(&self, now_ns: u64) -> Option<Duration> {
        self.due_ns.map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(now_ns)))
    }

    /// Looks at all threads: records what they waited, and gives those that may be stopped to learn with which
    /// callers they wait, with what is known without: what can be followed in so many bytes of the stack.
    pub fn look(
        &mut self,
        roster: &mut Roster,
        now_ns: u64,
        stack_bytes: usize,
        records: &mut Records,
        follower: &mut impl Follower,
    ) -> Vec<RawSample> {
        let begun = cpu_time::of_this_thread();
        let mut unknown = Vec::new();
        let mut present = HashMap::new();
        for (pid, tid, begun_ns) in roster.threads() {
            let Some((sleeper, turns)) = self.seen(pid, tid, begun_ns, now_ns, follower) else {
                continue;
            };
            *present.entry(pid).or_default() += turns.ran_ns;
            let line = line(pid, tid);
            if line.as_deref().is_some_and(runs) {
                continue;
            }
            sleeper.account(not_waited_ns(turns, now_ns));
            let sleep = line.and_then(|line| Sleep::of(pid, line));
            let before = std::mem::replace(&mut sleeper.place, sleep.as_ref().map(|sleep| sleep.telling));
            let known = before == sleeper.place;
            if before.is_some() && !known {
                // The wait of the look before went on until it ended; then, if there is another, that began.
                let kept_ns = if sleep.is_some() { sleeper.untold_ns / 2 } else { 0 };
                sleeper.untold_ns -= kept_ns;
                sleeper.tell(pid, tid, 0, now_ns, records);
                sleeper.untold_ns = kept_ns;
            }
            let Some(sleep) = sleep else { continue };
            if !known {
                let Some(sample) = sleep.sample(pid, tid, stack_bytes) else {
                    // It went on meanwhile: found elsewhere, it is charged with all of it.
                    sleeper.place = None;
                    continue;
                };
                follower.place(pid, sleep.instruction, now_ns, records);
                if sleep.may_be_disturbed() {
                    unknown.push(sample);
                    continue;
                }
                records.add(now_ns, Record::Waiting(sample));
            }
            sleeper.tell(pid, tid, 0, now_ns, records);
        }
        for (&(pid, tid), gone_ns) in self.threads.iter().filter_map(|(id, of)| Some((id, of.gone_ns?))) {
            if gone_ns + LOST_NS < now_ns {
                roster.end(pid, tid, gone_ns);
            }
        }
        self.settle(roster, now_ns, &present, records);
        let took = cpu_time::of_this_thread().saturating_sub(begun);
        let pause = took.div_f64(COST_LIMIT).max(PAUSE);
        self.due_ns = Some(now_ns + self.uneven.around(pause).as_nanos() as u64);
        unknown
    }

    /// Reads the account of a thread, which begins with it unless it was there before; `None` if it has ended.
    fn seen(
        &mut self,
        pid: i32,
        tid: i32,
        begun_ns: u64,
        now_ns: u64,
        follower: &impl Follower,
    ) -> Option<(&mut Sleeper, Turns)> {
        let sleeper = self.threads.entry((pid, tid)).or_insert_with(|| Sleeper::born(begun_ns));
        let Some(turns) = follower.account(pid, tid) else {
            sleeper.gone_ns.get_or_insert(now_ns);
            return None;
        };
        self.ran_ns += turns.ran_ns.saturating_sub(sleeper.turns.ran_ns);
        self.queued_ns += turns.queued_ns.saturating_sub(sleeper.turns.queued_ns);
        (sleeper.looked_ns, sleeper.turns, sleeper.gone_ns) = (now_ns, turns, None);
        Some((sleeper, turns))
    }

    /// Records what those waited that have ended, as far as it is known by now.
    fn settle(
        &mut self,
        roster: &mut Roster,
        now_ns: u64,
        present: &HashMap<i32, u64>,
        records: &mut Records,
    ) {
        let rest = |ended: Ended| {
            let sleeper = self.threads.remove(&(ended.pid, ended.tid));
            let sleeper = sleeper.unwrap_or_else(|| Sleeper::born(ended.begun_ns));
            let known_ns = sleeper.turns.ran_ns;
            (Rest::of(ended, sleeper), known_ns)
        };
        let ended = roster.take_ended().into_iter().map(rest).collect();
        let queued = self.queued_ns as f64 / self.ran_ns.max(1) as f64;
        for mut rest in self.rests.settle(ended, present, queued, roster) {
            rest.sleeper.tell(rest.pid, rest.tid, rest.span_ns, now_ns, records);
        }
    }

    /// Where a thread was found last is not known after all.
    pub fn forget(&mut self, pid: i32, tid: i32) {
        if let Some(sleeper) = self.threads.get_mut(&(pid, tid)) {
            sleeper.place = None;
        }
    }

    /// Records the rest, when there are no more looks: what was waited since the last one, too, by those who are
    /// still there or have only just ended.
    pub fn finish(
        &mut self,
        roster: &mut Roster,
        now_ns: u64,
        records: &mut Records,
        follower: &impl Follower,
    ) {
        if self.due_ns.is_none() {
            return;
        }
        let mut present = HashMap::new();
        for (pid, tid, begun_ns) in roster.threads().collect::<Vec<_>>() {
            match self.seen(pid, tid, begun_ns, now_ns, follower) {
                Some((sleeper, turns)) => {
                    *present.entry(pid).or_default() += turns.ran_ns;
                    if !line(pid, tid).as_deref().is_some_and(runs) {
                        sleeper.account(not_waited_ns(turns, now_ns));
                    }
                }
                None => {
                    let gone_ns = self.threads.get(&(pid, tid)).and_then(|sleeper| sleeper.gone_ns);
                    roster.end(pid, tid, gone_ns.unwrap_or(now_ns));
                }
            }
        }
        self.settle(roster, now_ns, &present, records);
        for ((pid, tid), mut sleeper) in self.threads.drain() {
            sleeper.tell(pid, tid, 0, now_ns, records);
        }
    }
}

/// The moment, less what a thread did instead of waiting.
fn not_waited_ns(turns: Turns, now_ns: u64) -> u64 {
    now_ns.saturating_sub(turns.ran_ns + turns.queued_ns)
}

impl Sleeper {
    /// One that was looked at last at a moment, with its account of then.
    fn of(base_ns: u64, looked_ns: u64, turns: Turns) -> Sleeper {
        Sleeper { base_ns, looked_ns, turns, told_ns: 0, untold_ns: 0, place: None, gone_ns: None }
    }

    /// One that begins.
    pub fn born(begun_ns: u64) -> Sleeper {
        Sleeper::of(begun_ns, begun_ns, Turns::default())
    }

    /// It ends: gives how long it was not looked at, which is taken for waiting.
    pub fn end(&mut self, ended_ns: u64) -> u64 {
        self.account(not_waited_ns(self.turns, ended_ns));
        ended_ns.saturating_sub(self.looked_ns)
    }

    /// Takes note of what it waited up to a moment.
    fn account(&mut self, not_waited_ns: u64) {
        // While it runs, the account of its CPU time lags; that is made good at the next look.
        let waited_ns = not_waited_ns.saturating_sub(self.base_ns).saturating_sub(self.told_ns);
        self.told_ns += waited_ns;
        self.untold_ns += waited_ns;
    }

    /// So much of that was no waiting.
    pub fn take_back(&mut self, not_waited_ns: u64) {
        self.untold_ns = self.untold_ns.saturating_sub(not_waited_ns);
    }

    /// Records it; so much of it at most follows from when it ended.
    fn tell(&mut self, pid: i32, tid: i32, unseen_ns: u64, now_ns: u64, records: &mut Records) {
        let duration_ns = std::mem::take(&mut self.untold_ns);
        if duration_ns > 0 {
            let (pid, tid, unseen_ns) = (pid as u32, tid as u32, unseen_ns.min(duration_ns));
            records.add(now_ns, Record::Waited { pid, tid, duration_ns, unseen_ns });
        }
    }
}

/// Where a thread waits at this moment, found without stopping it; `None` if it does not wait, or is gone.
pub fn where_it_waits(pid: i32, tid: i32, stack_bytes: usize) -> Option<RawSample> {
    line(pid, tid).and_then(|line| Sleep::of(pid, line))?.sample(pid, tid, stack_bytes)
}

/// A thread that waits, as the kernel shows it.
struct Sleep {
    system_call: i64,
    fourth_argument: u64,
    instruction: u64,
    stack_pointer: u64,
    telling: u64,
    /// The kernel's own words.
    line: String,
}

impl Sleep {
    /// `None` if the thread of the process runs.
    fn of(pid: i32, line: String) -> Option<Sleep> {
        let mut fields = line.split_whitespace();
        let system_call = fields.next()?.parse().ok()?;
        let numbers: Vec<u64> = fields
            .map(|field| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok())
            .collect::<Option<_>>()?;
        let [arguments @ .., stack, instruction] = &numbers[..] else { return None };
        let mut top = [0; TELLING_BYTES];
        let read = memory::read(pid, *stack, &mut top);
        let mut telling = DefaultHasher::new();
        (stack, instruction, &top[..read]).hash(&mut telling);
        Some(Sleep {
            system_call,
            fourth_argument: arguments.get(3).copied().unwrap_or_default(),
            instruction: *instruction,
            stack_pointer: *stack,
            telling: telling.finish(),
            line,
        })
    }

    /// Whether the kernel takes the wait up again, as if nothing had been, after the thread was stopped. Some waits
    /// would begin anew, and last longer.
    fn may_be_disturbed(&self) -> bool {
        match self.system_call {
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait => self.fourth_argument as i32 == -1,
            call => UNDISTURBED.contains(&call),
        }
    }

    /// What is known without stopping it. Of its registers that is only where it goes on and where its stack is,
    /// so that callers are found up to the first that needs its frame pointer. `None` if it went on meanwhile: its stack
    /// is of two moments then.
    fn sample(&self, pid: i32, tid: i32, stack_bytes: usize) -> Option<RawSample> {
        let mut stack = vec![0; stack_bytes];
        let read = memory::read(pid, self.stack_pointer, &mut stack);
        stack.truncate(read);
        if line(pid, tid).is_none_or(|line| line != self.line) {
            return None;
        }
        let registers = Registers::of_stack(self.instruction, self.stack_pointer);
        Some(RawSample {
            user_callers: vec![self.instruction],
            user_stack: (read > 0).then(|| Box::new(UserStack { registers, bytes: stack.into() })),
            ..RawSample::in_kernel(pid as u32, tid as u32)
        })
    }
}

/// Whether a thread runs by that, or would if a processor were free: since when it is queued for one is not in its account
/// until it gets one, so that what it waited before is made good when it waits the next time, or has ended.
fn runs(line: &str) -> bool {
    line.starts_with("running")
}

/// What the kernel tells of a thread that it holds: system call, arguments, stack pointer and instruction.
fn line(pid: i32, tid: i32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()
}

/// Calls that wait for as long as they would have, also when they are interrupted.
const UNDISTURBED: [libc::c_long; 24] = [
    libc::SYS_futex,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_pause,
    libc::SYS_rt_sigsuspend,
    libc::SYS_restart_syscall,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_flock,
    libc::SYS_fcntl,
    libc::SYS_msgrcv,
    libc::SYS_mq_timedreceive,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Else it would be in one row with its callers, and in another without.
    #[test]
    fn who_went_on_while_he_was_looked_at_was_not_found() {
        let pid = std::process::id() as i32;
        let (tell, told) = channel();
        let (wake, woken) = channel::<()>();
        let waiting = std::thread::spawn(move || {
            // SAFETY: takes no memory.
            tell.send(unsafe { libc::gettid() }).unwrap();
            woken.recv().unwrap();
        });
        let tid = told.recv().unwrap();
        let asleep = || line(pid, tid).filter(|line| line.starts_with(&libc::SYS_futex.to_string()));
        let sleep = loop {
            match asleep().and_then(|line| Sleep::of(pid, line)) {
                Some(sleep) => break sleep,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        let sample = sleep.sample(pid, tid, 4096).expect("it waits still");
        assert!(sample.user_stack.is_some_and(|stack| !stack.bytes.is_empty()));
        wake.send(()).unwrap();
        waiting.join().unwrap();
        assert_eq!(sleep.sample(pid, tid, 4096), None);
    }
}
