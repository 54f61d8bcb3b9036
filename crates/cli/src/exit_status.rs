//! Exit statuses. Where a program runs, its own is ours; our own failures then are those of
//! `timeout` and `env`.

use std::process::ExitCode;
use timewise_profile::Exit;
use timewise_target::launch::LaunchError;

/// We failed.
pub const OURS: u8 = 125;
/// The program cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// There is no such program.
pub const NOT_FOUND: u8 = 127;

/// Tells of a failure in one line and gives its status.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    eprintln!("timewise: {error:#}");
    ExitCode::from(match error.downcast_ref::<LaunchError>() {
        Some(LaunchError::NotFound(_)) => NOT_FOUND,
        Some(LaunchError::NotExecutable { .. }) => NOT_EXECUTABLE,
        _ => OURS,
    })
}

/// Ends as the program did: with its status, or by its signal.
pub fn like(exit: Exit) -> ExitCode {
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
