//! Programs that restrict their system calls, or have them come to themselves: a filter, or a signal that nobody expects,
//! would end them for what the tracer calls. So before that is in force the tracer falls silent for good, in all threads.

use crate::events;
use crate::guard;
use crate::slot;
use core::sync::atomic::{AtomicU32, Ordering};
use timewise_abi::tracing::{TraceHeader, restriction};
use timewise_runtime::sys::call;

/// How long is waited for the host, which looks every forty milliseconds at least, and for other threads, in
/// milliseconds: if nobody answers, the host was killed, and its events are gone.
const PATIENCE_MS: u32 = 10_000;

/// A thread comes into the handler: false if it must make no system call there.
pub fn enter(header: &TraceHeader) -> bool {
    // In one order with what `announce` does: either it sees this thread inside, or this thread its announcement.
    header.inside.fetch_add(1, Ordering::SeqCst);
    !is_restricted(header)
}

/// A thread leaves the handler.
pub fn leave(header: &TraceHeader) {
    header.inside.fetch_sub(1, Ordering::SeqCst);
}

/// Whether the program has restricted its system calls, or is about to.
pub fn is_restricted(header: &TraceHeader) -> bool {
    header.restriction.load(Ordering::SeqCst) != restriction::NONE
}

/// Whether `prctl` with this option and argument does, or makes ready for it: without giving up new privileges, programs
/// without any may not, and how they go on from there is not watched. Likewise if system calls are to come to the program
/// itself from then on: so would those of the tracer.
pub fn by_prctl(option: u64, argument: u64) -> bool {
    const SET_SECCOMP: u32 = 22;
    const SET_NO_NEW_PRIVILEGES: u32 = 38;
    const SET_SYSCALL_USER_DISPATCH: u32 = 59;
    const OFF: u64 = 0;
    match option as u32 {
        SET_SECCOMP | SET_NO_NEW_PRIVILEGES => true,
        SET_SYSCALL_USER_DISPATCH => argument != OFF,
        _ => false,
    }
}

/// Whether `seccomp` with this operation does; others ask.
pub fn by_seccomp(operation: u64) -> bool {
    const SET_MODE_STRICT: u32 = 0;
    const SET_MODE_FILTER: u32 = 1;
    matches!(operation as u32, SET_MODE_STRICT | SET_MODE_FILTER)
}

/// The calling thread is about to restrict system calls: ends tracing before.
pub fn announce(header: &TraceHeader) {
    use restriction::{ALONE, ANNOUNCED, NONE};
    let state = &header.restriction;
    let is_first = state.compare_exchange(NONE, ANNOUNCED, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    if is_first {
        wait_until(&header.inside, |inside| inside <= 1);
        for slot in slot::used(header) {
            // SAFETY: within the slots; threads do not change these any more.
            let (owner, events) =
                unsafe { ((*slot).tid.load(Ordering::Acquire), [(*slot).sampling, (*slot).breakpoint]) };
            // Closing is left to the end of the process: processes that it forked have them too.
            events.into_iter().filter(|&event| owner != 0 && event > 0).for_each(events::switch_off);
        }
    } else {
        // The other thread waits for this one to be outside, where it is as good as.
        leave(header);
    }
    wait_until(state, |state| state != ANNOUNCED);
    if !is_first {
        header.inside.fetch_add(1, Ordering::SeqCst);
    } else if state.load(Ordering::SeqCst) == ALONE {
        guard::put_back(header);
    }
}

fn wait_until(word: &AtomicU32, is_so: impl Fn(u32) -> bool) {
    const NANOSLEEP: u64 = 35;
    const MILLISECOND: [u64; 2] = [0, 1_000_000];
    for _ in 0..PATIENCE_MS {
        if is_so(word.load(Ordering::SeqCst)) {
            return;
        }
        // SAFETY: reads how long.
        let _ = unsafe { call(NANOSLEEP, [MILLISECOND.as_ptr() as u64, 0, 0, 0, 0, 0]) };
    }
}
