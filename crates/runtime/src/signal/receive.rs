//! The handler that the kernel knows: where a signal arrives.

use super::action;
use super::alone;
use super::frame::{Frame, Info};
use super::recover::{OUTSIDE, Origin, recover};
use super::{deliver, on_stack, own_stack, stop};
use crate::calls;
use crate::entry::{self, Own, SYSCALL_LENGTH};
use crate::paths;
use crate::state::{PROCESS, Process};
use crate::system_call::{self, return_by};
use core::arch::asm;
use core::sync::atomic::Ordering;
use timewise_abi::log::edge_kind;
use timewise_abi::thread::{HELD_FRAME, Registers, ThreadArea, state};

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
    // SAFETY: the kernel's frame, of which the context begins at its second word.
    let frame = unsafe { &mut *((context - 8) as *mut Frame) };
    let area = this();
    if alone::is_trap(area, frame) {
        return;
    }
    let place = entry::own(frame.registers.rip);
    if place.is_none() && frame.info.is_fault() && makes_room(frame, area) {
        return;
    }
    // SAFETY: a thread that is resuming is past all of the runtime that writes to these.
    let resuming = place == Some(Own::Resuming) && unsafe { is_at_program((*area).resume) };
    if resuming || matches!(place, None | Some(Own::BeforeCall | Own::AfterCall | Own::BeforeWatched)) {
        // SAFETY: the thread is in none of the code that holds a reference to its area.
        let area = unsafe { &mut *area };
        let interrupted = frame.registers.rip;
        // The kernel may not have been told of the stack for signals. Then its frame stands on the program's,
        // where the program's own belongs, and moves; all that lies below it is done with but for this code.
        let moves = !on_stack(&own_stack(area), context);
        // SAFETY: no signal waits in that room, or this one would be blocked.
        let frame = if moves { unsafe { frame.keep(area, HELD_FRAME) } } else { frame };
        let place = if resuming { take_up(area, frame) } else { place };
        arrive(area, frame, place, interrupted);
        if moves {
            return_by(area, frame);
            // SAFETY: the frame is whole, and `area` names it. This does not return.
            unsafe { entry::return_from_signal() };
        }
    } else if frame.info.is_fault() {
        // The runtime's own fault: it ends the process where it happened.
        action::give_up(signal as usize);
    } else {
        // SAFETY: the thread's own area; the interrupted code reads these at points that expect a change,
        // and the room is this one's alone until all signals are let in again.
        unsafe {
            frame.keep(&*area, HELD_FRAME);
            (*area).held.store(1, Ordering::Relaxed);
        }
        frame.mask = u64::MAX;
    }
}

/// A signal that waited until the thread leaves the runtime is let in, by way of the frame that the kernel
/// made for it.
///
/// # Safety
/// For the entry code alone, when the thread is about to go on where `area.resume` says; `area` must be its
/// own.
pub unsafe extern "C" fn let_in(area: *mut ThreadArea) {
    // SAFETY: as promised.
    let area = unsafe { &mut *area };
    // SAFETY: `receive` put it there.
    let held = unsafe { &mut *((area.this + u64::from(HELD_FRAME)) as *mut Frame) };
    if area.resume == entry::return_from_signal as *const () as u64 {
        // Where a filter keeps the runtime from blocking signals.
        // SAFETY: `return_by` set it to a frame in the area.
        let frame = unsafe { &mut *(area.frame as *mut Frame) };
        frame.info = held.info;
        area.held.store(0, Ordering::Relaxed);
        arrive(area, frame, None, frame.registers.rip);
    } else if is_at_program(area.resume) {
        let place = take_up(area, held);
        area.held.store(0, Ordering::Relaxed);
        arrive(area, held, place, held.registers.rip);
        return_by(area, held);
    }
}

/// Whether going on at `resume` brings the thread back to the program, or to a system call as the program
/// makes it.
fn is_at_program(resume: u64) -> bool {
    !matches!(entry::own(resume), Some(Own::Other | Own::Resuming))
}

