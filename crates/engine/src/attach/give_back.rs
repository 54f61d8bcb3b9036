//! Giving a program back: its threads leave translated code and run natively, with all that they had before.

use super::visit::Visits;
use crate::arena::Arena;
use crate::census::{Census, Found, is_running, number_of};
use crate::count::CountError;
use crate::inject::saved;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use timewise_abi::RESERVED_HIGH;
use timewise_abi::process::{ProcessRecord, UNLIMITED, state};
use timewise_abi::thread::{self, Sequences, ThreadArea};
use timewise_abi::visit::{answer, task};
use timewise_target::attachable::{AttachError, lives};
use timewise_target::group::{self, Group};
use timewise_target::locking::Locks;
use timewise_target::restart::result_to_restart;
use timewise_target::rseq::Registration;
use timewise_target::trace::{Registers, Tracee};
use timewise_target::user_dispatch::Dispatch;

/// How long it is tried to stop a process's threads, and to have one more of them outside the runtime.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long that is tried in all: those that are out stand still meanwhile.
const LONGEST_PATIENCE: Duration = Duration::from_secs(300);

/// How long it is waited for the first step of processes that were just made. One that was killed before never takes it.
const BIRTH: Duration = Duration::from_secs(1);

/// How often a thread is to stand on its way out of the runtime: a signal that comes meanwhile takes it away.
const STANDS: u32 = 16;

/// How often it is looked for that.
const GLANCE: Duration = Duration::from_millis(1);

/// A thread on its way out.
pub struct Leaving {
    /// The thread, which stands.
    pub tracee: Tracee,
    /// Where it was stopped.
    pub stopped: Registers,
    /// Its thread area; none for a thread that runs natively.
    pub area: Option<*mut ThreadArea>,
}

/// Gives all processes under count back: a sentence for each that goes on under count, or for all of a kind.
pub fn give_back_all(arena: &Arena, visits: &Visits) -> Vec<String> {
    let mut giving = Giving::default();
    let mut deadline = Instant::now() + BIRTH;
    loop {
        // In this order: one that is born meanwhile is among those that run.
        let are_all_born = running(arena).all(|record| number_of(record) != 0);
        let open: Vec<_> = running(arena).filter(|record| giving.is_open(record)).collect();
        if open.is_empty() {
            if are_all_born || Instant::now() > deadline {
                return giving.kept();
            }
            std::thread::sleep(GLANCE);
            continue;
        }
        let census = Census::take(arena);
        for record in open {
            giving.give_back(arena, visits, record, census.find(record));
        }
        deadline = Instant::now() + BIRTH;
    }
}

/// How far it came.
#[derive(Default)]
struct Giving {
    /// Records whose processes were looked for: one that is not there has ended.
    looked_for: BTreeSet<*const ProcessRecord>,
    /// Processes of which it was tried.
    tried: BTreeSet<i32>,
    /// A sentence for each that goes on.
    kept: Vec<String>,
    /// Those that are hidden from us.
    hidden: BTreeSet<i32>,
}

impl Giving {
    fn is_open(&self, record: &ProcessRecord) -> bool {
        number_of(record) != 0 && !self.looked_for.contains(&std::ptr::from_ref(record))
    }

    /// Gives back the processes that this may be the record of, until it is given back itself: whichever they are, they
    /// are under count.
    fn give_back(&mut self, arena: &Arena, visits: &Visits, record: &ProcessRecord, found: Found) {
        self.looked_for.insert(record);
        for pid in found.counted {
            if is_running(record) && self.tried.insert(pid) {
                // One that never stands is let go of before the next one is stopped, which it may wait for.
                let given = group::apart(|| give_back(arena, visits, pid));
                given.unwrap_or_else(|error| self.keep(arena, pid, &error));
            }
        }
        if is_running(record) {
            self.hidden.extend(found.hidden);
        }
    }

    fn keep(&mut self, arena: &Arena, pid: i32, error: &CountError) {
        match arena.is_mapped_in(pid) {
            Ok(true) => self.kept.push(format!("process {pid} runs on under count: {error}")),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && lives(pid) => {
                self.hidden.insert(pid);
            }
            // It has ended, or executes another program by now.
            _ => {}
        }
    }

    /// What is to be said of all that go on.
    fn kept(mut self) -> Vec<String> {
        self.kept.extend(hidden(&self.hidden));
        self.kept
    }
}

