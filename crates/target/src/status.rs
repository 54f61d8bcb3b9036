//! What `/proc/PID/stat` and its like say of a process or thread.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// A process or thread at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// It runs, or would if a processor were free.
    pub running: bool,
    /// It was stopped, as by `SIGSTOP`, and does not run until it is to go on.
    pub stopped: bool,
    /// It has ended, and its parent has not taken note of that.
    pub ended: bool,
    /// It is a thread of a process that executes none of its code, but the kernel's, as `io_uring` makes them: it cannot be
    /// made to do anything.
    pub of_the_kernel: bool,
    /// Id of the process that it descends from.
    pub parent: i32,
    /// CPU time used, in the system's clock ticks.
    pub cpu_ticks: u64,
    /// What of that passed in the kernel, likewise.
    pub kernel_ticks: u64,
    /// What the children that it waited for had used, with theirs: user and kernel, likewise.
    pub waited_ticks: (u64, u64),
    /// When it began, in ticks of that clock since the system did.
    pub started: u64,
    /// Bytes mapped.
    pub mapped_bytes: u64,
    /// Which program it executes.
    pub image: ProgramImage,
    /// Processor that it ran on last.
    pub processor: u32,
}

/// Where the kernel laid out a program when it was executed. Another program, or the same executed again,
/// differs in some of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramImage {
    code: (u64, u64),
    stack: u64,
    arguments: u64,
    environment: u64,
}

/// What `/proc/PID/status` says of something, by its name; nothing if it does not.
pub(crate) fn field<'a>(status: &'a str, name: &str) -> &'a str {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map_or("", str::trim)
}

/// Ticks of the system's clock in a second.
pub fn ticks_per_second() -> u64 {
    // SAFETY: passes no memory.
    unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64
}

/// When process `pid` began, in nanoseconds since the Unix epoch, to a tick of the clock; `None` if it is gone or hidden.
pub fn began_unix_ns(pid: i32) -> Option<i64> {
    let started_s = Status::of_process(pid)?.started as f64 / ticks_per_second() as f64;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime_s: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(now.as_nanos() as i64 - ((uptime_s - started_s) * 1e9) as i64)
}

impl Status {
    /// The process `pid` as a whole; `None` if it is gone or hidden.
    pub fn of_process(pid: i32) -> Option<Status> {
        Status::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// What part of its CPU time passed in the kernel.
    pub fn kernel_share(&self) -> f64 {
        self.kernel_ticks as f64 / self.cpu_ticks.max(1) as f64
    }

    /// Whether it has ended, or is about to: it has no memory any more, as threads of the kernel never have.
    pub fn is_at_its_end(&self) -> bool {
        self.ended || self.mapped_bytes == 0
    }

    /// One thread of it, likewise.
    pub fn of_thread(pid: i32, tid: i32) -> Option<Status> {
        Status::parse(&fs::read(format!("/proc/{pid}/task/{tid}/stat")).ok()?)
    }

    /// The process that a thread belongs to; `None` if it is gone or hidden.
    pub fn process_of(tid: i32) -> Option<i32> {
        crate::seize::process_of(tid).ok()
    }

    /// The name, in parentheses, may hold any bytes.
    pub(crate) fn parse(line: &[u8]) -> Option<Status> {
        let line = String::from_utf8_lossy(line);
        let (name, rest) = line.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // By proc(5), where the first is the third here: the state.
        let field = |number: usize| fields.get(number - 3).copied();
        let number = |at| field(at).and_then(|text| text.parse::<u64>().ok());
        let state = field(3)?;
        /// The kernel's `PF_IO_WORKER` and `PF_USER_WORKER`.
        const WORKER: u64 = 0x10 | 0x4000;
        Some(Status {
            name: name.split_once('(')?.1.to_string(),
            running: state == "R",
            stopped: state == "T",
            ended: matches!(state, "Z" | "X"),
            of_the_kernel: number(9).unwrap_or_default() & WORKER != 0,
            parent: field(4)?.parse().ok()?,
            cpu_ticks: number(14)? + number(15)?,
            kernel_ticks: number(15)?,
            waited_ticks: (number(16).unwrap_or_default(), number(17).unwrap_or_default()),
            started: number(22).unwrap_or_default(),
            mapped_bytes: number(23).unwrap_or_default(),
            image: ProgramImage {
                code: (number(26).unwrap_or_default(), number(27).unwrap_or_default()),
                stack: number(28).unwrap_or_default(),
                arguments: number(48).unwrap_or_default(),
                environment: number(50).unwrap_or_default(),
            },
            processor: number(39).unwrap_or_default() as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_began_before_now() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
        let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        let began = began_unix_ns(child.id() as i32).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!((began - now).abs() < 2_000_000_000, "{began} {now}");
        assert!(began_unix_ns(std::process::id() as i32).unwrap() <= now);
    }

    #[test]
    fn a_status_is_read_whatever_the_name() {
        let line = b"7 (a) (b) S 3 7 7 0 -1 4194560 91 0 0 0 12 30 0 0 20 0 1 0 5 6 7";
        let status = Status::parse(line).unwrap();
        assert_eq!((status.name.as_str(), status.parent, status.cpu_ticks), ("a) (b", 3, 42));
        assert!(
            !status.running
                && !status.stopped
                && !status.ended
                && !status.of_the_kernel
                && status.mapped_bytes == 6
        );
        assert_eq!(status.started, 5);
        let worker = b"7 (iou-wrk-6) S 3 7 7 0 -1 4210768 0 0 0 0 12 30 0 0 20 0 1 0 5 6 7";
        assert!(Status::parse(worker).unwrap().of_the_kernel);
        assert!(!status.is_at_its_end());
        assert!(Status { ended: true, ..status.clone() }.is_at_its_end());
        assert!(Status { mapped_bytes: 0, ..status }.is_at_its_end());
        assert_eq!(Status::parse(b"7 (a"), None);
    }

    #[test]
    fn our_own_thread_runs_our_own_program() {
        let pid = std::process::id() as i32;
        // SAFETY: takes no memory.
        let tid = unsafe { libc::gettid() };
        let (thread, process) = (Status::of_thread(pid, tid).unwrap(), Status::of_process(pid).unwrap());
        assert!(thread.running && thread.image == process.image && thread.image != ProgramImage::default());
        assert_eq!(thread.parent, std::os::unix::process::parent_id() as i32);
    }
}
