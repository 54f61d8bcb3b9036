//! Instructions that are not followed, as far branches and returns from interrupts: the processor executes them where
//! they stand, one at a time, between two traps.
//!
//! The thread comes to a trap with its own registers; the handler sends it to the instruction with the flag set
//! by which the processor traps once more after it. Such an instruction is not counted.

use super::action::IGNORE;
use super::frame::Frame;
use super::recover::{OUTSIDE, Origin};
use super::{actions, bit};
use crate::dispatch::{enter, go_native};
use crate::entry;
use crate::state::PROCESS;
use crate::sys::signal;
use core::sync::atomic::Ordering;
use timewise_abi::Failure;
use timewise_abi::thread::{HELD_FRAME, Registers, ThreadArea};

const TRAP: usize = 5;

/// The flag by which the processor traps after each instruction.
const TRAP_FLAG: u64 = 1 << 8;

/// Where a thread goes on that is to execute the instruction at `address`, with the signals of `mask` blocked or those
/// that are blocked now. None if the program keeps the trap from arriving.
pub fn prepare(area: &mut ThreadArea, address: u64, mask: Option<u64>) -> Option<u64> {
    let mask = mask.or_else(|| blocked(area))?;
    if mask & bit(TRAP) != 0 || actions(area).get(TRAP).handler == IGNORE {
        return None;
    }
    area.alone = address;
    Some(entry::alone())
}

/// The program's mask of blocked signals, if the kernel may be asked.
fn blocked(area: &ThreadArea) -> Option<u64> {
    let now = signal::mask();
    if area.held.load(Ordering::Relaxed) == 0 {
        return now;
    }
    // A signal waits, and all others are blocked until it is let in.
    // SAFETY: `receive` put its frame there.
    Some(unsafe { (*((area.this + u64::from(HELD_FRAME)) as *const Frame)).mask })
}

/// Whether a signal is one of the two traps; the thread then goes on where the frame says.
pub fn is_trap(area: *mut ThreadArea, frame: &mut Frame) -> bool {
    // SAFETY: the thread's own area, and a field that only its own code outside the dispatcher leaves set.
    let address = unsafe { (*area).alone };
    if address == 0 || frame.info.signal() != TRAP || !frame.info.is_fault() {
        return false;
    }
    if frame.registers.rip == entry::alone() + 1 {
        frame.registers.rip = address;
        frame.registers.rflags |= TRAP_FLAG;
        return true;
    }
    // SAFETY: the thread executed an instruction of the program's, so no code holds a reference to its area.
    let area = unsafe { &mut *area };
    area.alone = 0;
    frame.registers.rflags &= !TRAP_FLAG;
    let address = frame.registers.rip;
    if !frame.is_in_long_mode() {
        go_native(area, address, Failure::Unsupported, None);
        return true;
    }
    let mask = frame.mask;
    let entered = PROCESS.with(|process| {
        let process = process.as_mut().expect("set up before translated code ran");
        enter(process, area, address)
    });
    frame.registers.rip = match entered {
        Ok(Some(resume)) => resume,
        // No instruction there: the processor will say so itself.
        Ok(None) => address,
        Err(failure) => go_native(area, address, failure, Some(mask)),
    };
    true
}

/// Where a thread is that something else stopped before it had executed such an instruction, if it was about to.
pub fn recover(area: &mut ThreadArea, registers: &mut Registers) -> Option<Origin> {
    let address = core::mem::take(&mut area.alone);
    if address == 0 {
        return None;
    }
    registers.rflags &= !TRAP_FLAG;
    if registers.rip == entry::alone() {
        registers.rip = address;
    }
    Some(OUTSIDE)
}
