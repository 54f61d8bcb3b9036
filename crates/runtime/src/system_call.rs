//! The program's system calls: most go to the kernel as they are, with the program's own registers.

use crate::dispatch::external;
use crate::entry;
use crate::state::PROCESS;
use crate::sys::number;
use core::sync::atomic::Ordering;
use timewise_abi::NONE;
use timewise_abi::thread::{ThreadArea, state};

const ENOSYS: u64 = -38i64 as u64;

/// Decides what becomes of the system call that the thread is about to make.
pub fn handle(area: &mut ThreadArea) {
    let (from, target, after) = PROCESS.with(|process| {
        let exit = process.as_ref().expect("set up before translated code ran").exits[area.exit as usize];
        (exit.from, exit.target, exit.place)
    });
    area.registers.rip = target;
    area.after = after;
    match area.registers.rax {
        // Restartable sequences name addresses of the program's code, which never runs. The C library
        // does without when the kernel does not have them.
        number::RSEQ => emulate(area, ENOSYS),
        number::EXIT | number::EXIT_GROUP => end(area, from),
        _ => native(area, from),
    }
}

/// The kernel makes the call, with the program's registers.
fn native(area: &mut ThreadArea, from: u32) {
    area.position.store(from, Ordering::Relaxed);
    area.state.store(state::IN_SYSTEM_CALL, Ordering::Relaxed);
    area.resume = entry::system_call as *const () as u64;
}

/// The call is done already, with this result.
fn emulate(area: &mut ThreadArea, result: u64) {
    area.registers.rax = result;
    // As the kernel leaves them.
    area.registers.rcx = area.registers.rip;
    area.registers.r8_to_r15[3] = area.registers.rflags;
    area.resume = area.after;
}

/// The thread ends here: this is its last position.
fn end(area: &mut ThreadArea, from: u32) {
    PROCESS.with(|process| {
        let process = process.as_mut().expect("set up before translated code ran");
        let executed = process.blocks[from as usize].instructions;
        // Out of room for a record is noted where it happens; the program is ending anyway.
        let _ = external(process, area, from, executed, NONE);
        if area.registers.rax == number::EXIT_GROUP {
            process.record.state.store(timewise_abi::process::state::ENDED, Ordering::Release);
        }
    });
    area.resume = entry::last_system_call as *const () as u64;
}
