//! What becomes of a signal once it is known where the program was: its handler runs, or it ends.

use super::action::{self, DEFAULT, IGNORE, NODEFER, RESETHAND};
use super::frame::{Frame, Info, SS_AUTODISARM, SS_DISABLE};
use super::recover::Origin;
use super::{actions, bit, stop};
use crate::calls;
use crate::dispatch::{enter, external, go_native};
use crate::kinds::{self, interval};
use crate::paths;
use crate::state::{PROCESS, Process};
use crate::sys::filter::is_confined;
use crate::sys::{call, memory, number};
use core::sync::atomic::Ordering;
use timewise_abi::NONE;
use timewise_abi::process::state::ENDED;
use timewise_abi::signal::{Action, Stack};
use timewise_abi::thread::{Registers, ThreadArea, state};
use timewise_abi::view::Shared;

const SEGMENTATION_FAULT: usize = 11;

/// Arranges that the thread goes on with what the program wants done about the signal. The frame is the
/// kernel's, its registers the program's; `mask` is what was blocked at the interruption. Returns the
/// signal that is to end the process, if one is: see [`end`].
pub fn deliver(
    process: &mut Process,
    area: &mut ThreadArea,
    frame: &mut Frame,
    origin: Origin,
    mask: u64,
) -> Option<usize> {
    leave(process, area, origin, &frame.registers);
    let signal = frame.info.signal();
    let action = actions(area).get(signal);
    match action.handler {
        DEFAULT if action::ends_by_default(signal) => {
            end_all(process, area, origin, &frame.registers);
            return Some(signal);
        }
        // Another thread changed the action while the signal was on its way.
        DEFAULT | IGNORE => {
            if let Some(kind) = origin.way {
                let Registers { rip, rsp, .. } = frame.registers;
                paths::cross(process, area, (origin.from, kind), rip, rsp);
            }
            go_on(process, area, frame);
        }
        _ => return handle(process, area, (signal, action), frame, mask, origin),
    }
    None
}

/// Counts that the thread leaves the program, with these registers.
pub fn leave(process: &mut Process, area: &mut ThreadArea, origin: Origin, registers: &Registers) {
    if origin.from != NONE {
        // Out of room for a record is noted where it happens.
        let _ = external(process, area, origin.from, origin.executed, NONE);
        if origin.begun {
            kinds::cut(process, area, origin.from, origin.executed, registers);
        } else {
            interval::left(process, area, origin.from, 0);
        }
    }
}

/// The thread does not go on: it is `origin` where the program's registers say, and all its calls and paths end there.
pub fn end_there(process: &mut Process, area: &mut ThreadArea, origin: Origin, registers: &Registers) {
    leave(process, area, origin, registers);
    end_all(process, area, origin, registers);
}

/// All calls and paths of a thread end where it is.
fn end_all(process: &mut Process, area: &mut ThreadArea, origin: Origin, registers: &Registers) {
    calls::end(process, area, (registers.rip, registers.rsp));
    let at = paths::place(process, (origin.from, origin.executed), registers.rip);
    paths::end(process, area, at);
}

/// The program's own handler runs. The thread was at `origin`.
fn handle(
    process: &mut Process,
    area: &mut ThreadArea,
    (signal, action): (usize, Action),
    frame: &mut Frame,
    mask: u64,
    origin: Origin,
) -> Option<usize> {
    const DIRECTION_TRAP_RESUME: u64 = 1 << 10 | 1 << 8 | 1 << 16;
    if action.flags & RESETHAND != 0 {
        actions(area).set(signal, Action { handler: DEFAULT, ..action });
        // Confined, the kernel did that itself.
        if !is_confined() {
            let _ = action::install(signal, Action { handler: DEFAULT, ..action });
        }
    }
    // SAFETY: the kernel's frame with the program's registers.
    let Some(place) = (unsafe { frame.put(area, action) }) else {
        frame.info = Info::of_kernel(SEGMENTATION_FAULT);
        end_all(process, area, origin, &frame.registers);
        return Some(SEGMENTATION_FAULT);
    };
    if area.handler_stack.flags & SS_AUTODISARM != 0 {
        area.handler_stack = Stack { flags: SS_DISABLE, ..Stack::default() };
    }
    let registers = &mut frame.registers;
    calls::mark_handler(process, area, (action.handler, place), (registers.rip, registers.rsp));
    paths::begin_handler(process, area, (action.handler, place), origin, registers.rip);
    registers.rsp = place;
    registers.rdi = signal as u64;
    registers.rsi = place + core::mem::offset_of!(Frame, info) as u64;
    registers.rdx = place + 8;
    registers.rax = 0;
    registers.rflags &= !DIRECTION_TRAP_RESUME;
    registers.rip = action.handler;
    let own = if action.flags & NODEFER == 0 { bit(signal) } else { 0 };
    frame.mask = mask | action.mask | own;
    kinds::handler(area, signal);
    // SAFETY: the kernel's frame.
    unsafe { frame.reset_vectors() };
    go_on(process, area, frame);
    None
}

/// The thread goes on in the program where the frame says.
fn go_on(process: &mut Process, area: &mut ThreadArea, frame: &mut Frame) {
    let address = frame.registers.rip;
    frame.registers.rip = match enter(process, area, address) {
        Ok(Some(resume)) => resume,
        // No instruction there: the processor will say so itself.
        Ok(None) => address,
        Err(failure) => go_native(area, address, failure, Some(frame.mask)),
    };
}

/// The signal ends the process: again, by the kernel's hand, with the program's own registers. Not under
/// the process lock.
pub fn end(area: &mut ThreadArea, signal: usize, frame: &mut Frame) {
    area.state.store(state::STOPPED, Ordering::Release);
    if area.sharing == 0 {
        stop::others(area);
        PROCESS.with(|process| {
            process.as_ref().into_iter().for_each(|process| paths::close_others(process, area));
        });
        // SAFETY: the shared file is mapped where the area says.
        let shared = unsafe { Shared::at(area.shared) };
        shared.process(area.process).state.store(ENDED, Ordering::Release);
    }
    action::give_up(signal);
    send_again(signal, &frame.info);
    // Alone: another one of a lower number would come before it, and its handler may wait for threads that are stopped.
    frame.mask = !bit(signal);
}

/// Sends the calling thread a signal that it has taken.
fn send_again(signal: usize, info: &Info) {
    // SAFETY: changes nothing.
    let [process, thread] = [number::GETPID, number::GETTID].map(|n| unsafe { call(n, [0; 6]) }.unwrap_or(0));
    let arguments = [process, thread, signal as u64, (&raw const *info) as u64, 0, 0];
    // SAFETY: the signal is blocked, or meant to take effect.
    let _ = unsafe { call(number::RT_TGSIGQUEUEINFO, arguments) };
}

/// The mask in force when a signal interrupted a system call that waits with a mask of its own.
pub fn waiting_mask(area: &ThreadArea, frame: &Frame) -> u64 {
    let r = &frame.registers;
    let [r8, r9, r10, ..] = r.r8_to_r15;
    let read = |address: u64| {
        let mut word = [0; 8];
        (address != 0 && memory::read(address, &mut word) == 8).then(|| u64::from_le_bytes(word))
    };
    let mask = match area.registers.rax {
        number::RT_SIGSUSPEND => read(r.rdi),
        number::PPOLL => read(r10),
        number::EPOLL_PWAIT | number::EPOLL_PWAIT2 => read(r8),
        // These name a structure that begins with the mask's address.
        number::PSELECT6 | number::IO_PGETEVENTS => read(r9).and_then(read),
        _ => None,
    };
    mask.unwrap_or(frame.mask)
}
