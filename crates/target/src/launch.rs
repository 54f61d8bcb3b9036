//! Launching a program stopped at its first instruction, before even the dynamic loader has run.

use crate::environment::Environment;
use crate::inherited::Inherited;
use crate::machine::{self, PROC_OF_OTHERS};
use crate::program;
use crate::remedy::remedy;
use crate::seize;
use crate::untraceable::Untraceable;
use std::ffi::OsString;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Why a program could not be launched.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// No such program (exit status 127).
    #[error("{}", not_found(.0))]
    NotFound(String),
    /// It exists but cannot be executed (exit status 126).
    #[error("{path}: {why}")]
    NotExecutable {
        /// What was asked for.
        path: String,
        /// Why not, and what to do.
        why: String,
    },
    /// What the kernel says of processes is out of reach, as in a bare `chroot`.
    #[error("cannot observe {0}: there is no /proc; mount it: mount -t proc proc /proc")]
    NoProc(String),
    /// What the kernel says of processes is said of others.
    #[error("cannot observe {0}: {PROC_OF_OTHERS}")]
    ProcOfOthers(String),
    /// Programs may not be traced here, so that none can be stopped before its first instruction.
    #[error("cannot launch {path} under ptrace: {why}")]
    Untraceable {
        /// What was asked for.
        path: String,
        /// Why not, and what to do.
        why: Untraceable,
    },
    /// The system refused something that launching needs.
    #[error("cannot launch {path}: {what}: {cause}; {}", remedy(.cause))]
    System {
        /// What was asked for.
        path: String,
        /// The operation.
        what: &'static str,
        /// The system's reason.
        cause: io::Error,
    },
}

fn not_found(program: &str) -> String {
    match program {
        "" => "the name of the program is empty; name one".into(),
        _ => format!("{program}: not found; check the path, or that it is in PATH"),
    }
}

impl LaunchError {
    /// That the program in a file leaves no room for us, as `sanitiser`, which it is compiled for, has all of its
    /// addresses.
    pub fn no_room(file: &Path, sanitiser: &str) -> LaunchError {
        let path = std::fs::canonicalize(file).unwrap_or_else(|_| file.into()).display().to_string();
        let why = format!(
            "{sanitiser}, which it is compiled for, leaves no addresses for what timewise puts into it; compile it \
             without, or only sample it: timewise sample"
        );
        LaunchError::NotExecutable { path, why }
    }
}

/// What to launch, and how.
#[derive(Debug)]
pub struct Launch {
    /// Path or name of the program; a name without a slash is looked for in `PATH`.
    pub program: OsString,
    /// Arguments after the program's name.
    pub arguments: Vec<OsString>,
    /// Variables to set on top of the inherited environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Standard input.
    pub stdin: Stdio,
    /// Standard output.
    pub stdout: Stdio,
    /// Standard error.
    pub stderr: Stdio,
    /// False fixes the address space layout.
    pub randomise_addresses: bool,
}

/// How a child ended and what it used.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Raw status as `waitpid` gives it.
    pub wait_status: i32,
    /// When it was released, nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// From release to end: what is done to the stopped child is not its time.
    pub elapsed: Duration,
    /// User CPU time of it and its waited-for children.
    pub user: Duration,
    /// Kernel CPU time, likewise.
    pub kernel: Duration,
    /// Largest resident size, bytes.
    pub max_resident_bytes: u64,
}

/// A child stopped at its first instruction under `ptrace`, which ends without having run an instruction unless it is
/// released. The thread that launched it must be the one that releases it: `ptrace` belongs to a thread.
#[derive(Debug)]
pub struct Stopped {
    pid: libc::pid_t,
}

/// A child that was launched and is stopped by `SIGSTOP`, untraced, so that any thread of ours may trace it for as long as it
/// lives. It ends without having run an instruction unless it is traced.
#[derive(Debug)]
pub struct Halted {
    pid: libc::pid_t,
}

/// A child that runs by itself.
#[derive(Debug)]
pub struct Running {
    pid: libc::pid_t,
    /// Becomes readable when it ends; `None` in a kernel older than 5.3, which has no such thing.
    end: Option<OwnedFd>,
    started: Instant,
    started_unix_ns: i64,
}

