//! The program's system calls: most go to the kernel as they are, with the program's own registers.
//!
//! Those that change what the runtime relies on are handled in the files of this folder, one concern
//! each.

mod confine;
mod execute;
pub mod limit;
mod memory;
mod memory_file;
mod process;
mod segment;
mod sequences;
mod signal;
pub mod user_dispatch;

pub use process::{again, begin, expect};
pub use signal::return_by;

use crate::entry;
use crate::state::PROCESS;
use crate::sys::{Errno, number};
use core::sync::atomic::Ordering;
use timewise_abi::thread::{ThreadArea, returned, state};

/// Decides what becomes of the system call that the thread is about to make.
pub fn handle(area: &mut ThreadArea) {
    PROCESS.with(|process| {
        let exit = process.as_ref().expect("set up before translated code ran").exits[area.exit as usize];
        area.registers.rip = exit.target;
        // Under the lock: who retires the code to come back to redirects the thread.
        area.after = exit.goal;
        area.position.store(exit.from, Ordering::Relaxed);
    });
    if user_dispatch::takes(area) {
        return native_at(area, entry::dispatched());
    }
    match area.registers.rax {
        number::RSEQ => sequences::register(area),
        number::EXIT | number::EXIT_GROUP => process::end(area),
        number::FORK | number::VFORK | number::CLONE | number::CLONE3 => process::create(area),
        number::ARCH_PRCTL => segment::change(area),
        number::MMAP
        | number::MUNMAP
        | number::MREMAP
        | number::MPROTECT
        | number::PKEY_MPROTECT
        | number::MADVISE
        | number::MLOCKALL
        | number::MUNLOCKALL
        | number::BRK
        | number::SHMAT
        | number::SHMDT
        | number::REMAP_FILE_PAGES => memory::change(area),
        number::OPEN | number::OPENAT | number::OPENAT2 => memory_file::open(area),
        number::WRITE | number::PWRITE64 | number::WRITEV | number::PWRITEV | number::PWRITEV2 => {
            memory_file::write(area);
        }
        number::PRLIMIT64 | number::GETRLIMIT | number::SETRLIMIT => limit::limit(area),
        number::RT_SIGACTION => signal::action(area),
        number::SIGALTSTACK => signal::handler_stack(area),
        number::RT_SIGRETURN => signal::sigreturn(area),
        number::PRCTL if user_dispatch::is_asked_for(area) => user_dispatch::change(area),
        number::PRCTL | number::SECCOMP => confine::confine(area),
        number::EXECVE | number::EXECVEAT => execute::execute(area),
        _ => native(area),
    }
}

/// Does what is to be done after a system call that the runtime wanted to see the end of.
pub fn returned(area: &mut ThreadArea) {
    match area.returned {
        returned::EXEC => execute::failed(area),
        returned::FILTER => confine::confined(area),
        _ => process::created(area),
    }
    area.state.store(state::RUNNING, Ordering::Relaxed);
    // As the kernel leaves it.
    area.registers.rcx = area.registers.rip;
    area.resume = area.after;
}

/// The thread goes back to before the system call that it was about to make, and that the runtime wanted to
/// see the end of.
pub fn withdraw(area: &ThreadArea) {
    match area.returned {
        returned::EXEC => execute::failed(area),
        returned::FILTER => confine::withdraw(area),
        _ => {}
    }
}

/// The kernel makes the call, with the program's registers, when the thread leaves the runtime.
fn native(area: &mut ThreadArea) {
    native_at(area, entry::system_call as *const () as u64);
}

/// Likewise, by the instruction at `place`.
fn native_at(area: &mut ThreadArea, place: u64) {
    area.state.store(state::IN_SYSTEM_CALL, Ordering::Relaxed);
    area.resume = place;
}

/// The call's arguments.
fn arguments(area: &ThreadArea) -> [u64; 6] {
    let r = &area.registers;
    [r.rdi, r.rsi, r.rdx, r.r8_to_r15[2], r.r8_to_r15[0], r.r8_to_r15[1]]
}

/// The call is done already, with this result.
fn answer(area: &mut ThreadArea, result: Result<u64, Errno>) {
    area.registers.rax = match result {
        Ok(value) => value,
        Err(Errno(error)) => -i64::from(error) as u64,
    };
    // As the kernel leaves them.
    area.registers.rcx = area.registers.rip;
    area.registers.r8_to_r15[3] = area.registers.rflags;
    area.resume = area.after;
}
