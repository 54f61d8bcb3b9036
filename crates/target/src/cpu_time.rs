//! CPU time that processes and threads of others have used, to the nanosecond, and the clock that events are told by.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// CPU time of a whole process up to now; `None` if there is no such process.
pub fn of_process(pid: i32) -> Option<Duration> {
    // How the kernel numbers the clocks of processes: the id inverted, and the kind "as scheduled".
    const SCHEDULED: i32 = 2;
    read((!pid << 3) | SCHEDULED)
}

/// Now, on the clock that the kernel's events are told by: the monotonic one, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or_default().as_nanos() as u64
}

/// CPU time that the calling thread has used.
pub fn of_this_thread() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

fn read(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the kernel fills the structure on success.
    unsafe {
        (libc::clock_gettime(clock, time.as_mut_ptr()) == 0).then(|| {
            let time = time.assume_init();
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        })
    }
}

/// What the scheduler did with a thread so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// CPU time. While the thread runs it lags by up to a tick of the scheduler; once it is off its processor
    /// it is exact.
    pub ran_ns: u64,
    /// Time that it waited for a processor.
    pub queued_ns: u64,
    /// How often it got one.
    pub times: u64,
}

/// The scheduler's account of a thread.
#[derive(Debug)]
pub struct ThreadAccount(File);

impl ThreadAccount {
    /// Opens the account of a thread.
    ///
    /// # Errors
    /// The system's: `ENOENT` if the thread is gone, or in a kernel that keeps none.
    pub fn open(pid: i32, tid: i32) -> io::Result<ThreadAccount> {
        File::open(format!("/proc/{pid}/task/{tid}/schedstat")).map(ThreadAccount)
    }

    /// How it stands; `None` if the thread is gone.
    pub fn read(&self) -> Option<Turns> {
        let mut text = [0; 80];
        let length = self.0.read_at(&mut text, 0).ok()?;
        let mut numbers = str::from_utf8(&text[..length]).ok()?.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Turns { ran_ns: next()?, queued_ns: next()?, times: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows_on_the_clock_and_in_the_account() {
        let pid = std::process::id() as i32;
        // SAFETY: takes no memory.
        let account = ThreadAccount::open(pid, unsafe { libc::gettid() }).unwrap();
        let (clock, turns) = (of_process(pid).unwrap(), account.read().unwrap());
        while of_process(pid).unwrap() < clock + Duration::from_millis(20) {}
        std::thread::sleep(Duration::from_millis(1));
        let later = account.read().unwrap();
        assert!(later.times > turns.times && later.ran_ns > turns.ran_ns, "{turns:?} {later:?}");
        // The largest id that any system gives is below.
        assert_eq!(of_process(1 << 23), None);
    }
}
