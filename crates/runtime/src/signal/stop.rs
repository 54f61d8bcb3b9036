//! Before the process ends, its other threads are stopped, so that it is known where.
//!
//! A thread that is in a system call is left there: its position is known. One that runs gets a signal of
//! the runtime's own, which its handler takes for what it is. It is one of those two that the C library
//! keeps for itself and lets no program block.

use super::frame::Info;
use crate::state::PROCESS;
use crate::sys::filter::is_confined;
use crate::sys::{Errno, call, number};
use core::sync::atomic::{AtomicU32, Ordering};
use timewise_abi::thread::{ThreadArea, state};
use timewise_abi::view::Shared;

/// The signal that stops a thread.
const STOP: usize = 33;

/// How it differs from the same signal of anybody else's.
const CODE: i32 = -0x7477;

/// How long a thread is waited for at a time, and how often nothing may come of it.
const PATIENCE_NS: u64 = 1_000_000;
const ROUNDS: u32 = 30;

/// In how many rounds threads are asked again: some may be new, or have been between two states.
const AGAIN: u32 = 8;

/// Whether the signal asks the thread to stop.
pub fn is_asked_for(signal: usize, info: &Info) -> bool {
    signal == STOP && info.code == CODE
}

/// Stops all other threads of the process, as far as they can be within a moment. The calling thread is
/// past its last position, and holds no lock.
pub fn others(area: &ThreadArea) {
    if is_confined() {
        return;
    }
    // SAFETY: the shared file is mapped where the area says.
    let shared = unsafe { Shared::at(area.shared) };
    let Some(latest) = PROCESS.with(|process| {
        let process = process.as_ref()?;
        Some(process.record.latest_thread.load(Ordering::Acquire))
    }) else {
        return;
    };
    let mut waited = 0;
    let mut ask_now = true;
    while waited < ROUNDS {
        let mut offset = latest;
        let mut running = None;
        while offset != 0 {
            // SAFETY: a registered area; the fields read are atomic, or stay as they are.
            let other = unsafe { &*shared.thread(offset) };
            if other.this != area.this && other.sharing == 0 && runs(other) {
                if ask_now {
                    ask(other);
                }
                running = Some(&other.state);
            }
            offset = shared.previous_thread(offset);
        }
        let Some(running) = running else { return };
        let in_vain = wait(running);
        waited += u32::from(in_vain);
        ask_now = in_vain && waited % AGAIN == 0;
    }
}

fn runs(area: &ThreadArea) -> bool {
    area.state.load(Ordering::Acquire) == state::RUNNING
}

fn ask(area: &ThreadArea) {
    // SAFETY: changes nothing.
    let process = unsafe { call(number::GETPID, [0; 6]) }.unwrap_or(0);
    let info = Info::of(STOP, CODE);
    let thread = u64::from(area.tid.load(Ordering::Relaxed));
    let arguments = [process, thread, STOP as u64, (&raw const info) as u64, 0, 0];
    // SAFETY: the runtime's handler takes care of it.
    let _ = unsafe { call(number::RT_TGSIGQUEUEINFO, arguments) };
}

/// Waits until a thread no longer runs. True if it still does after a while.
fn wait(word: &AtomicU32) -> bool {
    const WAIT: u64 = 0;
    // It does not run any more, or the wait was interrupted.
    const CHANGED: Errno = Errno(11);
    const INTERRUPTED: Errno = Errno(4);
    let timeout = [0u64, PATIENCE_NS];
    let arguments = [word.as_ptr() as u64, WAIT, u64::from(state::RUNNING), timeout.as_ptr() as u64, 0, 0];
    // SAFETY: waits while the word says so; changes nothing.
    unsafe { call(number::FUTEX, arguments) }.is_err_and(|error| error != CHANGED && error != INTERRUPTED)
}

/// The calling thread, which is to stop, waits for the end; signals are blocked.
pub fn here(area: &ThreadArea) -> ! {
    const WAKE: u64 = 1;
    // SAFETY: wakes who waits for the thread to stop; changes nothing.
    let _ = unsafe { call(number::FUTEX, [area.state.as_ptr() as u64, WAKE, 1, 0, 0, 0]) };
    loop {
        // SAFETY: changes nothing.
        let _ = unsafe { call(number::PAUSE, [0; 6]) };
    }
}