impl Launch {
    /// A launch of `program` with everything inherited.
    pub fn new(program: impl Into<OsString>) -> Launch {
        Launch {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            stdin: Stdio::inherit(),
            stdout: Stdio::inherit(),
            stderr: Stdio::inherit(),
            randomise_addresses: true,
        }
    }

    /// Starts the program and stops it after `exec`, before its first instruction.
    ///
    /// # Errors
    /// See [`LaunchError`].
    pub fn stopped(self) -> Result<Stopped, LaunchError> {
        let shown = self.program.to_string_lossy().into_owned();
        let file = program::resolve(&self.program)?;
        if !Path::new("/proc/self/stat").exists() {
            return Err(LaunchError::NoProc(shown));
        }
        if !machine::proc_is_ours() {
            return Err(LaunchError::ProcOfOthers(shown));
        }
        let system = |what| {
            let path = shown.clone();
            move |cause| LaunchError::System { path, what, cause }
        };
        // No variables are set here, which would take the place of those that are installed.
        let mut command = Command::new(&file);
        command.arg0(&self.program).args(&self.arguments);
        command.stdin(self.stdin).stdout(self.stdout).stderr(self.stderr);
        let randomise = self.randomise_addresses;
        let inherited = Inherited::at_start();
        let mut environment = Environment::with(self.environment);
        let before_exec = move || {
            inherited.restore();
            environment.install();
            // SAFETY: plain system calls without memory arguments, allowed between fork and exec.
            unsafe {
                if !randomise && libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) < 0 {
                    return Err(io::Error::last_os_error());
                }
                if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        };
        // SAFETY: the closure makes system calls only, and points the C library at the environment, which the launch
        // leaves as it is; it neither allocates nor takes locks.
        unsafe { command.pre_exec(before_exec) };
        let child = command.spawn().map_err(|cause| match cause.raw_os_error() {
            Some(libc::ENOEXEC | libc::EACCES) => LaunchError::NotExecutable {
                path: shown.clone(),
                why: format!("the system refuses to execute it: {cause}; check it with: file, ls -l"),
            },
            Some(libc::EPERM) => LaunchError::Untraceable { path: shown.clone(), why: Untraceable::here() },
            _ => LaunchError::System { path: shown.clone(), what: "exec under ptrace", cause },
        })?;
        let pid = child.id() as libc::pid_t;
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        while unsafe { libc::waitpid(pid, &mut status, 0) } != pid {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(system("wait")(error));
            }
        }
        if !libc::WIFSTOPPED(status) {
            return Err(system("exec")(io::Error::other("the program ended before its first instruction")));
        }
        Ok(Stopped { pid })
    }
}

impl Stopped {
    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Lets the child run, free of `ptrace`; one that has ended meanwhile is only to be waited for.
    ///
    /// # Errors
    /// The system's, if the child is gone or another thread launched it.
    pub fn release(self) -> io::Result<Running> {
        let pid = ManuallyDrop::new(self).pid;
        let started_unix_ns =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64);
        let started = Instant::now();
        // SAFETY: detaching passes no memory.
        if unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) } < 0 {
            let refused = io::Error::last_os_error();
            if !seize::ended(pid, pid, true)? {
                return Err(refused);
            }
        }
        Ok(Running { pid, end: descriptor(pid), started, started_unix_ns })
    }

    /// Has the child stand by `SIGSTOP` instead, to be seized: of what is traced from its beginning in any other way, it
    /// is not told whether its user stops it and has it go on. Were we killed before it is traced, it would stand until
    /// somebody has it go on.
    ///
    /// # Errors
    /// The system's, if the child is gone or another thread launched it.
    pub fn halt(self) -> io::Result<Halted> {
        let pid = self.pid;
        // SAFETY: passes no memory.
        if unsafe { libc::kill(pid, libc::SIGSTOP) < 0 || libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) < 0 } {
            return Err(io::Error::last_os_error());
        }
        let halted = Halted { pid: ManuallyDrop::new(self).pid };
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        while unsafe { libc::waitpid(pid, &mut status, libc::WUNTRACED) } != pid {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        match libc::WIFSTOPPED(status) {
            true => Ok(halted),
            false => {
                halted.leave_to_tracer();
                Err(io::Error::other("the program was killed before its first instruction"))
            }
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        end(self.pid);
    }
}

