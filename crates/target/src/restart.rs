//! System calls that a stop cut short, set right.
//!
//! A thread that is made to stop in a system call leaves it as if for a signal. Most calls are then made again by
//! the kernel, which hides that from the program. Some give `EINTR` instead, which a program that handles no
//! signal need not expect: those we have the kernel make again.

use crate::trace::{LONG_MODE, Registers, SYSCALL, Tracee};

/// The kernel's own results for "make the call again": if a handler of a signal ran, then only if it asks for that;
/// in any case; unless a handler ran, then it is `EINTR`; and by a call that knows how much of it is done.
const RESTART: i64 = -512;
const RESTART_ALWAYS: i64 = -513;
const RESTART_IF_NO_HANDLER: i64 = -514;
const CONTINUE: i64 = -516;
const INTERRUPTED: i64 = -(libc::EINTR as i64);

/// Calls that wait without any effect and can give `EINTR` for a mere stop. `close` is not among them, and others
/// that did something before they were interrupted.
const WAITING: [libc::c_long; 23] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_connect,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_io_getevents,
    libc::SYS_io_uring_enter,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_futex_waitv,
    libc::SYS_getrandom,
];

/// Has the call of a stopped thread that gave `EINTR` made again, unless a handler runs now. Natively a signal that the
/// program ignores is dropped when it is sent; to a thread that is traced it comes.
pub fn undo_interruption(tracee: Tracee, registers: &Registers) {
    let rax = result_to_restart(tracee, registers);
    if rax != registers.rax {
        // If it was killed meanwhile, nothing has to be set right.
        let _ = tracee.set_registers(&Registers { rax, ..*registers });
    }
}

/// The registers of a stopped thread, before the system call that it was in if that is to be made again.
pub fn rewound(tracee: Tracee, registers: &Registers) -> Registers {
    if !in_system_call(registers) || registers.cs != LONG_MODE {
        return *registers;
    }
    let rax = match registers.rax as i64 {
        RESTART | RESTART_ALWAYS | RESTART_IF_NO_HANDLER => registers.orig_rax,
        CONTINUE => libc::SYS_restart_syscall as u64,
        INTERRUPTED if was_interrupted(registers) && is_system_call(tracee, registers) => registers.orig_rax,
        _ => return *registers,
    };
    Registers { rax, rip: registers.rip - SYSCALL.len() as u64, ..*registers }
}

/// The result of a stopped thread's system call with which the kernel makes it again, if it gave `EINTR` for our
/// stop; else the one that it has.
pub fn result_to_restart(tracee: Tracee, registers: &Registers) -> u64 {
    match was_interrupted(registers) && is_system_call(tracee, registers) {
        true => RESTART_IF_NO_HANDLER as u64,
        false => registers.rax,
    }
}

/// Whether a thread stands at the end of a system call, and not where it was interrupted at work.
pub fn in_system_call(registers: &Registers) -> bool {
    registers.orig_rax as i64 >= 0
}

/// Whether a stopped thread stands at the end of a system call that ended for a signal, or a stop.
pub fn ended_for_signal(registers: &Registers) -> bool {
    const ENDINGS: [i64; 5] = [RESTART, RESTART_ALWAYS, RESTART_IF_NO_HANDLER, CONTINUE, INTERRUPTED];
    in_system_call(registers) && ENDINGS.contains(&(registers.rax as i64))
}

/// Whether a stopped thread stands at the end of a call that gave `EINTR` for a signal, or a stop, and for our sake has to
/// be made again.
pub fn was_interrupted(registers: &Registers) -> bool {
    let number = registers.orig_rax as libc::c_long;
    registers.cs == LONG_MODE && registers.rax as i64 == INTERRUPTED && WAITING.contains(&number)
}

/// A 32-bit call counts its numbers otherwise.
fn is_system_call(tracee: Tracee, registers: &Registers) -> bool {
    tracee.read(registers.rip.wrapping_sub(2)).is_ok_and(|code| code == SYSCALL)
}

#[cfg(test)]
mod tests {
    use crate::compiled;
    use crate::group::Group;
    use crate::launch::Running;
    use crate::seize::{Outcome, Seized};
    use crate::status::field;
    use std::io::{PipeWriter, Write};
    use std::time::Duration;

    const GLANCE: Duration = Duration::from_micros(50);

    /// A program that ends with 7 when a byte comes that it waits for by `epoll_wait`, and with 9 if that is interrupted;
    /// and where to write the byte.
    fn waiting() -> (Running, PipeWriter) {
        let code = "#include <sys/epoll.h>\nint main(void) { int all = epoll_create1(0); \
                    struct epoll_event event = {.events = EPOLLIN}; \
                    return epoll_ctl(all, EPOLL_CTL_ADD, 0, &event) || epoll_wait(all, &event, 1, -1) == 1 ? 7 : 9; }";
        let (running, end) = compiled::running(code);
        while !call_of(running.pid()).starts_with(&format!("{} ", libc::SYS_epoll_wait)) {
            std::thread::sleep(GLANCE);
        }
        (running, end)
    }

    /// The system call in which a process waits, as the kernel tells it.
    fn call_of(pid: i32) -> String {
        std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap()
    }

    /// A signal that is ignored unless it is handled, which this program does not.
    fn send_ignored(pid: i32) {
        // SAFETY: takes no memory; the process is our child.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGWINCH) }, 0);
    }

    fn is_pending(pid: i32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        u64::from_str_radix(field(&status, "ShdPnd"), 16).unwrap() != 0
    }

    fn status_at_its_end(running: Running, mut end: PipeWriter) -> i32 {
        // It may have ended too early.
        let _ = end.write_all(b".");
        libc::WEXITSTATUS(running.wait().unwrap().wait_status)
    }

    /// The kernel drops such a signal natively, but not where the thread that it is sent to is traced.
    #[test]
    fn an_ignored_signal_interrupts_no_call_of_a_group() {
        let (running, end) = waiting();
        let pid = running.pid();
        let mut group = Group::stop(pid, Duration::from_secs(60)).unwrap();
        send_ignored(pid);
        assert!(is_pending(pid));
        for moment in [Duration::ZERO, Duration::from_millis(1)] {
            group.run_on(&[pid], moment).unwrap();
        }
        assert!(!is_pending(pid));
        drop(group);
        assert_eq!(status_at_its_end(running, end), 7);
    }

    #[test]
    fn no_call_of_a_thread_that_is_followed_is_interrupted() {
        let (running, end) = waiting();
        let pid = running.pid();
        let mut seized = Seized::new(pid, pid).unwrap();
        send_ignored(pid);
        while is_pending(pid) || call_of(pid).starts_with("running") {
            assert!(seized.poll().unwrap().is_none());
        }
        seized.let_go();
        let outcome = loop {
            if let Some(outcome) = seized.poll().unwrap() {
                break outcome;
            }
        };
        assert!(matches!(outcome, Outcome::LetGo), "{outcome:?}");
        assert_eq!(status_at_its_end(running, end), 7);
    }
}
