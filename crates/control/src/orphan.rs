//! Starting a command that is not our child: the program may wait for any child of its own, be signalled when one ends, or
//! ignore that. A process between the two, which ends at once, is a child of which neither is true (`clone` without a signal
//! at the end); the command itself cannot be one, as executing makes it an ordinary child.

use crate::Errno;
use crate::command::Command;
use std::ffi::{CString, c_char, c_int, c_void};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;

/// Of the process between.
const STACK_BYTES: usize = 64 << 10;

/// Signals, as the kernel takes them: one bit each, those included that C libraries keep for themselves.
type Signals = u64;

/// All that the new processes need, made while there is an allocator to use.
struct Plan {
    program: *const c_char,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    channel: RawFd,
    processors: Option<libc::cpu_set_t>,
    /// The command's process, or an error number, negative.
    pid: libc::pid_t,
}

/// Starts it: its process id. It executes once it is told to through `channel`, by one byte; if the other end is closed, or
/// the system refuses, it ends, in the latter case after sending the error number, negative.
///
/// # Errors
/// The system's, if there cannot be another process.
pub fn start(command: &Command, channel: &OwnedFd) -> Result<libc::pid_t, Errno> {
    let mut plan = Plan {
        program: command.program.as_ptr(),
        arguments: with_end(&command.arguments),
        environment: with_end(&command.environment),
        channel: channel.as_raw_fd(),
        processors: processors(),
        pid: -libc::EAGAIN,
    };
    // Of 16 bytes each, as a stack is aligned.
    let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
    // As in `vfork`, with our memory, while this thread waits: nothing is copied but for the command.
    let flags = libc::CLONE_VM | libc::CLONE_VFORK;
    // A handler of the program's would run in the other processes, too.
    let before = set_blocked(Signals::MAX);
    // SAFETY: the stack and the plan live until the process between has ended, for which this thread waits.
    let between = unsafe {
        libc::clone(start_the_command, stack.as_mut_ptr_range().end.cast(), flags, (&raw mut plan).cast())
    };
    let failed = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN);
    set_blocked(before);
    if between == -1 {
        return Err(failed);
    }
    let mut status = 0;
    // It has ended; what waits for children of all kinds may have waited for it.
    // SAFETY: the result goes to a live local.
    while unsafe { libc::waitpid(between, &mut status, libc::__WCLONE) } == -1
        && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
    {}
    // SAFETY: a field of a live local, which another process wrote.
    match unsafe { (&raw const plan.pid).read_volatile() } {
        pid @ 1.. => Ok(pid),
        error_number => Err(-error_number),
    }
}

/// In the process between, which has the memory of the program: makes the command's, and ends.
extern "C" fn start_the_command(plan: *mut c_void) -> c_int {
    let plan: *mut Plan = plan.cast();
    // SAFETY: as `fork`: the child has a copy of our memory and this thread alone.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as libc::pid_t;
    if pid == 0 {
        // SAFETY: this is the child, with a copy of the plan.
        unsafe { become_the_command(&*plan) }
    }
    // SAFETY: the thread that made the plan waits. `errno` is its, too.
    unsafe { (*plan).pid = if pid > 0 { pid } else { -*libc::__errno_location() } };
    0
}

/// Executes the command when it may, with no descriptor but standard ones and the channel, all signals as by default, and
/// apart from the program: in a session of its own, so that it does not get what a terminal sends, without the
/// priority over all others that the thread may have, and not bound to its processor.
///
/// # Safety
/// Only in the process for it: other threads may have been anywhere when it was made, so these are system calls alone.
unsafe fn become_the_command(plan: &Plan) -> ! {
    let channel = plan.channel;
    // SAFETY: descriptors, signals and memory of a process of our own; both lists end with a null.
    unsafe {
        libc::setsid();
        libc::syscall(libc::SYS_close_range, 3, channel - 1, 0);
        libc::syscall(libc::SYS_close_range, channel + 1, c_int::MAX, 0);
        let mut go_on = 0_u8;
        if libc::recv(channel, (&raw mut go_on).cast(), 1, 0) != 1 {
            libc::_exit(127);
        }
        open_standard_descriptors();
        libc::fcntl(channel, libc::F_SETFD, 0);
        if [libc::SCHED_FIFO, libc::SCHED_RR].contains(&libc::sched_getscheduler(0)) {
            libc::sched_setscheduler(0, libc::SCHED_OTHER, &libc::sched_param { sched_priority: 0 });
        }
        if let Some(processors) = &plan.processors {
            libc::sched_setaffinity(0, size_of_val(processors), processors);
        }
        // What is ignored stays so in what is executed: interrupts, one of which is to end it, where a script has started
        // us in the background. One that came to the program's whole group before is forgotten by being ignored.
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_IGN);
            libc::signal(signal, libc::SIG_DFL);
        }
        set_blocked(0);
        libc::execve(plan.program, plan.arguments.as_ptr(), plan.environment.as_ptr());
        let failed: i32 = -*libc::__errno_location();
        libc::send(channel, (&raw const failed).cast(), size_of_val(&failed), libc::MSG_NOSIGNAL);
        libc::_exit(127)
    }
}

/// Nothing to read and nowhere to write, but for the program's own standard error.
///
/// # Safety
/// As `become_the_command`.
unsafe fn open_standard_descriptors() {
    // SAFETY: a C string, and numbers that nobody else uses.
    unsafe {
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        libc::dup2(nothing, 0);
        libc::dup2(nothing, 1);
        if libc::fcntl(2, libc::F_GETFD) == -1 {
            libc::dup2(nothing, 2);
        }
        for standard in 0..3 {
            if nothing == standard {
                libc::fcntl(standard, libc::F_SETFD, 0);
            }
        }
    }
}

/// The processors of all our threads: the one that starts the command may be bound to one, which it needs itself.
fn processors() -> Option<libc::cpu_set_t> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let ids = threads.filter_map(|thread| thread.ok()?.file_name().to_str()?.parse().ok());
    // SAFETY: all zeros are a valid value.
    let mut all: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for id in ids {
        let mut own = all;
        // SAFETY: the system fills as much as there is.
        if unsafe { libc::sched_getaffinity(id, size_of_val(&own), &mut own) } == 0 {
            for processor in 0..libc::CPU_SETSIZE as usize {
                // SAFETY: within both sets.
                unsafe {
                    if libc::CPU_ISSET(processor, &own) {
                        libc::CPU_SET(processor, &mut all);
                    }
                }
            }
        }
    }
    // SAFETY: a live set.
    (unsafe { libc::CPU_COUNT(&all) } > 0).then_some(all)
}

/// Pointers to strings, and a null.
fn with_end(words: &[CString]) -> Vec<*const c_char> {
    words.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect()
}

/// Sets which signals the thread blocks: those that it blocked before.
fn set_blocked(signals: Signals) -> Signals {
    let mut before: Signals = 0;
    let bytes = size_of::<Signals>();
    // SAFETY: both are live, and as long as is said.
    unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const signals, &raw mut before, bytes)
    };
    before
}
