//! What a profile says of one execution of a program, whatever is collected of it.

use crate::family;
use crate::launch::Ended;
use crate::machine;
use crate::status::{Status, ticks_per_second};
use crate::subject::Subject;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use timewise_profile::{Exit, Machine, Run, RunKind};

/// A time during which a program was observed that ran before.
#[derive(Clone, Copy, Debug)]
pub struct Period {
    began: Instant,
    started_unix_ns: i64,
    elapsed: Duration,
    /// CPU time, user and kernel, in the system's ticks: what it had used before, then what it used meanwhile.
    ticks: (u64, u64),
}

impl Period {
    /// It begins now, for process `pid`.
    pub fn begin(pid: i32) -> Period {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Period {
            began: Instant::now(),
            started_unix_ns: since.map_or(0, |since| since.as_nanos() as i64),
            elapsed: Duration::ZERO,
            ticks: ticks(pid).unwrap_or_default(),
        }
    }

    /// It is over. Of a process that is gone nobody knows what CPU time it used.
    pub fn end(&mut self, pid: i32) {
        self.elapsed = self.began.elapsed();
        let (user, kernel) = ticks(pid).unwrap_or(self.ticks);
        self.ticks = (user.saturating_sub(self.ticks.0), kernel.saturating_sub(self.ticks.1));
    }
}

/// What must be said of the processes that descend from process `pid` by now, if only those that it starts later are
/// observed, and how they can be; nothing if there are none.
pub fn others_not_observed(pid: i32, advice: &str) -> Option<String> {
    match others(pid) {
        0 => None,
        1 => Some(format!("1 process that it had started before is not observed: {advice}")),
        some => Some(format!("{some} processes that it had started before are not observed: {advice}")),
    }
}

/// How the processes that one has started can be observed, where it takes an attach for each.
pub const ATTACH_TO_EACH: &str = "attach to each by its own --pid";

/// How many processes descend from one; without us and whom we do this for, if a shell attaches to itself.
fn others(pid: i32) -> usize {
    let own = [pid, std::process::id() as i32, std::os::unix::process::parent_id() as i32];
    family::descendants(pid).into_iter().filter(|other| !own.contains(other)).count()
}

fn ticks(pid: i32) -> Option<(u64, u64)> {
    let status = Status::of_process(pid)?;
    Some((status.cpu_ticks - status.kernel_ticks, status.kernel_ticks))
}

/// What must be said of so many processes of a program that still run when that has ended; nothing of none.
pub fn outlived_by(processes: usize) -> Option<String> {
    (processes > 0).then(|| {
        format!(
            "{processes} of the program's processes still ran when it ended; what they did later is not here: keep it in \
             the foreground, or profile what stays with --pid"
        )
    })
}

/// The row of a run of a program that was observed for a period, likewise.
pub fn row_of_period(kind: RunKind, subject: Subject, period: &Period) -> Run {
    let time = |ticks: u64| Duration::from_nanos(ticks * (1_000_000_000 / ticks_per_second()));
    let ended = Ended {
        wait_status: 0,
        started_unix_ns: period.started_unix_ns,
        elapsed: period.elapsed,
        user: time(period.ticks.0),
        kernel: time(period.ticks.1),
        max_resident_bytes: 0,
    };
    Run { exit: Exit::Unknown, ..row(kind, subject, &ended) }
}

/// The row of a run that has ended, without a clock and warnings.
pub fn row(kind: RunKind, subject: Subject, ended: &Ended) -> Run {
    let Subject { command, directory, environment, randomised_addresses } = subject;
    Run {
        command,
        directory,
        environment,
        started_unix_ns: ended.started_unix_ns,
        elapsed_ns: ended.elapsed.as_nanos() as u64,
        user_ns: ended.user.as_nanos() as u64,
        kernel_ns: ended.kernel.as_nanos() as u64,
        exit: exit_of(ended.wait_status),
        randomised_addresses,
        machine: Machine {
            processor: machine::processor_name(),
            kernel: machine::kernel_release(),
            cpus: machine::online_processors().len() as u32,
        },
        ..Run::new(kind)
    }
}

/// How a program ended, by what the system says of it.
pub fn exit_of(wait_status: i32) -> Exit {
    if libc::WIFEXITED(wait_status) {
        Exit::Code(libc::WEXITSTATUS(wait_status))
    } else if libc::WIFSIGNALED(wait_status) {
        Exit::Signal(libc::WTERMSIG(wait_status))
    } else {
        Exit::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Launch;

    #[test]
    fn a_run_tells_how_it_ended() {
        for (script, exit) in [("exit 3", Exit::Code(3)), ("kill -TERM $$", Exit::Signal(libc::SIGTERM))] {
            let mut launch = Launch::new("sh");
            launch.arguments = vec!["-c".into(), script.into()];
            let stopped = launch.stopped().unwrap();
            let subject = Subject::of(stopped.pid() as u32).unwrap();
            let run = row(RunKind::Counting, subject, &stopped.release().unwrap().wait().unwrap());
            assert_eq!((run.exit, &run.command[2][..]), (exit, script.as_bytes()));
            assert!(run.elapsed_ns > 0 && run.machine.cpus > 0);
        }
    }
}