/// What is to be said of processes that go on because they are hidden from us; nothing of none.
fn hidden(pids: &BTreeSet<i32>) -> Option<String> {
    let first = pids.first()?;
    let (who, whose) = match pids.len() {
        1 => (format!("process {first} runs on under count: it"), "its"),
        some => (format!("{some} processes, one of them {first}, run on under count: they"), "their"),
    };
    Some(format!(
        "{who} may no longer be traced by us (prctl(PR_SET_DUMPABLE), or another user is {whose} owner by now); as root \
         timewise gives such back, too"
    ))
}

/// Records of processes that execute translated code, or are about to.
fn running(arena: &Arena) -> impl Iterator<Item = &ProcessRecord> {
    arena.records().into_iter().filter(|&record| is_running(record))
}

fn give_back(arena: &Arena, visits: &Visits, pid: i32) -> Result<(), CountError> {
    let mut group = Group::stop(pid, PATIENCE)?;
    if shares(arena, &group) {
        // Another one's record has the number that it knows itself by.
        return Ok(());
    }
    let leaving = out_of_the_runtime(arena, visits, &mut group)?;
    let system = |what| move |cause| CountError::System { what, cause };
    let mut natives = Vec::new();
    for thread in &leaving {
        natives.push(native(visits, thread).map_err(system("take a thread out of translated code"))?);
    }
    let Some((last, area)) = leaving.iter().find_map(|thread| Some((thread.tracee, thread.area?))) else {
        return Err(AttachError::Gone(pid).into());
    };
    take_away(visits, last, area).map_err(system("take the runtime out of the program"))?;
    // SAFETY: within the file; its thread stands.
    let record = arena.process(unsafe { (*area).process });
    if let Some(record) = record {
        // One that may lock nothing any more has less locked, and has lost nothing.
        let _ = Locks(record.locks.load(Ordering::Relaxed) as i32).put_back(last);
    }
    for (thread, native) in leaving.iter().zip(&natives) {
        if let Some(sequence) = sequences(thread) {
            // Without them it goes slower ways, as in a kernel that does not have them.
            let _ = sequence.renew(thread.tracee);
        }
        if let Some(dispatch) = dispatch(thread) {
            // The kernel took it before.
            let _ = dispatch.renew(thread.tracee);
        }
        thread.tracee.set_registers(native).map_err(system("set registers"))?;
        group.keep_registers(thread.tracee.tid());
    }
    if let Some(record) = record {
        restore_limit(record, pid);
        record.state.store(state::ENDED, Ordering::Release);
    }
    Ok(())
}

/// Whether a process executes in the memory of another one, with which that is given back.
fn shares(arena: &Arena, group: &Group) -> bool {
    let area = |tracee: Tracee| arena.area_of(&tracee.registers().ok()?);
    // SAFETY: within the file; its thread stands, and the field stays as it is.
    group.tracees().into_iter().filter_map(area).any(|area| unsafe { (*area).sharing != 0 })
}

/// Lets threads run on that are at work in the runtime, until all stand outside: each is asked to stand on its way out,
/// or one that is in the runtime nearly all the time might never be found elsewhere.
fn out_of_the_runtime(arena: &Arena, visits: &Visits, group: &mut Group) -> Result<Vec<Leaving>, CountError> {
    let system = |cause| CountError::System { what: "look at a thread", cause };
    let last = Instant::now() + LONGEST_PATIENCE;
    let mut deadline = Instant::now() + PATIENCE;
    let mut fewest = usize::MAX;
    let mut moments = group::moments();
    loop {
        let (mut leaving, mut at_work) = (Vec::new(), Vec::new());
        let mut asked = None;
        for tracee in group.tracees() {
            if !group.stands(tracee.tid()) {
                at_work.push(tracee.tid());
                continue;
            }
            let stopped = tracee.registers().map_err(system)?;
            let area = arena.area_of(&stopped);
            if let Some(area) = area {
                // SAFETY: within the file; its thread stands.
                unsafe { ((*area).stopped, (*area).answer) = (saved(&stopped), answer::ASKED) };
                asked = asked.or(Some((tracee, area)));
            }
            leaving.push(Leaving { tracee, stopped, area });
        }
        if let Some((tracee, area)) = asked {
            visits.make(tracee, area, task::ASK).map_err(system)?;
        }
        leaving.retain(|Leaving { tracee, area, .. }| {
            // SAFETY: within the file; its thread stands.
            let is_at_work =
                |&area: &*mut ThreadArea| unsafe { (&raw const (*area).answer).read_volatile() } != answer::DONE;
            let Some(area) = area.filter(is_at_work) else { return true };
            // SAFETY: as above.
            unsafe { (*area).wanted.store(STANDS, Ordering::Relaxed) };
            at_work.push(tracee.tid());
            false
        });
        if at_work.is_empty() && group.all_stand()? {
            return Ok(leaving);
        }
        // As long as ever more are out, processors are short.
        if at_work.len() < fewest {
            (fewest, deadline) = (at_work.len(), last.min(Instant::now() + PATIENCE));
        }
        if Instant::now() > deadline {
            return Err(AttachError::Stuck(at_work.first().copied().unwrap_or(group.pid())).into());
        }
        group.run_on(&at_work, moments.next().unwrap_or_default())?;
    }
}

