//! All threads of a process that runs by itself, stopped where they are until they are let go; but not those in which the
//! kernel works for it.
//!
//! A signal on its way to a thread goes back to those that wait for it, as if it had come a moment later. One that
//! interrupted a system call is delivered before the thread stands, because what the call answers depends on it; else a
//! call that a thread was in is to be made again (`restart.rs`).

mod member;
#[cfg(test)]
mod tests;

use crate::attachable::AttachError;
use crate::cpu_time::ThreadAccount;
use crate::family;
use crate::restart;
use crate::seize::{ended, request, stop_of};
use crate::status::Status;
use crate::trace::Tracee;
use member::{Member, go_on, go_on_with_signal};
use std::time::{Duration, Instant};

/// How often threads are looked at that have not stopped yet.
const GLANCE: Duration = Duration::from_micros(50);

/// How long is waited at first until all threads have stopped.
const FIRST_ATTEMPT: Duration = Duration::from_millis(40);

/// How long is waited for threads that would stop if a processor were free.
const CROWDED: Duration = Duration::from_secs(60);

/// How long is waited for a processor for threads that are to run on.
const LONGEST_TURN: Duration = Duration::from_secs(1);

/// How long threads are waited for that are to be let go.
const NOTICE: Duration = Duration::from_secs(1);

/// What work on a thread of its own needs at most.
const STACK_BYTES: usize = 8 << 20;

/// How long they run on at least.
const SHORTEST_MOMENT: Duration = Duration::from_micros(100);

/// How long threads run on at a time that must get out of where they are: longer each time, because where a processor
/// is long in coming, nothing is done in a short one.
pub fn moments() -> impl Iterator<Item = Duration> {
    let longer = |moment: &Duration| Some((*moment * 2).min(Duration::from_millis(20)));
    std::iter::successors(Some(SHORTEST_MOMENT), longer)
}

/// All threads of a process. They belong to the thread of ours that stopped them. Dropped, those that stand run on as if
/// nothing had been, and the others when that thread of ours ends.
#[derive(Debug)]
pub struct Group {
    pid: i32,
    /// Whether it is a child of ours, whose end is not for us to take note of here.
    own_child: bool,
    members: Vec<Member>,
    gate: Option<u64>,
}

/// A thread that neither runs nor waits for a processor. One that was just on its way to where it stands, or waited for
/// a disk for a moment, has had a processor when it is looked at again.
struct Halted {
    tid: i32,
    turns: Option<u64>,
    since: Instant,
}

impl Group {
    /// Stops all threads of process `pid`, also those that appear meanwhile. Where one of them does not stop, they
    /// run on for a moment before it is tried again: it may wait for a child that waits for another of them.
    ///
    /// # Errors
    /// [`AttachError::Refused`] with the system's reason; [`AttachError::Stuck`] if one of them does not stop in
    /// `patience`, apart from the time for which threads wait for a processor; [`AttachError::Gone`]. All of them run on
    /// then, but one that does not stop belongs to the calling thread until that ends: see [`apart`].
    pub fn stop(pid: i32, patience: Duration) -> Result<Group, AttachError> {
        let (mut attempt, mut spent) = (FIRST_ATTEMPT, Duration::ZERO);
        loop {
            spent += attempt;
            match Group::stop_within(pid, attempt) {
                Err(AttachError::Stuck(_)) if spent < patience => std::thread::sleep(attempt / 4),
                other => return other,
            }
            spent += attempt / 4;
            attempt *= 2;
        }
    }

    fn stop_within(pid: i32, patience: Duration) -> Result<Group, AttachError> {
        let own_child = family::is_own_child(pid);
        let mut group = Group { pid, own_child, members: Vec::new(), gate: None };
        let deadline = Instant::now() + patience;
        let mut halted: Option<Halted> = None;
        loop {
            let found_new = group.take_up_new()?;
            let all_stand = group.look()?;
            if group.members.is_empty() {
                return Err(AttachError::Gone(pid));
            }
            if all_stand && !found_new {
                group.note_interrupted();
                group.gate = gate(pid);
                return Ok(group);
            }
            let now = Instant::now();
            if now > deadline {
                halted = group.halted(halted, now > deadline + CROWDED);
                if let Some(Halted { tid, since, .. }) = halted
                    && now.duration_since(since) >= patience / 4
                {
                    return Err(AttachError::Stuck(tid));
                }
            }
            if !all_stand {
                std::thread::sleep(GLANCE);
            }
        }
    }

