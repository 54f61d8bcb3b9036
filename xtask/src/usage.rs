//! Waiting for a child and learning what it used: the standard library does not tell.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// How a child ended.
#[derive(Debug)]
pub struct Usage {
    /// Its exit status.
    pub status: ExitStatus,
    /// User CPU time, of processes that it waited for too.
    pub user: Duration,
    /// Kernel CPU time, likewise.
    pub kernel: Duration,
    /// Most memory that it had at once, in kilobytes.
    pub peak_kilobytes: u64,
}

/// Waits for the child's end.
///
/// # Errors
/// The system's.
pub fn wait_with_usage(child: Child) -> io::Result<Usage> {
    let pid = child.id() as libc::pid_t;
    let mut status = 0;
    // SAFETY: all zeroes are a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both results go to live locals.
        if unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    Ok(Usage {
        status: ExitStatus::from_raw(status),
        user: time(usage.ru_utime),
        kernel: time(usage.ru_stime),
        peak_kilobytes: usage.ru_maxrss as u64,
    })
}
