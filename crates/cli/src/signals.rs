//! Signals while a program runs under us: they are meant for it, and we live on to save what was
//! recorded.

use rustix::stdio::stderr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use timewise_profile::Exit;
use timewise_target::bystander::{Bystander, pass_on};
use timewise_target::cpu_time::monotonic_ns;
use timewise_target::inherited::Inherited;
use timewise_target::launch::{Launch, LaunchError, Stopped};

/// The program's process, for the signal handler.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// Who tells which signals reached the program by themselves.
static BYSTANDER: OnceLock<Bystander> = OnceLock::new();

/// Signals by which users and systems stop programs.
const STOPPING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// All that are passed on to the program: these, and those that programs give a meaning of their own.
const PASSED_ON: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// The last signal that asked us to stop.
static INTERRUPTION: AtomicI32 = AtomicI32::new(0);

/// When we were first asked.
static FIRST_ASKED_NS: AtomicU64 = AtomicU64::new(0);

/// Within this time, whoever asks several times asks once.
const AT_ONCE_NS: u64 = 1_000_000_000;

/// Whether we are attached to a program, which is to be given back.
static ATTACHED: AtomicBool = AtomicBool::new(false);

/// While it lives, no signal ends us: each asks us to let go of the program that we are attached to.
pub struct Attached(());

impl Drop for Attached {
    fn drop(&mut self) {
        ATTACHED.store(false, Ordering::SeqCst);
    }
}

/// From now on we are attached to a program. To end before it is given back would leave it under count, also if somebody
/// asks twice, as some do by signalling us and our group.
pub fn attached() -> Attached {
    outlive();
    ATTACHED.store(true, Ordering::SeqCst);
    Attached(())
}

/// While it lives, signals that ask us to stop wait.
pub struct Held(libc::sigset_t);

/// Has signals that ask us to stop wait, in the calling thread and those that it makes.
pub fn hold() -> Held {
    // SAFETY: both sets are live, and all zeros are a valid value.
    unsafe {
        let (mut stopping, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&mut stopping);
        for signal in STOPPING {
            libc::sigaddset(&mut stopping, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &stopping, &mut before);
        Held(before)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the set is live.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

/// From now on these signals do not end us. They are passed on to the program, except for those that were sent to all of our
/// group and so reach it by themselves; where there is none that we launched, those that stop a program ask us to let go of
/// the one that we observe. So are those that we were told to ignore, as a program may handle what it inherits as
/// ignored, but of us they ask nothing.
pub fn outlive() {
    for signal in PASSED_ON {
        // SAFETY: the structure is live, and all zeros are a valid value; the handler stores a number and makes system
        // calls, which is allowed in a signal handler. Programs that we launch do not inherit a handler.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = stop as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// From now on a file that grows beyond the limit is an error where it is written, and does not end us.
/// Programs that we launch do not inherit a handler, as they would inherit that the signal is ignored; if
/// it was ignored before, it stays so for both.
pub fn outlive_file_limit() {
    extern "C" fn nothing(_: libc::c_int) {}
    let action = nothing as *const () as libc::sighandler_t;
    // SAFETY: the handler does nothing, which is allowed in a signal handler.
    unsafe {
        if libc::signal(libc::SIGXFSZ, action) == libc::SIG_IGN {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        }
    }
}

/// From now on an interrupt of the terminal is for the other processes that use it.
pub fn ignore_interrupts() {
    // SAFETY: takes no memory.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
}

/// Launches a program. From then on signals that ask us to stop are for it.
///
/// # Errors
/// If it cannot be launched.
pub fn launch(launch: Launch) -> Result<Stopped, LaunchError> {
    // Before the program is there, so that nothing reaches that alone. Where there can be none, `stop` does without.
    if BYSTANDER.get().is_none()
        && let Ok(bystander) = Bystander::start(&PASSED_ON)
    {
        BYSTANDER.get_or_init(|| bystander);
    }
    let stopped = launch.stopped()?;
    leave_to(stopped.pid());
    Ok(stopped)
}

/// From now on signals that ask us to stop are for this process.
pub fn leave_to(pid: i32) {
    PROGRAM.store(pid, Ordering::SeqCst);
    outlive();
}

/// The program has ended: its process id may soon be another's.
pub fn program_ended() {
    PROGRAM.store(0, Ordering::SeqCst);
}

/// No further program will be launched.
pub fn no_more_programs() {
    BYSTANDER.get().into_iter().for_each(Bystander::dismiss);
}

/// The signal that asked us to stop, if any did.
pub fn interruption() -> Option<i32> {
    match INTERRUPTION.load(Ordering::SeqCst) {
        0 => None,
        signal => Some(signal),
    }
}

/// The signal that asked us to stop, if any did, behind a program that ended so. A terminal's signal is sent to the program
/// and to us at once, but a thread of ours that has yet to run handles it.
pub fn interruption_behind(exit: Exit) -> Option<i32> {
    const LATE: Duration = Duration::from_millis(300);
    if let Exit::Signal(signal) = exit
        && STOPPING.contains(&signal)
    {
        let until = Instant::now() + LATE;
        while interruption().is_none() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }
    interruption()
}

extern "C" fn stop(signal: libc::c_int, about: *const libc::siginfo_t, _: *const libc::c_void) {
    let pid = PROGRAM.load(Ordering::SeqCst);
    if STOPPING.contains(&signal) && !Inherited::at_start().ignored(signal) {
        let now_ns = monotonic_ns();
        INTERRUPTION.store(signal, Ordering::SeqCst);
        let first = FIRST_ASKED_NS.compare_exchange(0, now_ns, Ordering::SeqCst, Ordering::SeqCst);
        // Some ask at once us and our group, as `timeout` does.
        let repeated = first.is_err_and(|first_ns| now_ns.saturating_sub(first_ns) > AT_ONCE_NS);
        if pid == 0 && repeated && !ATTACHED.load(Ordering::SeqCst) {
            // Whoever asks twice while nothing runs does not want to wait for the profile.
            no_more_programs();
            let _ = rustix::io::write(stderr(), b"timewise: asked to end once more: nothing is saved\n");
            timewise_target::end::by_signal(signal);
        }
    }
    if pid > 0 {
        // SAFETY: the kernel gives a valid structure.
        pass_on_unless_it_has_it(pid, unsafe { &*about });
    }
}

/// In the handler of a signal, of which this is what the kernel says.
fn pass_on_unless_it_has_it(pid: i32, about: &libc::siginfo_t) {
    // SAFETY: the place is this thread's, and what the handler interrupted may be about to read it; the others take
    // no memory.
    let (error, is_of_our_group) =
        unsafe { (*libc::__errno_location(), libc::getpgid(pid) == libc::getpgrp()) };
    let is_seen_to = is_of_our_group
        && (BYSTANDER.get().is_some_and(|bystander| bystander.ask(pid, about))
            // Without one that much is known: what a terminal sends goes to all of a group.
            || about.si_code == libc::SI_KERNEL);
    if !is_seen_to {
        pass_on(pid, about);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = error };
}
