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
    /// What it had used before itself, and the children that it had waited for.
    before: [Ticks; 2],
    /// Likewise when it was looked at last.
    latest: [Ticks; 2],
    /// The children that it had before, which are not observed, and what each had used when it was looked at last.
    former: BTreeMap<i32, Ticks>,
    /// All children that it had when it was looked at last.
    children: Vec<i32>,
    next_look: Instant,
    /// What was used meanwhile by all that are observed.
    used: Ticks,
}

/// CPU time, user and kernel, in the system's ticks.
type Ticks = (u64, u64);

/// A process is looked at this often at most, and so much less often that it takes a fiftieth of one processor.
const LOOKS: Duration = Duration::from_millis(10);
const PAUSES: u32 = 50;

impl Period {
    /// It begins now, for process `pid`.
    pub fn begin(pid: i32) -> Period {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let (began, before) = (Instant::now(), ticks(pid).unwrap_or_default());
        let children = family::children(pid);
        Period {
            began,
            started_unix_ns: since.map_or(0, |since| since.as_nanos() as i64),
            elapsed: Duration::ZERO,
            before,
            latest: before,
            former: children.iter().map(|&child| (child, ticks(child).map_or((0, 0), all))).collect(),
            children,
            next_look: began,
            used: (0, 0),
        }
    }

    /// Looks at it, if it is time for that: when it is gone nobody knows what CPU time it used. To be called every few
    /// milliseconds.
    pub fn look(&mut self, pid: i32) {
        let now = Instant::now();
        if now < self.next_look {
            return;
        }
        if let Some(latest) = ticks(pid) {
            self.latest = latest;
            self.children = family::children(pid);
            for (child, used) in &mut self.former {
                *used = ticks(*child).map_or(*used, all);
            }
        }
        self.next_look = Instant::now() + LOOKS.max(now.elapsed() * PAUSES);
    }

    /// It is over.
    pub fn end(&mut self, pid: i32) {
        self.elapsed = self.began.elapsed();
        self.next_look = self.began;
        self.look(pid);
        let [own, waited_for] = [0, 1].map(|at| less(self.latest[at], self.before[at]));
        // A child that it had before, and waited for meanwhile, adds all that it ever used.
        let is_gone = |child: &&i32| !self.children.contains(child);
        let gone = self.former.keys().filter(is_gone).map(|child| self.former[child]);
        self.used = plus(own, less(waited_for, gone.fold((0, 0), plus)));
        let later = self.children.iter().filter(|child| !self.former.contains_key(child));
        for used in later.flat_map(|&child| family::descendants(child)).filter_map(ticks) {
            self.used = plus(self.used, all(used));
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

/// What a process and the children that it waited for used together.
fn all([own, waited_for]: [Ticks; 2]) -> Ticks {
    plus(own, waited_for)
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
    fn sum(all: [Ticks; 2]) -> u64 {
        all.into_iter().map(|(user, kernel)| user + kernel).sum()
    }

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
        let (own, waited_for) = (Status::of_process(pid).unwrap().cpu_ticks, sum(ticks(pid).unwrap()));
        let later: u64 = others(pid).into_iter().filter_map(ticks).map(sum).sum();
        period.end(pid);
        drop(input);
        shell.wait().unwrap();
        let used = period.used.0 + period.used.1;
        assert!(waited_for > own && later > 0, "{own} {waited_for} {later}");
        assert!(used.abs_diff(waited_for + later) <= 2, "{used}, {waited_for}, {later}");
    }

    #[test]
    fn a_child_that_was_there_before_adds_nothing_when_it_ends_and_what_ended_is_known() {
        const BUSY: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let mut shell = Command::new("sh");
        // The first child is busy before and meanwhile, the second one meanwhile.
        shell.args([
            "-c",
            &format!("({BUSY}; {BUSY}; echo; read l; {BUSY}); ({BUSY}; :); times; exec sleep 0.1"),
        ]);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let pid = shell.id() as i32;
        let (mut input, mut output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        output.read_exact(&mut [0]).unwrap();
        let mut period = Period::begin(pid);
        let former = period.former.values().copied().fold((0, 0), plus);
        input.write_all(b"\n").unwrap();
        let ended = std::thread::spawn(move || shell.wait().unwrap());
        while !ended.is_finished() {
            period.look(pid);
            std::thread::sleep(Duration::from_millis(1));
        }
        period.end(pid);
        let (used, former) = (period.used.0 + period.used.1, former.0 + former.1);
        let all = sum(period.latest);
        // Half of what the first did before, and the same again in the second, which alone is observed.
        assert!(used > 0 && former > 0 && used < all - former, "{used} of {all}, {former} before");
        assert!(used.abs_diff((all - former) / 2) <= 3 + all / 5, "{used} of {all}, {former} before");
    }
}
