//! `prctl(PR_SET_SYSCALL_USER_DISPATCH)`: system calls that the program makes at other addresses than it names come to
//! itself, by `SIGSYS`, as emulators want it. The kernel goes by where a call is made, which is elsewhere under count: the
//! runtime makes them all, and its own. So it looks at the program's addresses, and at the program's byte, itself.
//!
//! A call that is to come to the program is made all the same, by an instruction that lies below all others of the
//! runtime's, and the kernel is told that it is those below that come to the program. What becomes of them is therefore
//! the kernel's doing, the signal and the end of a program that does not take it included. The byte that it reads is a
//! copy of the program's.

use super::{answer, arguments, native};
use crate::entry::HIGH;
use crate::sys::{Errno, call, filter, number};
use crate::vsyscall;
use timewise_abi::thread::{Dispatch, ThreadArea};

const SET: u64 = 59;

/// Modes: calls come to the program from nowhere, from outside of what it names, from inside.
const OFF: u64 = 0;
const FROM_OUTSIDE: u64 = 1;
const FROM_INSIDE: u64 = 2;

/// Values of the byte.
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

/// Whether a call of `prctl` is about this.
pub fn is_asked_for(area: &ThreadArea) -> bool {
    area.registers.rdi as u32 == SET as u32
}

/// Changes which calls come to the program.
pub fn change(area: &mut ThreadArea) {
    if !filter::allows(area.registers.rax, &arguments(area)) {
        return native(area);
    }
    let result = wanted(area).map(|wanted| area.dispatch = wanted);
    begin(area);
    answer(area, result.map(|()| 0));
}

/// What the program asks for, if the kernel would take it, which is asked in parts that bring none of the runtime's
/// calls to the program.
fn wanted(area: &ThreadArea) -> Result<Dispatch, Errno> {
    static ALLOWED: u8 = ALLOW;
    let [_, mode, offset, length, selector, _] = arguments(area);
    if mode == OFF {
        return tell([mode, offset, length, selector]).map(|()| Dispatch::default());
    }
    tell([mode, offset, length, (&raw const ALLOWED) as u64])?;
    tell([FROM_OUTSIDE, 0, u64::MAX, selector])?;
    let (offset, length) = match mode {
        FROM_INSIDE => (offset.wrapping_add(length), length.wrapping_neg()),
        _ => (offset, length),
    };
    Ok(Dispatch { on: 1, selected: 0, offset, length, selector })
}

/// Has the kernel bring those calls to the program that are made for that, if the program asked for any.
pub fn begin(area: &ThreadArea) {
    let selected = (&raw const area.dispatch.selected) as u64;
    // The kernel took as much before, and one that does not know of this brings none.
    let _ = match area.dispatch.on {
        1 => tell([FROM_OUTSIDE, HIGH.start, u64::MAX - HIGH.start, selected]),
        _ => tell([OFF, 0, 0, 0]),
    };
}

/// Has the kernel bring none of the thread's calls to the program any more.
pub fn end(area: &ThreadArea) {
    if area.dispatch.on == 1 {
        let _ = tell([OFF, 0, 0, 0]);
    }
}

fn tell([mode, offset, length, selector]: [u64; 4]) -> Result<(), Errno> {
    // SAFETY: by none of what the kernel is told here does a call of the runtime's come to the program.
    unsafe { call(number::PRCTL, [SET, mode, offset, length, selector, 0]) }.map(drop)
}

/// Whether the system call that the thread is about to make is to come to the program; the kernel will read the byte that
/// says so.
pub fn takes(area: &mut ThreadArea) -> bool {
    let Dispatch { on, offset, length, selector, .. } = area.dispatch;
    let address = area.registers.rip;
    // Those at the fixed addresses are no system calls for the kernel.
    if on == 0 || address.wrapping_sub(offset) < length || vsyscall::code(address).is_some() {
        return false;
    }
    let selected = match selector {
        0 => BLOCK,
        // SAFETY: if it cannot be read, the fault ends the process, as the kernel would.
        _ => unsafe { (selector as *const u8).read_volatile() },
    };
    area.dispatch.selected = selected.into();
    selected != ALLOW
}
