//! `seccomp`: the program restricts the system calls of its process. The runtime's own are then forbidden
//! too, so what it needs of the kernel it gets beforehand.
//!
//! What is lost: new modules, a signal that arrives while the runtime itself runs, the positions of threads
//! that others stop, and programs executed from then on, which run uncounted.

use super::native;
use crate::entry;
use crate::heap::HEAP;
use crate::state::PROCESS;
use crate::sys::{self, number};
use core::sync::atomic::Ordering;
use timewise_abi::thread::{ThreadArea, returned, state};

const PR_SET_SECCOMP: u64 = 22;
const SECCOMP_SET_MODE_FILTER: u64 = 1;

/// A call that may restrict system calls.
pub fn confine(area: &mut ThreadArea) {
    let r = &area.registers;
    let restricts = match r.rax {
        number::PRCTL => r.rdi as u32 == PR_SET_SECCOMP as u32,
        _ => r.rdi as u32 <= SECCOMP_SET_MODE_FILTER as u32,
    };
    if !restricts || sys::is_confined() {
        return native(area);
    }
    PROCESS.with(|process| {
        let process = process.as_mut().expect("set up before translated code ran");
        // Out of room for a record is noted where it happens.
        let _ = process.space.learn(area.registers.rip, process.shared, &process.record.mappings);
        HEAP.keep_in_store();
    });
    area.returned = returned::FILTER;
    area.state.store(state::IN_SYSTEM_CALL, Ordering::Relaxed);
    area.resume = entry::system_call_and_return as *const () as u64;
}

/// The call returned.
pub fn confined(area: &ThreadArea) {
    if (area.registers.rax as i64) >= 0 {
        sys::confine();
    }
}
