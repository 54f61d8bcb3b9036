//! Beginnings and ends of threads and processes.
//!
//! A new thread gets a thread area of its own, and so does a process that shares this memory (`vfork`,
//! `posix_spawn`): it counts as a thread of the process that made it. A process with a copy of this
//! memory gets a record of its own, whose logs go on where its parent's stand. Signals are blocked
//! from before the area is prepared until the child runs on it; of a fork, those that the program ignores only until
//! the lock of the process is had.

use crate::calls;
use crate::dispatch::{enter, external, go_native};
use crate::entry::{self, SYSCALL_LENGTH};
use crate::kinds::{self, window};
use crate::lessons;
use crate::paths;
use crate::signal as signals;
use crate::state::{PROCESS, Process};
use crate::sys::memory;
use crate::sys::{call, number, signal};
use core::sync::atomic::Ordering;
use timewise_abi::process::state::ENDED;
use timewise_abi::signal::Stack;
use timewise_abi::thread::{Dispatch, Sequences, ThreadArea, returned, state};
use timewise_abi::view::Shared;
use timewise_abi::{Failure, NONE};

const CLONE_VM: u64 = 0x100;
const CLONE_SIGHAND: u64 = 0x800;
const CLONE_VFORK: u64 = 0x4000;
const CLONE_THREAD: u64 = 0x1_0000;

/// The thread makes a thread or a process.
pub fn create(area: &mut ThreadArea) {
    let kind = match flags(area) {
        Some(flags) if flags & CLONE_THREAD != 0 => returned::THREAD,
        Some(flags) if flags & CLONE_VM != 0 => returned::SHARING,
        Some(_) => returned::FORK,
        // The kernel cannot read the arguments either, and will say so.
        None => return super::native(area),
    };
    let Some(mask) = signals::block(area) else { return };
    area.mask = mask;
    area.returned = kind;
    let prepared = match kind {
        returned::FORK => PROCESS.with_and_keep(|process| {
            // The kernel drops what the program ignores, but not while it is blocked: a child's end would interrupt calls
            // of other threads. What is ignored stays so as long as the lock is kept.
            signal::set_mask(mask | !signals::ignored(area));
            lessons::learn(expect(process), area, area.position.load(Ordering::Relaxed));
            fork(expect(process), area)
        }),
        _ => PROCESS.with(|process| {
            let process = expect(process);
            let from = area.position.load(Ordering::Relaxed);
            process.share(area, from, waits(area));
            free_area(process, area)
        }),
    };
    let child = match prepared {
        Ok(child) => child,
        Err(failure) => {
            signal::set_mask(area.mask);
            if kind == returned::FORK {
                PROCESS.release();
            }
            // This thread and what it makes run on uncounted.
            area.resume = go_native(area, area.registers.rip - SYSCALL_LENGTH, failure, Some(area.mask));
            return;
        }
    };
    // SAFETY: the area was just taken, and its thread does not run yet.
    unsafe {
        (*child).registers = area.registers;
        (*child).position.store(area.position.load(Ordering::Relaxed), Ordering::Relaxed);
        (*child).wanted.store(0, Ordering::Relaxed);
        (*child).returned = kind;
        (*child).mask = area.mask;
        (*child).gs_base = area.gs_base;
        (*child).joined = if kind == returned::FORK { area.joined } else { 0 };
        (*child).sequences = if kind == returned::FORK { area.sequences } else { Sequences::default() };
        // Neither threads nor processes inherit it.
        (*child).dispatch = Dispatch::default();
        (*child).sharing =
            u32::from(kind == returned::SHARING || (kind == returned::THREAD && area.sharing == 1));
    }
    inherit(area, child, kind);
    area.child = child as u64;
    area.state.store(state::IN_SYSTEM_CALL, Ordering::Relaxed);
    // SAFETY: the shared file is mapped where the area says.
    let user_gs = unsafe { Shared::at(area.shared) }.header().user_gs == 1;
    area.resume = match user_gs {
        true => entry::system_call_with_child as *const () as u64,
        false => entry::system_call_with_child_by_kernel as *const () as u64,
    };
}

/// The process, once it is set up.
pub fn expect(process: &mut Option<Process>) -> &mut Process {
    process.as_mut().expect("set up before translated code ran")
}