/// Gives a frame the registers of a thread that is about to go on with those in its area: where it is then.
fn take_up(area: &ThreadArea, frame: &mut Frame) -> Option<Own> {
    let place = entry::own(area.resume);
    frame.registers = area.registers;
    if place.is_none() {
        frame.registers.rip = area.resume;
    }
    // SAFETY: the frame is the kernel's, or its copy.
    unsafe { frame.set_vectors(&area.vectors) };
    place
}

/// A signal finds the thread at the program, or at a system call of the program's. The frame's registers
/// say where; the kernel interrupted it at `interrupted`.
fn arrive(area: &mut ThreadArea, frame: &mut Frame, place: Option<Own>, interrupted: u64) {
    let signal = frame.info.signal();
    let stops = stop::is_asked_for(signal, &frame.info);
    if stops && area.state.load(Ordering::Relaxed) == state::IN_SYSTEM_CALL {
        stop::here(area);
    }
    if place == Some(Own::BeforeWatched) {
        system_call::withdraw(area);
    }
    let mut handler_mask = frame.mask;
    if place == Some(Own::AfterCall) && frame.registers.rax == INTERRUPTED {
        handler_mask = deliver::waiting_mask(area, frame);
    }
    let ends = PROCESS.with(|process| {
        let process = process.as_mut().expect("set up before signals were");
        let origin = match place {
            Some(place) => in_call(process, area, &mut frame.registers, place),
            None => recover(process, area, &mut frame.registers),
        };
        if stops {
            deliver::end_there(process, area, origin, &frame.registers);
            area.state.store(state::STOPPED, Ordering::Release);
            return None;
        }
        area.state.store(state::RUNNING, Ordering::Relaxed);
        // Also what the kernel says of where a call was made that it did not take.
        if (frame.info.is_fault() || frame.info.is_refused_call()) && frame.info.address == interrupted {
            frame.info.address = frame.registers.rip;
        }
        deliver::deliver(process, area, frame, origin, handler_mask)
    });
    if stops {
        stop::here(area);
    }
    if let Some(signal) = ends {
        deliver::end(area, signal, frame);
    }
}

/// Whether a fault only says that the thread has too many calls open; it can go on then.
fn makes_room(frame: &mut Frame, area: *mut ThreadArea) -> bool {
    PROCESS.with(|process| {
        // SAFETY: the thread is in translated code, if at all, which does not hold a reference to its area.
        let area = unsafe { &mut *area };
        process.as_ref().is_some_and(|process| {
            let address = frame.info.address;
            calls::is_overflow(process, area, address, &mut frame.registers)
                || paths::is_overflow(process, area, address, &mut frame.registers)
        })
    })
}

fn this() -> *mut ThreadArea {
    let area: u64;
    // SAFETY: the area begins with its own address.
    unsafe { asm!("mov {}, gs:[0]", out(reg) area, options(nostack, readonly, preserves_flags)) };
    area as *mut ThreadArea
}

/// The thread is at a system call of the program's, at the end of a block.
pub(super) fn in_call(process: &Process, area: &ThreadArea, registers: &mut Registers, place: Own) -> Origin {
    let from = area.position.load(Ordering::Relaxed);
    let Some(block) = process.blocks.get(from as usize) else { return OUTSIDE };
    let next = area.registers.rip;
    let after = entry::system_call as *const () as u64 + SYSCALL_LENGTH;
    if place == Own::AfterCall {
        (registers.rip, registers.rcx) = (next, next);
        let way = Some(edge_kind::SYSTEM_CALL);
        return Origin { from, executed: block.instructions, begun: true, way };
    }
    registers.rip = next - SYSCALL_LENGTH;
    // The kernel is about to make the call once more.
    if registers.rcx == after {
        registers.rcx = next;
    }
    Origin { from, executed: block.instructions - 1, begun: true, way: None }
}
