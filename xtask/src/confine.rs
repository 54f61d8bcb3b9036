//! `cargo xtask confine`: runs a program as a container runs it for a user without rights.
//!
//! It has another user's id, gains no rights by what it executes, and a filter refuses the system calls that the
//! usual containers refuse: performance events, tracing of processes that already run, and others that a
//! profiler might be tempted by.

use anyhow::{Context, Result, bail};
use clap::Args;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// How to confine what.
#[derive(Args)]
pub struct Options {
    /// Refuse the calls that read and write the memory of processes as well, as older containers do
    #[arg(long)]
    no_process_memory: bool,
    /// Refuse to trace anything, also one's own children
    #[arg(long)]
    no_tracing: bool,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// The user who owns nothing, as most systems number him.
const NOBODY: libc::uid_t = 65534;

/// System calls that containers refuse.
const REFUSED: [libc::c_long; 8] = [
    libc::SYS_perf_event_open,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_mount,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_keyctl,
    libc::SYS_kcmp,
];

/// Becomes the program.
///
/// # Errors
/// If the rights cannot be given up or the program cannot be executed.
pub fn run(options: &Options) -> Result<()> {
    let (program, arguments) = options.command.split_first().context("no program")?;
    become_nobody().context("cannot become another user")?;
    let mut refused = REFUSED.to_vec();
    if options.no_process_memory {
        refused.extend([libc::SYS_process_vm_readv, libc::SYS_process_vm_writev]);
    }
    if options.no_tracing {
        refused.push(libc::SYS_ptrace);
    }
    install(&filter(&refused)).context("cannot install the filter")?;
    bail!("{}: {}", program.to_string_lossy(), Command::new(program).args(arguments).exec())
}

/// Nothing to do for a user without rights.
fn become_nobody() -> std::io::Result<()> {
    // SAFETY: none of these takes memory of ours, but the empty list of groups.
    let done = unsafe {
        libc::geteuid() != 0
            || (libc::setgroups(0, std::ptr::null()) == 0
                && libc::setresgid(NOBODY, NOBODY, NOBODY) == 0
                && libc::setresuid(NOBODY, NOBODY, NOBODY) == 0)
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const JUMP_IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
const OFFSET_OF_NUMBER: u32 = 0;
const OFFSET_OF_FIRST_ARGUMENT: u32 = 16;

/// Refuses these calls, and tracing a process that runs by a request that stops it at once.
fn filter(refused: &[libc::c_long]) -> Vec<libc::sock_filter> {
    let statement = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    let unless_equal = |k, skip| libc::sock_filter { code: JUMP_IF_EQUAL, jt: 0, jf: skip, k };
    let refuse = statement(RETURN, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32);
    let mut program = vec![statement(LOAD_WORD, OFFSET_OF_NUMBER)];
    for &number in refused {
        program.extend([unless_equal(number as u32, 1), refuse]);
    }
    program.extend([
        unless_equal(libc::SYS_ptrace as u32, 3),
        statement(LOAD_WORD, OFFSET_OF_FIRST_ARGUMENT),
        unless_equal(libc::PTRACE_ATTACH, 1),
        refuse,
        statement(RETURN, libc::SECCOMP_RET_ALLOW),
    ]);
    program
}

/// Answers the call of this number and all that came after it as a kernel does that has them not.
pub fn answer_as_unknown_from(first: u32) -> Vec<libc::sock_filter> {
    let statement = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    vec![
        statement(LOAD_WORD, OFFSET_OF_NUMBER),
        libc::sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: first },
        statement(RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        statement(RETURN, libc::SECCOMP_RET_ALLOW),
    ]
}

/// Has the calling thread's calls go through a filter from here on, and those of its descendants.
///
/// # Errors
/// The system's.
pub fn install(filter: &[libc::sock_filter]) -> std::io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program points to a live list of as many instructions as it says, which the kernel copies.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_stay_within_the_filter() {
        let program = filter(&REFUSED);
        for (at, statement) in program.iter().enumerate() {
            assert!(
                at + usize::from(statement.jf.max(statement.jt)) + 1 < program.len()
                    || statement.code == RETURN
            );
        }
    }

    #[test]
    fn calls_that_a_kernel_has_not_say_so() {
        // A filter is a thread's own.
        let outcome = std::thread::spawn(|| {
            install(&answer_as_unknown_from(libc::SYS_statx as u32)).unwrap();
            // SAFETY: without memory to write to, neither call does anything.
            let [statx, former] =
                unsafe { [libc::SYS_statx, libc::SYS_getpid].map(|call| libc::syscall(call, 0, 0, 0, 0, 0)) };
            (statx, std::io::Error::last_os_error().raw_os_error(), former)
        });
        let (statx, error, former) = outcome.join().unwrap();
        assert_eq!((statx, error), (-1, Some(libc::ENOSYS)));
        assert_eq!(former, i64::from(std::process::id()));
    }
}
