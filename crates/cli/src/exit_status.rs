//! Exit statuses. Where a program runs, its own is ours; our own failures then are those of
//! `timeout` and `env`.

use crate::talk::complain;
use std::io;
use std::process::ExitCode;
use timewise_engine::CountError;
use timewise_profile::Exit;
use timewise_sampler::SampleError;
use timewise_target::attachable::AttachError;
use timewise_target::launch::LaunchError;

/// Bad usage or bad input, where no program is run.
pub const MISUSED: u8 = 2;
/// A gate failed.
pub const GATE_FAILED: u8 = 3;
/// We failed, where a program is run.
pub const OURS: u8 = 125;
/// The program cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// There is no such program.
pub const NOT_FOUND: u8 = 127;

/// Commands that end as the program that they run.
const RUNNING: [&str; 3] = ["run", "sample", "count"];

/// Says how the command is used, or what was asked about it.
pub fn misused(error: &clap::Error) -> ExitCode {
    // Whoever closed our standard error does not want to know.
    let _ = error.print();
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ => of_misuse(),
    }
}

/// Says what is wrong with the settings.
pub fn unsettled(error: &anyhow::Error) -> ExitCode {
    complain(format_args!("{error:#}"));
    of_misuse()
}

fn of_misuse() -> ExitCode {
    // Of any bytes: `args` would panic on what is not text.
    let command = std::env::args_os().nth(1).unwrap_or_default();
    let runs_a_program = RUNNING.iter().any(|running| command == *running);
    ExitCode::from(if runs_a_program { OURS } else { MISUSED })
}

/// The status of any command that we could not even begin.
pub fn failed(error: &anyhow::Error) -> ExitCode {
    complain(format_args!("{error:#}"));
    ExitCode::from(OURS)
}

/// The status of a command that runs a program: the program's own, or why there is none, in one line.
pub fn of_running(result: anyhow::Result<Exit>) -> ExitCode {
    let error = match result {
        Ok(exit) => return like(exit),
        Err(error) => error,
    };
    complain(format_args!("{error:#}{}", advice(&error)));
    let attaching = match (error.downcast_ref(), error.downcast_ref()) {
        (Some(CountError::Attach(attaching)), _) | (_, Some(SampleError::Attach(attaching))) => {
            Some(attaching)
        }
        _ => None,
    };
    ExitCode::from(match (error.downcast_ref::<LaunchError>(), attaching) {
        (Some(LaunchError::NotFound(_)), _) | (_, Some(AttachError::NotFound(_))) => NOT_FOUND,
        (Some(LaunchError::NotExecutable { .. }), _) | (_, Some(_)) => NOT_EXECUTABLE,
        _ => OURS,
    })
}

/// The status of a command that runs none. What went wrong is told in one line.
pub fn of_reading(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("{error:#}{}", advice(&error)));
            ExitCode::from(MISUSED)
        }
    }
}

/// Likewise of one that judges conditions, and whether all of them hold.
pub fn of_gates(result: anyhow::Result<bool>) -> ExitCode {
    match result {
        Ok(false) => ExitCode::from(GATE_FAILED),
        other => of_reading(other.map(|_| ())),
    }
}

/// What to do about a limit of our process, which the operation that met with it does not know.
fn advice(error: &anyhow::Error) -> &'static str {
    let meets = |code| {
        let is_it = |cause: &io::Error| cause.raw_os_error() == Some(code);
        error.chain().any(|cause| cause.downcast_ref().is_some_and(is_it))
    };
    if meets(libc::EMFILE) { "; allow more of them: ulimit -n 1024" } else { "" }
}

/// Ends as the program did: with its status, or by its signal.
fn like(exit: Exit) -> ExitCode {
    match exit {
        Exit::Code(code) => ExitCode::from(code as u8),
        Exit::Signal(signal) => {
            crate::signals::end_by(signal);
            // A signal that does not end a process: what a shell would report.
            ExitCode::from((128 + signal) as u8)
        }
        Exit::Unknown => ExitCode::from(OURS),
    }
}
