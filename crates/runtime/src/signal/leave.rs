//! A thread that the host stopped leaves the runtime: where it is in the program, and with which registers.

use super::deliver;
use super::receive::in_call;
use super::recover::recover;
use crate::entry::{self, Own};
use crate::state::Process;
use crate::sys::{filter, number};
use core::sync::atomic::Ordering;
use timewise_abi::thread::{ThreadArea, state};

/// Whether the thread, stopped with the registers in its area, stands where the program is known: in translated
/// code, at a system call of the program's, or on its way to either.
pub fn can_leave(area: &ThreadArea) -> bool {
    let place = area.stopped.rip;
    let stands = match entry::own(place) {
        Some(Own::Resuming) => is_known(area.resume),
        _ => is_known(place),
    };
    stands && area.held.load(Ordering::Relaxed) == 0
}

/// Whether the program is known at an address of translated code's or the runtime's own.
fn is_known(address: u64) -> bool {
    matches!(entry::own(address), None | Some(Own::BeforeCall | Own::AfterCall))
}

/// How a thread that is wanted stands where the program's registers are complete.
pub mod stand {
    /// Not at all: it goes on to more of the runtime first.
    pub const NOT: u32 = 0;
    /// By waiting in the kernel for [`NAP_NS`], or until a signal comes.
    pub const NAP: u32 = 1;
    /// By so many turns of a waiting loop, which take about as long on a Zen 5, where a filter forbids the other.
    pub const TURNS: u32 = 1 << 20;

    /// Were the host killed meanwhile, the thread would go on nevertheless.
    pub const NAP_NS: u32 = 37_000_000;
}

/// How a thread that is wanted stands. Many must not do so at work: those that still are would get no processor.
///
/// # Safety
/// For the entry code alone, when the thread is about to go on where `area.resume` says; `area` must be its own.
pub unsafe extern "C" fn stay(area: *const ThreadArea) -> u32 {
    // SAFETY: as promised.
    let area = unsafe { &*area };
    if !is_known(area.resume) {
        return stand::NOT;
    }
    area.wanted.fetch_sub(1, Ordering::Relaxed);
    if filter::allows(number::PPOLL, &[0; 6]) { stand::NAP } else { stand::TURNS }
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