    /// A thread that does not stand, and not because it waits for a processor, unless that counts as well: the one that
    /// was found `before` if it has not moved since.
    fn halted(&self, before: Option<Halted>, crowded_too: bool) -> Option<Halted> {
        let is_halted = |tid| crowded_too || !awaits_processor(self.pid, tid);
        let mut moving = self.members.iter().filter(|member| !member.stands).map(|member| member.tid);
        let still = |halted: &Halted| {
            let stands = self.stands(halted.tid);
            !stands && turns(self.pid, halted.tid) == halted.turns && is_halted(halted.tid)
        };
        before.filter(still).or_else(|| {
            let tid = moving.find(|&tid| is_halted(tid))?;
            Some(Halted { tid, turns: turns(self.pid, tid), since: Instant::now() })
        })
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Notes which threads were stopped in calls that any signal would end.
    fn note_interrupted(&mut self) {
        for member in &mut self.members {
            let registers = Tracee::new(member.tid).registers();
            member.interrupted = registers.is_ok_and(|registers| restart::was_interrupted(&registers));
        }
    }

    /// Those are let go last but for the first thread, when the others, late ones among them, are there again to be woken
    /// for signals that the program ignores.
    fn put_interrupted_last(&mut self) {
        self.members.get_mut(1..).unwrap_or_default().sort_by_key(|member| member.interrupted);
    }

    /// Threads that are let go before some in such calls, and how often they got a processor.
    fn to_go_before_others(&self) -> Vec<(i32, Option<u64>)> {
        let first = self.members.iter().rposition(|member| !member.interrupted).map_or(0, |last| last + 1);
        if first == self.members.len() {
            return Vec::new();
        }
        self.members[..first].iter().map(|&Member { tid, .. }| (tid, turns(self.pid, tid))).collect()
    }

    /// The threads, the first one first.
    pub fn tracees(&self) -> Vec<Tracee> {
        self.members.iter().map(|member| Tracee::new(member.tid).with_gate(self.gate)).collect()
    }

    /// From now on this thread goes on with the registers that were set, whatever they are.
    pub fn keep_registers(&mut self, tid: i32) {
        self.members.iter_mut().filter(|member| member.tid == tid).for_each(|member| member.changed = true);
    }

    /// Hands the threads over to whoever traces them on in the calling thread, with these options of `ptrace`: they stand as
    /// they are to go on, the first one first. One that was killed meanwhile is among them.
    pub fn into_tracees(mut self, options: i32) -> Vec<i32> {
        let members = std::mem::take(&mut self.members);
        let handed_over = members.into_iter().map(|member| {
            member.go_on_unharmed();
            let _ = request(libc::PTRACE_SETOPTIONS, member.tid, options as u64);
            member.tid
        });
        handed_over.collect()
    }

    /// Lets some threads run for a moment, with their signals, and asks them to stop again where they are then. One
    /// that waits in the kernel for another may not: [`Group::all_stand`] tells. A signal that comes at the end of the
    /// moment waits, or a thread would be found where its handler begins however often it is tried.
    ///
    /// # Errors
    /// As for [`Group::stop`].
    pub fn run_on(&mut self, tids: &[i32], moment: Duration) -> Result<(), AttachError> {
        let pid = self.pid;
        let mut before: Vec<_> = tids.iter().map(|&tid| (tid, turns(pid, tid))).collect();
        // One that does not stand yet may have come to where it is to get its own signals back.
        let standing = |member: &&mut Member| member.stands && tids.contains(&member.tid);
        for member in self.members.iter_mut().filter(standing) {
            member.stands = false;
            go_on(member.tid, 0);
        }
        let begun = Instant::now();
        let mut is_late = false;
        loop {
            std::thread::sleep(SHORTEST_MOMENT);
            // One that has had no processor since would stop where it stood.
            let is_over = begun.elapsed() >= moment && !before.iter().any(|&thread| awaits_turn(pid, thread));
            if is_over && is_late || begun.elapsed() > LONGEST_TURN {
                break;
            }
            let went_on = self.take_signals()?;
            if is_over && went_on.is_empty() {
                break;
            }
            // Where we come late, a signal that waited has kept its thread from running at all.
            is_late = is_over;
            for tid in went_on {
                before
                    .iter_mut()
                    .filter(|(other, _)| *other == tid)
                    .for_each(|(_, turn)| *turn = turns(pid, tid));
            }
        }
        // One that stands already, because it was asked before, must not be asked again: it would stop anew as soon as
        // it is to run on, however often.
        for member in self.members.iter().filter(|member| tids.contains(&member.tid) && !member.stands) {
            let _ = request(libc::PTRACE_INTERRUPT, member.tid, 0);
        }
        let deadline = Instant::now() + moment * 100;
        // One that waits in the kernel for another does not stop.
        while !self.look()? && Instant::now() < deadline {
            std::thread::sleep(GLANCE);
        }
        self.take_up_new()?;
        Ok(())
    }

    /// Whether a thread stands.
    pub fn stands(&self, tid: i32) -> bool {
        self.members.iter().any(|member| member.tid == tid && member.stands)
    }

    /// Whether all threads stand, those that have appeared meanwhile included.
    ///
    /// # Errors
    /// As for [`Group::stop`].
    pub fn all_stand(&mut self) -> Result<bool, AttachError> {
        let found_new = self.take_up_new()?;
        Ok(self.look()? && !found_new)
    }

    /// Asks threads to stop that were not seen before. Whether there were any. All are traced, the first one last, before one
    /// has to stand: instead of a traced one that stands, signals that the program ignores wake one that is not traced.
    fn take_up_new(&mut self) -> Result<bool, AttachError> {
        let known = self.members.len();
        let mut seized = Vec::new();
        for tid in family::threads(self.pid).into_iter().rev() {
            if self.members.iter().any(|member| member.tid == tid) || !can_stand(self.pid, tid) {
                continue;
            }
            match request(libc::PTRACE_SEIZE, tid, 0) {
                Ok(()) => seized.push(tid),
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) || has_ended(self.pid, tid) => {
                    continue;
                }
                // Ours still, from an attempt before in which it did not stop: asked to by this.
                Err(_) if request(libc::PTRACE_INTERRUPT, tid, 0).is_ok() => {}
                Err(error) => return Err(AttachError::refused(self.pid, error)),
            }
            self.members.push(Member {
                tid,
                stands: false,
                blocked: None,
                changed: false,
                interrupted: false,
            });
        }
        self.members[known..].reverse();
        for tid in seized.into_iter().rev() {
            // A failure means that it is gone, as is seen when it is looked at.
            let _ = request(libc::PTRACE_INTERRUPT, tid, 0);
        }
        Ok(self.members.len() > known)
    }

