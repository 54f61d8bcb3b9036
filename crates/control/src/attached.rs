//! The command `timewise`, attached to our own process: begun and ended so that the program notices no child.

use std::ffi::{CStr, CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

/// How often it is looked whether tracing has begun.
const GLANCE: Duration = Duration::from_millis(1);

/// Longer than any program runs.
const FOR_EVER: &str = "100000h";

/// An error number of the system's.
pub type Errno = i32;

/// The command, while it traces us.
#[derive(Debug)]
pub struct Attached {
    pid: libc::pid_t,
}

impl Attached {
    /// Starts it, and waits until it is in our process.
    ///
    /// # Errors
    /// `ENOENT` if there is no such command, `EPERM` if it cannot attach, or what the system refused.
    pub fn start(path: &CStr, rate: u32, length: u32) -> Result<Attached, Errno> {
        let [own, path_of_commands] = ["TIMEWISE", "PATH"].map(std::env::var_os);
        let program = command(own, path_of_commands).ok_or(libc::ENOENT)?;
        let pid = std::process::id().to_string();
        let (rate, length) = (rate.to_string(), length.to_string());
        let words =
            ["timewise", "branches", "--quiet", "-F", &rate, "--length", &length, "--pid", &pid, "--for"];
        let mut arguments: Vec<CString> =
            words.iter().chain(&[FOR_EVER, "-o"]).filter_map(|word| CString::new(*word).ok()).collect();
        arguments.push(path.into());
        // One that was killed may have left some of it.
        let left = mapped();
        let attached = Attached { pid: spawn(&program, &arguments)? };
        loop {
            // It tells by what it maps.
            let mapped = mapped();
            if !mapped.is_empty() && mapped != left {
                allow_tracing_by(0);
                return Ok(attached);
            }
            if attached.waited(libc::WNOHANG).is_some() {
                allow_tracing_by(0);
                return Err(libc::EPERM);
            }
            std::thread::sleep(GLANCE);
        }
    }

    /// Ends it, and waits until it has written its profile: 0, or `EIO`.
    pub fn stop(self) -> Errno {
        allow_tracing_by(self.pid);
        // SAFETY: passes no memory; the process is our child, not yet waited for.
        unsafe { libc::kill(self.pid, libc::SIGINT) };
        let status = self.waited(0);
        allow_tracing_by(0);
        if status == Some(0) { 0 } else { libc::EIO }
    }

    /// Its wait status, if it has ended.
    fn waited(&self, options: i32) -> Option<i32> {
        let mut status = 0;
        loop {
            // SAFETY: the result goes to a live local.
            match unsafe { libc::waitpid(self.pid, &mut status, options | libc::__WALL) } {
                0 => return None,
                -1 if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
                // Somebody else waited for it: how it ended is not known.
                -1 => return Some(-1),
                _ => return Some(status),
            }
        }
    }
}

/// What stands in the list of mappings while we are traced.
const MAPPED: &str = "memfd:timewise";

/// The lines of that list that say so: by the file's number each tracer differs from the one before.
fn mapped() -> Vec<String> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    maps.lines().filter(|line| line.contains(MAPPED)).map(String::from).collect()
}

/// The command: where the environment says, or on the path.
fn command(own: Option<OsString>, path: Option<OsString>) -> Option<CString> {
    let path = path.unwrap_or_default();
    let mut on_path = std::env::split_paths(&path).map(|folder| folder.join("timewise"));
    let file = match own {
        Some(own) => Some(PathBuf::from(own)).filter(|file| file.is_file()),
        None => on_path.find(|file| file.is_file()),
    };
    CString::new(OsString::from(file?).into_vec()).ok()
}

/// Lets a process trace us where Yama restricts that to ancestors; 0 for none.
fn allow_tracing_by(pid: libc::pid_t) {
    // SAFETY: passes no memory. Where there is no Yama it is refused, and not needed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, pid as libc::c_ulong, 0, 0, 0) };
}

/// Starts a program as a child whose end sends no `SIGCHLD`, and for which only a wait of its own kind waits.
fn spawn(program: &CStr, arguments: &[CString]) -> Result<libc::pid_t, Errno> {
    let mut pointers: Vec<*const libc::c_char> = arguments.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let mut gate = [0; 2];
    // SAFETY: the system fills both.
    if unsafe { libc::pipe2(gate.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO));
    }
    let no_signal_at_its_end = 0;
    // SAFETY: as `fork`, but for the signal: the child has a copy of our memory and this thread alone.
    let pid = unsafe { libc::syscall(libc::SYS_clone, no_signal_at_its_end, 0, 0, 0, 0) } as libc::pid_t;
    if pid == 0 {
        // SAFETY: system calls alone, on what was made before; it ends by becoming the program, or at once.
        unsafe { become_the_program(program, &pointers, gate) }
    }
    let failed = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    if pid > 0 {
        allow_tracing_by(pid);
    }
    // SAFETY: descriptors of our own. Closing them opens the gate.
    unsafe {
        libc::close(gate[0]);
        libc::close(gate[1]);
    }
    if pid > 0 { Ok(pid) } else { Err(failed) }
}

/// In the child: waits until the parent allows tracing, and executes the program with all signals as by default and no
/// descriptor but standard ones.
///
/// # Safety
/// Only in a child that `spawn` made.
unsafe fn become_the_program(program: &CStr, arguments: &[*const libc::c_char], gate: [i32; 2]) -> ! {
    // SAFETY: what comes before `execv` concerns descriptors and signals of our own; `arguments` ends with a null.
    unsafe {
        libc::close(gate[1]);
        let mut byte = 0_u8;
        libc::read(gate[0], (&raw mut byte).cast(), 1);
        // What is ignored stays so in what is executed: interrupts, one of which is to end it, where a script has started
        // us in the background.
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        libc::dup2(nothing, 0);
        libc::dup2(nothing, 1);
        libc::execv(program.as_ptr(), arguments.as_ptr());
        libc::_exit(127)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_where_the_environment_says_or_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("timewise");
        let path = || Some(folder.path().into());
        assert_eq!(command(None, path()), None);
        std::fs::write(&file, "").unwrap();
        let found = CString::new(file.clone().into_os_string().into_vec()).unwrap();
        assert_eq!(command(None, path()), Some(found.clone()));
        assert_eq!(command(Some(file.into()), None), Some(found));
        assert_eq!(command(Some("/nonexistent".into()), path()), None);
    }
}
