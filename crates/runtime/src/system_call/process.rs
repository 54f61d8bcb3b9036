//! Beginnings and ends of threads and processes.

use crate::dispatch::external;
use crate::entry;
use crate::state::PROCESS;
use crate::sys::number;
use core::sync::atomic::Ordering;
use timewise_abi::NONE;
use timewise_abi::thread::ThreadArea;

/// The thread ends here: this is its last position.
pub fn end(area: &mut ThreadArea) {
    PROCESS.with(|process| {
        let process = process.as_mut().expect("set up before translated code ran");
        let from = area.position.load(Ordering::Relaxed);
        let executed = process.blocks[from as usize].instructions;
        // Out of room for a record is noted where it happens; the program is ending anyway.
        let _ = external(process, area, from, executed, NONE);
        if area.registers.rax == number::EXIT_GROUP {
            process.record.state.store(timewise_abi::process::state::ENDED, Ordering::Release);
        }
    });
    area.resume = entry::last_system_call as *const () as u64;
}