/// The flags of a call that makes a thread or a process, as `clone` has them.
fn flags(area: &ThreadArea) -> Option<u64> {
    match area.registers.rax {
        number::FORK => Some(0),
        number::VFORK => Some(CLONE_VM | CLONE_VFORK),
        number::CLONE => Some(area.registers.rdi),
        _ => {
            let mut flags = [0; 8];
            let read = memory::read(area.registers.rdi, &mut flags);
            (read == flags.len()).then_some(u64::from_le_bytes(flags))
        }
    }
}

/// Whether the kernel holds the thread, which makes a process, until that has its own memory, or none.
fn waits(area: &ThreadArea) -> bool {
    area.returned == returned::SHARING && flags(area).is_some_and(|flags| flags & CLONE_VFORK != 0)
}

/// A record and an area for a forked process, whose logs and counters go on from the present ones.
fn fork(process: &mut Process, area: &mut ThreadArea) -> Result<*mut ThreadArea, Failure> {
    let shared = process.shared;
    let offset = shared.register_process(area.process)?;
    let record = shared.process(offset);
    let logs = [&process.record.blocks, &process.record.edges, &process.record.mappings];
    for ((mine, inherited), log) in record.inherited.iter().zip(&process.record.inherited).zip(logs) {
        let count = inherited.load(Ordering::Relaxed) + log.count.load(Ordering::Relaxed);
        mine.store(count, Ordering::Relaxed);
    }
    for (mine, inherited) in record.address_limits.iter().zip(&process.record.address_limits) {
        mine.store(inherited.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    record.attached.store(process.record.attached.load(Ordering::Relaxed), Ordering::Relaxed);
    record.counters.store(process.record.counters.load(Ordering::Relaxed), Ordering::Relaxed);
    let child = (area.shared + shared.register_thread(offset)?) as *mut ThreadArea;
    // SAFETY: just registered.
    calls::inherit(process, area, unsafe { &mut *child });
    Ok(child)
}

/// An area that no thread uses, of those that ended ones left, or a fresh one. Counters go on from where
/// they stand.
fn free_area(process: &mut Process, area: &ThreadArea) -> Result<*mut ThreadArea, Failure> {
    let shared = process.shared;
    let mut offset = process.record.latest_thread.load(Ordering::Acquire);
    while offset != 0 {
        // SAFETY: a registered area; the fields read are atomic.
        let candidate = unsafe { &*shared.thread(offset) };
        if candidate.state.load(Ordering::Acquire) == state::FREE {
            candidate.state.store(state::RUNNING, Ordering::Relaxed);
            return Ok(shared.thread(offset));
        }
        offset = shared.previous_thread(offset);
    }
    let fresh = shared.register_thread(area.process)?;
    let fresh = shared.thread(fresh);
    // SAFETY: just registered.
    unsafe { (*fresh).state.store(state::RUNNING, Ordering::Relaxed) };
    Ok(fresh)
}

/// What a child knows of signals: threads share what is to be done, a process starts with a copy.
fn inherit(area: &ThreadArea, child: *mut ThreadArea, kind: u32) {
    let flags = flags(area).unwrap_or(0);
    // SAFETY: the area was just taken, and its thread does not run yet.
    let child = unsafe { &mut *child };
    let actions = signals::actions(area);
    child.actions = match kind {
        returned::FORK => {
            // SAFETY: the shared file is mapped where the area says.
            let record = unsafe { Shared::at(area.shared) }.process(child.process);
            record.actions.copy_from(actions);
            (&raw const record.actions) as u64
        }
        returned::SHARING if flags & CLONE_SIGHAND == 0 => {
            child.own_actions.copy_from(actions);
            (&raw const child.own_actions) as u64
        }
        _ => area.actions,
    };
    if flags & signals::CLEARED != 0 {
        signals::clear(signals::actions(child));
    }
    child.handler_stack = match flags & (CLONE_VM | CLONE_VFORK) {
        CLONE_VM => Stack { flags: signals::SS_DISABLE, ..Stack::default() },
        _ => area.handler_stack,
    };
}

/// The thread goes back to before the system call that it is in, and makes it again.
pub fn again(area: &mut ThreadArea) {
    let address = area.registers.rip - SYSCALL_LENGTH;
    let from = area.position.load(Ordering::Relaxed);
    let result = PROCESS.with(|process| {
        let process = expect(process);
        let executed = process.blocks[from as usize].instructions - 1;
        external(process, area, from, executed, NONE)?;
        let registers = area.registers;
        kinds::cut(process, area, from, executed, &registers);
        enter(process, area, address)
    });
    area.resume = match result {
        Ok(Some(resume)) => resume,
        Ok(None) => address,
        Err(failure) => go_native(area, address, failure, Some(area.mask)),
    };
}

/// A new thread or process takes its first step, on its own area.
pub fn begin(area: &mut ThreadArea) {
    // SAFETY: both change nothing.
    let [pid, tid] = [number::GETPID, number::GETTID].map(|n| unsafe { call(n, [0; 6]) }.unwrap_or(0) as u32);
    area.tid.store(tid, Ordering::Relaxed);
    area.state.store(state::RUNNING, Ordering::Relaxed);
    if area.returned == returned::FORK {
        // The lock was taken by the thread of which this one is the copy.
        PROCESS.release();
        PROCESS.with(|process| {
            let process = expect(process);
            process.record = process.shared.process(area.process);
            process.lessons.begin();
            process.record.pid.store(pid, Ordering::Release);
        });
    }
    PROCESS.with(|process| {
        let process = expect(process);
        calls::start(process, area);
        calls::limit(process, area);
        paths::limit(process, area);
        window::start(process, area);
    });
    signals::begin(area);
    // As the kernel leaves it.
    area.registers.rcx = area.registers.rip;
    signal::set_mask(area.mask);
}

/// A thread or process was made, or could not be.
pub fn created(area: &mut ThreadArea) {
    let result = area.registers.rax as i64;
    // Before the lock is given back: what was ignored when others were blocked may not be from then on.
    signal::set_mask(area.mask);
    // SAFETY: the area that `create` prepared.
    let child = unsafe { &mut *(area.child as *mut ThreadArea) };
    match area.returned {
        returned::FORK => {
            if result < 0 {
                // Nobody need wait for its first step.
                // SAFETY: the shared file is mapped where the area says.
                let record = unsafe { Shared::at(area.shared) }.process(child.process);
                record.state.store(ENDED, Ordering::Release);
            }
            PROCESS.release();
        }
        _ if result < 0 => child.state.store(state::FREE, Ordering::Release),
        returned::SHARING if waits(area) => gone(child, result),
        _ => {}
    }
}

/// The process that shared this memory let go of it, by its end or by `execve`: the latter was its last
/// position here.
fn gone(child: &mut ThreadArea, pid: i64) {
    PROCESS.with(|process| {
        let in_call = child.state.load(Ordering::Acquire) == state::IN_SYSTEM_CALL;
        // If it ended by `exit`, the area may be another thread's by now.
        if in_call && i64::from(child.tid.load(Ordering::Relaxed)) == pid {
            last_position(expect(process), child);
            child.state.store(state::FREE, Ordering::Release);
        }
    });
}

/// Records that the thread got no further than the system call that it is in.
fn last_position(process: &mut Process, area: &mut ThreadArea) {
    let from = area.position.load(Ordering::Relaxed);
    let executed = process.blocks[from as usize].instructions;
    // Out of room for a record is noted where it happens; the thread is ending anyway.
    let _ = external(process, area, from, executed, NONE);
    calls::close(process, area, None);
    paths::end(process, area, paths::behind(process, from));
}

/// The thread ends here, or its whole process.
pub fn end(area: &mut ThreadArea) {
    // From here to its end no handler may find the thread on an area that is free.
    if signals::block(area).is_none() {
        return;
    }
    PROCESS.with(|process| last_position(expect(process), area));
    if area.registers.rax == number::EXIT_GROUP && area.sharing == 0 {
        area.state.store(state::STOPPED, Ordering::Release);
        signals::stop::others(area);
        PROCESS.with(|process| {
            let process = expect(process);
            calls::close_others(process, area);
            paths::close_others(process, area);
            process.record.state.store(ENDED, Ordering::Release);
        });
    }
    area.resume = entry::last_system_call as *const () as u64;
}