impl Halted {
    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// It is traced, and its end is for whoever traces it.
    pub(crate) fn leave_to_tracer(self) {
        let _ = ManuallyDrop::new(self);
    }
}

impl Drop for Halted {
    fn drop(&mut self) {
        end(self.pid);
    }
}

/// Ends a child that never ran.
fn end(pid: libc::pid_t) {
    // SAFETY: these pass no memory but an optional result that is not wanted.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL);
    }
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Waits for its end, but no longer than `pause`: whether it has ended.
    ///
    /// # Errors
    /// The system's, if somebody else waited for it.
    pub fn ends_within(&self, pause: Duration) -> io::Result<bool> {
        match &self.end {
            Some(end) => readable_within(end, pause),
            None if seize::ended(self.pid, self.pid, true)? => Ok(true),
            None => {
                std::thread::sleep(pause.min(UNNOTICED_END));
                seize::ended(self.pid, self.pid, true)
            }
        }
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// The system's, if somebody else waited for it.
    pub fn wait(self) -> io::Result<Ended> {
        let mut status = 0;
        // SAFETY: an all-zero rusage is a valid value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: both results point to live locals.
            if unsafe { libc::wait4(self.pid, &mut status, 0, &mut usage) } == self.pid {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        Ok(Ended {
            wait_status: status,
            started_unix_ns: self.started_unix_ns,
            elapsed: self.started.elapsed(),
            user: time(usage.ru_utime),
            kernel: time(usage.ru_stime),
            max_resident_bytes: usage.ru_maxrss as u64 * 1024,
        })
    }
}

/// Where nothing tells of the end of a process, it is looked for this often.
const UNNOTICED_END: Duration = Duration::from_millis(5);

/// A descriptor that becomes readable when the process ends.
fn descriptor(pid: libc::pid_t) -> Option<OwnedFd> {
    // SAFETY: takes no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    // SAFETY: the kernel just returned this descriptor; nobody else owns it.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn readable_within(fd: &OwnedFd, pause: Duration) -> io::Result<bool> {
    let mut polled = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let pause = libc::timespec { tv_sec: pause.as_secs() as i64, tv_nsec: pause.subsec_nanos().into() };
    // SAFETY: one live structure, as the count says, and a live time; the signal mask stays as it is.
    match unsafe { libc::ppoll(&mut polled, 1, &pause, std::ptr::null()) } {
        0 => Ok(false),
        1.. => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_noticed_in_old_and_new_kernels() {
        for descriptors in [true, false] {
            let (input, end) = io::pipe().unwrap();
            let mut launch = Launch::new("cat");
            launch.stdin = input.into();
            let launched = Instant::now();
            let mut running = launch.stopped().unwrap().release().unwrap();
            let released = Instant::now();
            running.end = running.end.filter(|_| descriptors);
            assert!(!running.ends_within(Duration::from_millis(20)).unwrap());
            let least = released.elapsed();
            drop(end);
            while !running.ends_within(Duration::from_secs(10)).unwrap() {}
            let ended = running.wait().unwrap();
            assert!((least..launched.elapsed()).contains(&ended.elapsed), "{ended:?}");
        }
    }

    #[test]
    fn stopped_child_runs_after_release_and_keeps_its_status() {
        let mut launch = Launch::new("sh");
        launch.arguments = vec!["-c".into(), "exit 7".into()];
        let ended = launch.stopped().unwrap().release().unwrap().wait().unwrap();
        assert!(libc::WIFEXITED(ended.wait_status));
        assert_eq!(libc::WEXITSTATUS(ended.wait_status), 7);
    }

    #[test]
    fn a_child_that_is_not_released_runs_nothing() {
        let stopped = Launch::new("true").stopped().unwrap();
        let process = format!("/proc/{}", stopped.pid());
        assert!(Path::new(&process).exists());
        drop(stopped);
        assert!(!Path::new(&process).exists());
    }
}
