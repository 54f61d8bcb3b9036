//! What a profile says of one execution of a program, whatever is collected of it.

use crate::launch::Ended;
use crate::machine;
use crate::subject::Subject;
use timewise_profile::{Exit, Machine, Run, RunKind};

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

fn exit_of(wait_status: i32) -> Exit {
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