    /// Lets threads that stopped for signals go on with them: those threads.
    fn take_signals(&mut self) -> Result<Vec<i32>, AttachError> {
        let mut went_on = Vec::new();
        for member in self.members.iter_mut().filter(|member| !member.stands) {
            let stopped = stop_of(member.tid).map_err(|error| AttachError::refused(self.pid, error))?;
            let Some(status) = stopped else { continue };
            if !member.stands_by(status) {
                go_on_with_signal(member.tid, status);
                went_on.push(member.tid);
            }
        }
        Ok(went_on)
    }

    /// Takes note of those that stopped or ended. Whether all of them stand.
    fn look(&mut self) -> Result<bool, AttachError> {
        let mut at = 0;
        while at < self.members.len() {
            let Member { tid, stands, .. } = self.members[at];
            if stands {
                at += 1;
                continue;
            }
            match stop_of(tid) {
                Ok(Some(status)) => self.members[at].came_to(status),
                Ok(None) if ended(tid, self.pid, self.own_child).unwrap_or(true) => {
                    self.members.remove(at);
                    continue;
                }
                Ok(None) => {}
                Err(error) => return Err(AttachError::refused(self.pid, error)),
            }
            at += 1;
        }
        Ok(self.members.iter().all(|member| member.stands))
    }
}

