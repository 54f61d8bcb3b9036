//! Executing a program one instruction at a time: an independent count of its instructions.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// How many instructions a program executes. A repeated string instruction is one.
///
/// # Errors
/// What the system refused.
pub fn instructions(program: &Path) -> io::Result<u64> {
    let mut command = Command::new(program);
    command.stdout(Stdio::null());
    // SAFETY: only makes a system call between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    let pid = command.spawn()?.id() as libc::pid_t;
    let (mut count, mut place) = (0, 0);
    loop {
        let mut status = 0;
        // SAFETY: waits for the child that was just made.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } != pid {
            return Err(io::Error::last_os_error());
        }
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            // The first stop was before the first instruction, the last instruction did not come back.
            return Ok(count);
        }
        let mut registers = MaybeUninit::<libc::user_regs_struct>::uninit();
        // SAFETY: the child is stopped; the kernel fills the structure.
        let now = unsafe {
            libc::ptrace(libc::PTRACE_GETREGS, pid, 0, registers.as_mut_ptr());
            registers.assume_init().rip
        };
        count += u64::from(now != place);
        place = now;
        // SAFETY: the child is stopped.
        unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, 0) };
    }
}