/// Takes a thread out of translated code: the registers with which it goes on natively.
///
/// # Errors
/// Those of `ptrace`.
pub fn native(visits: &Visits, thread: &Leaving) -> io::Result<Registers> {
    let Leaving { tracee, stopped, area } = thread;
    let rax = result_to_restart(*tracee, stopped);
    let Some(area) = *area else { return Ok(Registers { rax, ..*stopped }) };
    let came = visits.make(*tracee, area, task::LEAVE)?;
    // SAFETY: within the file; its thread stands, and wrote what is read.
    let (program, gs_base, values) = unsafe { ((*area).registers, (*area).gs_base, (*area).vectors) };
    if came == answer::VECTORS_IN_AREA {
        let mut vectors = tracee.vectors()?;
        let words = values.iter().flatten().flat_map(|&value| [value as u32, (value >> 32) as u32]);
        vectors.xmm_space.iter_mut().zip(words).for_each(|(place, word)| *place = word);
        tracee.set_vectors(&vectors)?;
    } else if came != answer::DONE {
        return Err(io::Error::other("the runtime is not at home"));
    }
    // One that waits in the kernel on its way out is in no call of the program's.
    let orig_rax = if came == answer::VECTORS_IN_AREA { u64::MAX } else { stopped.orig_rax };
    let [r8, r9, r10, r11, r12, r13, r14, r15] = program.r8_to_r15;
    Ok(Registers {
        r8,
        r9,
        r10,
        r11,
        r12,
        r13,
        r14,
        r15,
        rdi: program.rdi,
        rsi: program.rsi,
        rbp: program.rbp,
        rbx: program.rbx,
        rdx: program.rdx,
        rax: if rax == stopped.rax { program.rax } else { rax },
        rcx: program.rcx,
        rsp: program.rsp,
        rip: program.rip,
        eflags: program.rflags,
        gs_base,
        orig_rax,
        ..*stopped
    })
}

/// The restartable sequences that the kernel is to know of again.
fn sequences(thread: &Leaving) -> Option<Registration> {
    // SAFETY: within the file; its thread stands.
    let Sequences { address, size, signature } = unsafe { (*thread.area?).sequences };
    (address != 0).then(|| Registration::new(address, size, signature))
}

/// Which system calls are to come to the program from now on.
fn dispatch(thread: &Leaving) -> Option<Dispatch> {
    // SAFETY: within the file; its thread stands.
    let thread::Dispatch { on, offset, length, selector, .. } = unsafe { (*thread.area?).dispatch };
    (on == 1).then(|| Dispatch::new(offset, length, selector))
}

/// Puts back what the process had, and unmaps all that is ours. No thread may be in it.
///
/// # Errors
/// Those of `ptrace`.
pub fn take_away(visits: &Visits, tracee: Tracee, area: *mut ThreadArea) -> io::Result<()> {
    visits.make(tracee, area, task::END)?;
    let Range { start, end } = RESERVED_HIGH;
    let arguments = [start, end - start, 0, 0, 0, 0];
    tracee.system_call(libc::SYS_munmap, arguments).map(drop)
}

/// The limit on the address space is what the program takes it for.
fn restore_limit(record: &ProcessRecord, pid: i32) {
    let [soft, hard] = record.address_limits.each_ref().map(|limit| limit.load(Ordering::Relaxed));
    if soft != UNLIMITED {
        crate::address_limit::put_back(pid, [soft, hard]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_are_hidden_are_told_of_in_one_sentence() {
        let said = |pids: &[i32]| hidden(&pids.iter().copied().collect());
        assert_eq!(said(&[]), None);
        assert!(said(&[7]).unwrap().starts_with("process 7 runs on under count: it may no longer be traced"));
        assert!(
            said(&[9, 7, 8]).unwrap().starts_with("3 processes, one of them 7, run on under count: they may")
        );
    }
}