/// Does work on a thread of its own. All threads that groups stop meanwhile belong to that, so that the kernel lets go of
/// those that never stood when it ends: nobody else can let go of a thread that does not stand. Where the system allows
/// no further thread the calling one does the work, as a program that is not given back is worse off.
///
/// # Panics
/// If the work does.
pub fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let mut work = Some(work);
    let mut begin = || work.take().map(|work| work());
    std::thread::scope(|scope| {
        // SAFETY: takes no memory.
        let numbered = || (unsafe { libc::gettid() }, begin());
        let thread =
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, numbered).ok()?;
        let (tid, done) = thread.join().unwrap_or_else(|fault| std::panic::resume_unwind(fault));
        // It has let go of its threads by when it is gone, which is later than that it can be joined.
        while family::threads(std::process::id() as i32).contains(&tid) {
            std::thread::sleep(GLANCE);
        }
        done
    })
    .or_else(begin)
    .expect("done by the one or the other")
}

impl Drop for Group {
    fn drop(&mut self) {
        let begun = Instant::now();
        self.put_interrupted_last();
        let mut before = self.to_go_before_others();
        loop {
            let mut at = 0;
            while at < self.members.len() {
                if !before.is_empty() && before.iter().all(|(tid, _)| *tid != self.members[at].tid) {
                    await_turns(self.pid, &std::mem::take(&mut before));
                }
                if self.members[at].let_go(self.pid, self.own_child) {
                    self.members.remove(at);
                } else {
                    at += 1;
                }
            }
            // One that went on now would do so with a mask that is not the program's.
            let is_owed = self.members.iter().any(|member| member.blocked.is_some());
            let patience = if is_owed { CROWDED } else { NOTICE };
            // Whoever was found to stand has been let go by then.
            if self.members.is_empty() || begun.elapsed() > patience {
                return;
            }
            std::thread::sleep(GLANCE);
            let _ = self.look();
        }
    }
}

/// Whether a thread runs, or would if a processor were free.
fn awaits_processor(pid: i32, tid: i32) -> bool {
    Status::of_thread(pid, tid).is_some_and(|status| status.running)
}

/// Whether a thread that got a processor so often waits for the next time.
fn awaits_turn(pid: i32, (tid, before): (i32, Option<u64>)) -> bool {
    before.is_some() && turns(pid, tid) == before && awaits_processor(pid, tid)
}

/// Waits until threads that got a processor so often got it again, if they wait for one.
fn await_turns(pid: i32, before: &[(i32, Option<u64>)]) {
    let begun = Instant::now();
    // To look at many may take long itself.
    let is_to_wait = || begun.elapsed() < LONGEST_TURN;
    while before.iter().any(|&thread| is_to_wait() && awaits_turn(pid, thread)) {
        std::thread::sleep(GLANCE);
    }
}

/// How often a thread got a processor; `None` where the kernel does not keep that, or if it is gone.
fn turns(pid: i32, tid: i32) -> Option<u64> {
    Some(ThreadAccount::open(pid, tid).ok()?.read()?.times)
}

/// Whether a thread executes the program's code, and can be made to stand there.
fn can_stand(pid: i32, tid: i32) -> bool {
    Status::of_thread(pid, tid).is_some_and(|status| !status.ended && !status.of_the_kernel)
}

fn has_ended(pid: i32, tid: i32) -> bool {
    Status::of_thread(pid, tid).is_none_or(|status| status.ended)
}

/// Address of a `syscall` instruction in the vDSO of a process, if there is one.
fn gate(pid: i32) -> Option<u64> {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let maps = crate::maps::executable(pid).ok()?;
    let vdso = maps.into_iter().find(|mapped| mapped.path == b"[vdso]")?;
    let mut code = vec![0; (vdso.end - vdso.start) as usize];
    let read = crate::memory::read(pid, vdso.start, &mut code);
    let at = code[..read].windows(2).position(|bytes| bytes == SYSCALL)?;
    Some(vdso.start + at as u64)
}
