//! What a profile says of one execution of a program, whatever is collected of it.

use crate::family;
use crate::launch::Ended;
use crate::machine;
use crate::status::{Status, ticks_per_second};
use crate::subject::Subject;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use timewise_profile::{Exit, Machine, Run, RunKind};

/// A time during which a program was observed that ran before.
#[derive(Clone, Debug)]
pub struct Period {
    began: Instant,
    started_unix_ns: i64,
    elapsed: Duration,
    /// What it had used before itself, and the children that it had waited for.
    before: [Ticks; 2],
    /// The children that it had before, which are not observed.
    children: Vec<i32>,
    /// What was used meanwhile by all that are observed.
    used: Ticks,
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
            before: ticks(pid).unwrap_or_default(),
            children: family::children(pid),
            used: (0, 0),
        }
    }

    /// It is over. Of a process that is gone nobody knows what CPU time it used.
    pub fn end(&mut self, pid: i32) {
        self.elapsed = self.began.elapsed();
        let [own, waited_for] = ticks(pid).unwrap_or(self.before);
        self.used = less(own, self.before[0]);
        let children = family::children(pid);
        // Once it has waited for a child that it had before, what others used cannot be told from all that this one did.
        if self.children.iter().all(|child| children.contains(child)) {
            self.used = plus(self.used, less(waited_for, self.before[1]));
        }
        let later = children.into_iter().filter(|child| !self.children.contains(child));
        for [own, waited_for] in later.flat_map(family::descendants).filter_map(ticks) {
            self.used = plus(self.used, plus(own, waited_for));
        }
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

/// What a process has used itself, and the children that it waited for.
fn ticks(pid: i32) -> Option<[Ticks; 2]> {
    let Status { cpu_ticks, kernel_ticks, waited_ticks, .. } = Status::of_process(pid)?;
    Some([(cpu_ticks - kernel_ticks, kernel_ticks), waited_ticks])
}

fn plus(one: Ticks, other: Ticks) -> Ticks {
    (one.0 + other.0, one.1 + other.1)
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
        user: time(period.used.0),
        kernel: time(period.used.1),
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
        let sum = |all: [Ticks; 2]| all.into_iter().map(|(user, kernel)| user + kernel).sum::<u64>();
        let (own, waited_for) = (Status::of_process(pid).unwrap().cpu_ticks, sum(ticks(pid).unwrap()));
        let later: u64 = others(pid).into_iter().filter_map(ticks).map(sum).sum();
        period.end(pid);
        drop(input);
        shell.wait().unwrap();
        let used = period.used.0 + period.used.1;
        assert!(waited_for > own && later > 0, "{own} {waited_for} {later}");
        assert!(used.abs_diff(waited_for + later) <= 2, "{used}, {waited_for}, {later}");
    }
}
