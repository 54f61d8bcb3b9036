//! `execve`: the new program is counted too, if the host can follow it there.
//!
//! The thread asks the host, which traces it until the new program stands at its first instruction, and
//! puts the runtime into it. A call that fails only makes the host let go.

use super::process::expect;
use crate::calls;
use crate::entry;
use crate::paths;
use crate::state::PROCESS;
use crate::sys::filter::is_confined;
use crate::sys::{call, number};
use core::sync::atomic::{AtomicU32, Ordering};
use timewise_abi::mailbox_state::{ASKED, FREE, GRANTED, TAKEN, WITHDRAWN};
use timewise_abi::thread::{ThreadArea, returned, state};
use timewise_abi::view::Shared;
use timewise_abi::{Mailbox, SharedHeader};

const AT_FDCWD: u64 = -100i64 as u64;
const WAIT: u64 = 0;
const WAKE: u64 = 1;

/// How long a silent host is waited for before it is looked whether it still lives.
const PATIENCE_NS: u64 = 100_000_000;

/// How often a free mailbox is looked for, each time after the others had their turn.
const ATTEMPTS: u32 = 100_000;

/// The thread is about to call `execve`.
pub fn execute(area: &mut ThreadArea) {
    // SAFETY: the shared file is mapped where the area says.
    let header = unsafe { Shared::at(area.shared) }.header();
    // Should the call fail, its confinement says too much.
    let mailbox = if is_confined() { None } else { take(header) };
    let Some(number) = mailbox else {
        // A host that follows no longer has all that it wants.
        if header.host_pid.load(Ordering::Acquire) != 0 {
            header.unfollowed.fetch_add(1, Ordering::Relaxed);
        }
        return super::native(area);
    };
    let mailbox = &header.mailboxes[number];
    ask(header, mailbox, area);
    if mailbox.state.load(Ordering::Acquire) != GRANTED {
        mailbox.state.store(FREE, Ordering::Release);
        return super::native(area);
    }
    PROCESS.with(|process| {
        let process = expect(process);
        let from = area.position.load(Ordering::Relaxed);
        calls::settle(process, area, (from, process.blocks[from as usize].instructions));
        paths::settle(process, area, 1);
    });
    area.mailbox = number as u32;
    area.returned = returned::EXEC;
    area.state.store(state::IN_SYSTEM_CALL, Ordering::Relaxed);
    area.resume = entry::system_call_and_return as *const () as u64;
}

/// The call failed: the host is to let go of the thread. It frees the mailbox.
pub fn failed(area: &ThreadArea) {
    PROCESS.with(|process| paths::settle(expect(process), area, -1));
    // SAFETY: as above.
    let header = unsafe { Shared::at(area.shared) }.header();
    header.mailboxes[area.mailbox as usize].state.store(WITHDRAWN, Ordering::Release);
    knock(header);
}

/// A mailbox that nobody uses; none if the host is gone, or if threads that were killed hold them all.
fn take(header: &SharedHeader) -> Option<usize> {
    for _ in 0..ATTEMPTS {
        if !alive(header) {
            break;
        }
        let take =
            |m: &Mailbox| m.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if let Some(number) = header.mailboxes.iter().position(take) {
            return Some(number);
        }
        // SAFETY: changes nothing.
        let _ = unsafe { call(number::SCHED_YIELD, [0; 6]) };
    }
    None
}

fn ask(header: &SharedHeader, mailbox: &Mailbox, area: &ThreadArea) {
    let r = &area.registers;
    let what = match r.rax {
        number::EXECVE => [AT_FDCWD, r.rdi, 0],
        _ => [r.rdi, r.rsi, r.r8_to_r15[0]],
    };
    for (place, value) in mailbox.what.iter().zip(what) {
        place.store(value, Ordering::Relaxed);
    }
    // The thread may have a new number since a fork by means that the runtime does not know.
    // SAFETY: changes nothing.
    let tid = unsafe { call(number::GETTID, [0; 6]) }.unwrap_or(0);
    mailbox.tid.store(tid as u32, Ordering::Relaxed);
    mailbox.thread.store(area.this - area.shared, Ordering::Relaxed);
    mailbox.state.store(ASKED, Ordering::Release);
    knock(header);
    while mailbox.state.load(Ordering::Acquire) == ASKED && alive(header) {
        let timeout = [0u64, PATIENCE_NS];
        futex(&mailbox.state, WAIT, u64::from(ASKED), timeout.as_ptr() as u64);
    }
}

/// Wakes the host.
fn knock(header: &SharedHeader) {
    header.requests.fetch_add(1, Ordering::Release);
    futex(&header.requests, WAKE, 1, 0);
}

fn alive(header: &SharedHeader) -> bool {
    const EPERM: i32 = 1;
    let host = header.host_pid.load(Ordering::Acquire);
    // SAFETY: signal 0 is none: it only asks whether the process exists.
    let found = unsafe { call(number::KILL, [u64::from(host), 0, 0, 0, 0, 0]) };
    host != 0 && !found.is_err_and(|error| error.0 != EPERM)
}

fn futex(word: &AtomicU32, operation: u64, value: u64, timeout: u64) {
    // SAFETY: waits or wakes; changes nothing. An error means: look again.
    let _ = unsafe { call(number::FUTEX, [word.as_ptr() as u64, operation, value, timeout, 0, 0]) };
}
