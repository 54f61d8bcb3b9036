//! A thread that the host stopped leaves the runtime: where it is in the program, and with which registers.

use super::deliver;
use super::receive::in_call;
use super::recover::recover;
use crate::entry::{self, Own};
use crate::state::Process;
use core::sync::atomic::Ordering;
use timewise_abi::thread::{ThreadArea, state};

/// Whether the thread, stopped with the registers in its area, stands where the program is known: in translated
/// code, at a system call of the program's, or on its way to either.
pub fn can_leave(area: &ThreadArea) -> bool {
    let at_program = |address| matches!(entry::own(address), None | Some(Own::BeforeCall | Own::AfterCall));
    let place = area.stopped.rip;
    let stands = match entry::own(place) {
        Some(Own::Resuming) => at_program(area.resume),
        _ => at_program(place),
    };
    stands && area.held.load(Ordering::Relaxed) == 0
}

/// Takes the thread out: the program's registers are in the area from then on. Whether the vector registers are
/// there as well, and not in the thread itself.
pub fn leave(process: &mut Process, area: &mut ThreadArea) -> bool {
    let resuming = entry::own(area.stopped.rip) == Some(Own::Resuming);
    let mut registers = if resuming { area.registers } else { area.stopped };
    let mut place = entry::own(registers.rip);
    if resuming {
        place = entry::own(area.resume);
        if place.is_none() {
            registers.rip = area.resume;
        }
    }
    let origin = match place {
        Some(place) => in_call(process, area, &mut registers, place),
        None => recover(process, area, &mut registers),
    };
    deliver::end_there(process, area, origin, &registers);
    area.registers = registers;
    area.state.store(state::STOPPED, Ordering::Release);
    resuming
}
