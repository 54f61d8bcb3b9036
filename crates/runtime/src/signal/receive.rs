//! The handler that the kernel knows: where a signal arrives.

use super::action;
use super::frame::{Frame, Info};
use super::recover::{OUTSIDE, Origin, recover};
use super::{deliver, stop};
use crate::entry::{self, Own};
use crate::state::{PROCESS, Process};
use crate::sys::{call, number};
use crate::system_call;
use core::arch::asm;
use core::sync::atomic::Ordering;
use timewise_abi::thread::{ThreadArea, state};

/// The length of the `syscall` instruction.
const SYSCALL: u64 = 2;

/// What a system call answers that a signal interrupted.
const INTERRUPTED: u64 = -4i64 as u64;

/// Called by the kernel, with all signals blocked, on the thread's stack for signals.
///
/// # Safety
/// Only the kernel may call it, on a thread whose `%gs` points at its area.
pub unsafe extern "C" fn receive(signal: i32, _: *mut Info, context: u64) {
    // The kernel leaves the program's wish that unaligned accesses fault in force.
    // SAFETY: the flags that the compiler relies on are undefined here, or as the kernel left them.
    unsafe { asm!("push 2", "popfq") };
    let signal = signal as usize;
    // SAFETY: the kernel's frame, of which the context begins at its second word.
    let frame = unsafe { &mut *((context - 8) as *mut Frame) };
    let area = this();
    let fault = frame.info.is_fault();
    let interrupted = frame.registers.rip;
    let mut place = entry::own(interrupted);
    let resuming = place == Some(Own::Resuming);
    if resuming {
        // SAFETY: the thread is past all of the runtime that writes to these.
        place = entry::own(unsafe { (*area).resume });
    }
    if matches!(place, Some(Own::Other | Own::Resuming)) {
        if fault {
            // The runtime's own fault: it ends the process where it happened.
            action::give_up(signal);
        } else {
            // SAFETY: the thread's own area.
            unsafe { defer(area, signal, frame) };
        }
        return;
    }
    // SAFETY: the thread is in none of the code that holds a reference to its area.
    let area = unsafe { &mut *area };
    let stops = stop::is_asked_for(signal, &frame.info);
    if stops && area.state.load(Ordering::Relaxed) == state::IN_SYSTEM_CALL {
        stop::here(area);
    }
    if resuming {
        frame.registers = area.registers;
        if place.is_none() {
            frame.registers.rip = area.resume;
        }
        // SAFETY: the kernel's frame.
        unsafe { frame.set_vectors(&area.vectors) };
    }
    if place == Some(Own::BeforeExecute) {
        system_call::withdraw(area);
    }
    let mut handler_mask = frame.mask;
    if place == Some(Own::AfterCall) && frame.registers.rax == INTERRUPTED {
        handler_mask = deliver::waiting_mask(area, frame);
    }
    let ends = PROCESS.with(|process| {
        let process = process.as_mut().expect("set up before signals were");
        let origin = match place {
            Some(place) => in_call(process, area, frame, place),
            None => recover(process, area, &mut frame.registers),
        };
        if stops {
            deliver::leave(process, area, origin);
            area.state.store(state::STOPPED, Ordering::Release);
            return None;
        }
        area.state.store(state::RUNNING, Ordering::Relaxed);
        // Also what a system call filter says of where the call was made.
        if (fault || frame.info.is_filtered_call()) && frame.info.address == interrupted {
            frame.info.address = frame.registers.rip;
        }
        deliver::deliver(process, area, signal, frame, origin, handler_mask)
    });
    if stops {
        stop::here(area);
    }
    if let Some(signal) = ends {
        deliver::end(area, signal, frame);
    }
}

fn this() -> *mut ThreadArea {
    let area: u64;
    // SAFETY: the area begins with its own address.
    unsafe { asm!("mov {}, gs:[0]", out(reg) area, options(nostack, readonly, preserves_flags)) };
    area as *mut ThreadArea
}

/// The signal waits until the thread leaves the runtime, and all others with it.
///
/// # Safety
/// `area` must be the calling thread's.
unsafe fn defer(area: *mut ThreadArea, signal: usize, frame: &mut Frame) {
    // SAFETY: as promised; the interrupted code reads these fields at points that expect a change.
    unsafe {
        if (*area).deferred.load(Ordering::Relaxed) == 0 {
            (&raw mut (*area).deferred_mask).write_volatile(frame.mask);
            (*area).deferred.store(1, Ordering::Relaxed);
        }
    }
    frame.mask = u64::MAX;
    send_again(signal, &frame.info);
}

/// Sends the calling thread a signal that it has taken.
pub fn send_again(signal: usize, info: &Info) {
    // SAFETY: changes nothing.
    let [process, thread] = [number::GETPID, number::GETTID].map(|n| unsafe { call(n, [0; 6]) }.unwrap_or(0));
    let arguments = [process, thread, signal as u64, (info as *const Info) as u64, 0, 0];
    // SAFETY: the signal is blocked, or meant to take effect.
    let _ = unsafe { call(number::RT_TGSIGQUEUEINFO, arguments) };
}

/// The thread is at a system call of the program's, at the end of a block.
fn in_call(process: &Process, area: &ThreadArea, frame: &mut Frame, place: Own) -> Origin {
    let from = area.position.load(Ordering::Relaxed);
    let Some(block) = process.blocks.get(from as usize) else { return OUTSIDE };
    let next = area.registers.rip;
    let registers = &mut frame.registers;
    let after = entry::system_call as *const () as u64 + SYSCALL;
    if place == Own::AfterCall {
        (registers.rip, registers.rcx) = (next, next);
        return Origin { from, executed: block.instructions };
    }
    registers.rip = next - SYSCALL;
    // The kernel is about to make the call once more.
    if registers.rcx == after {
        registers.rcx = next;
    }
    Origin { from, executed: block.instructions - 1 }
}
