//! What a profile says of one execution of a program, whatever is collected of it.

use crate::family;
use crate::launch::Ended;
use crate::machine;
use crate::status::{Status, ticks_per_second};
use crate::subject::Subject;
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use timewise_profile::{Exit, Machine, Run, RunKind};

/// A time during which a program was observed that ran before.
#[derive(Clone, Debug)]
pub struct Period {
    began: Instant,
    started_unix_ns: i64,
    elapsed: Duration,
    /// CPU time, user and kernel, in the system's ticks, with that of the children that were waited for: what it had used
    /// before, then what was used meanwhile.
    ticks: Ticks,
    /// The children that it had before, which are not observed, with what they had used.
    children: BTreeMap<i32, Ticks>,
    /// All that descended from it before.
    others: Vec<i32>,
}

/// CPU time, user and kernel, in the system's ticks.
type Ticks = (u64, u64);

impl Period {
    /// It begins now, for process `pid`.
    pub fn begin(pid: i32) -> Period {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Period {
            began: Instant::now(),
            started_unix_ns: since.map_or(0, |since| since.as_nanos() as i64),
            elapsed: Duration::ZERO,
            ticks: ticks(pid).unwrap_or_default(),
            children: family::children(pid)
                .into_iter()
                .filter_map(|child| Some((child, ticks(child)?)))
                .collect(),
            others: others(pid),
        }
    }

    /// It is over. Of a process that is gone nobody knows what CPU time it used.
    pub fn end(&mut self, pid: i32) {
        self.elapsed = self.began.elapsed();
        let mut used = less(ticks(pid).unwrap_or(self.ticks), self.ticks);
        let now = others(pid);
        // Of a child that it had before, all is accounted to it that this ever used once it has waited for it.
        for (_, before) in self.children.iter().filter(|(child, _)| !now.contains(child)) {
            used = less(used, *before);
        }
        for (user, kernel) in
            now.iter().filter(|other| !self.others.contains(other)).filter_map(|&other| ticks(other))
        {
            used = (used.0 + user, used.1 + kernel);
        }
        self.ticks = used;
    }
}

/// What must be said of the processes that descend from process `pid` by now, if only those that it starts later are
/// observed, and how they can be; nothing if there are none.
pub fn others_not_observed(pid: i32, advice: &str) -> Option<String> {
    match others(pid).len() {
        0 => None,
        1 => Some(format!("1 process that it had started before is not observed: {advice}")),
        some => Some(format!("{some} processes that it had started before are not observed: {advice}")),
    }
}

/// How the processes that one has started can be observed, where it takes an attach for each.
pub const ATTACH_TO_EACH: &str = "attach to each by its own --pid";

/// The processes that descend from one; without us and whom we do this for, if a shell attaches to itself.
fn others(pid: i32) -> Vec<i32> {
    let own = [pid, std::process::id() as i32, std::os::unix::process::parent_id() as i32];
    family::descendants(pid).into_iter().filter(|other| !own.contains(other)).collect()
}

/// What a process has used, with the children that it waited for.
fn ticks(pid: i32) -> Option<Ticks> {
    let Status { cpu_ticks, kernel_ticks, waited_ticks: (user, kernel), .. } = Status::of_process(pid)?;
    Some((cpu_ticks - kernel_ticks + user, kernel_ticks + kernel))
}

fn less(all: Ticks, some: Ticks) -> Ticks {
    (all.0.saturating_sub(some.0), all.1.saturating_sub(some.1))
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
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

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

    /// A shell that waits for a child which computes, and has another for which it does not wait.
    #[test]
    fn a_period_tells_what_a_process_and_its_children_used() {
        const BUSY: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let script = format!("read l; ({BUSY}; :); ({BUSY}; echo; sleep 1) & read l");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let pid = shell.id() as i32;
        let (mut input, mut output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        let mut period = Period::begin(pid);
        input.write_all(b"\n").unwrap();
        output.read_exact(&mut [0]).unwrap();
        let (own, waited_for) = (Status::of_process(pid).unwrap().cpu_ticks, ticks(pid).unwrap());
        let later = others(pid).into_iter().filter_map(ticks);
        let later = later.fold((0, 0), |sum, used| (sum.0 + used.0, sum.1 + used.1));
        period.end(pid);
        drop(input);
        shell.wait().unwrap();
        let [used, waited_for, later] = [period.ticks, waited_for, later].map(|(user, kernel)| user + kernel);
        assert!(waited_for > own && later > 0, "{own} {waited_for} {later}");
        assert!(used.abs_diff(waited_for + later) <= 2, "{used}, {waited_for}, {later}");
    }
}
