//! Exit statuses. Where a program runs, its own is ours; our own failures then are those of
//! `timeout` and `env`.

use crate::memory;
use crate::screen;
use crate::signals;
use crate::talk::complain;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error;
use std::num::{IntErrorKind, ParseIntError};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, panic, thread};
use timewise_branches::TraceError;
use timewise_engine::CountError;
use timewise_ostrace::RecordError;
use timewise_profile::Exit;
use timewise_sampler::SampleError;
use timewise_target::attachable::AttachError;
use timewise_target::end;
use timewise_target::launch::LaunchError;
use timewise_target::remedy::MORE_THREADS;

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
const RUNNING: [&str; 6] = ["run", "sample", "count", "branches", "simulate", "paths"];

/// Says what was asked about the command, or in one line what is wrong with how it was used.
pub fn misused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let printed = error.print();
        return match screen::judge(printed) {
            // Whoever closed our standard error does not want to know.
            _ if error.use_stderr() => of_misuse(),
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                complain(format_args!("{error:#}"));
                of_misuse()
            }
        };
    }
    match negative(error) {
        Some(number) => complain(format_args!(
            "unexpected argument '{number}': no option takes a negative number; see --help"
        )),
        None => complain(in_one_line(&with_numbers_told(error))),
    }
    of_misuse()
}

/// The negative number that was given where an option has to stand: behind one that takes numbers, most likely.
fn negative(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) if error.kind() == ErrorKind::UnknownArgument => {
            let digits = argument.strip_prefix('-')?;
            digits.starts_with(|first: char| first.is_ascii_digit()).then_some(argument)
        }
        _ => None,
    }
}

/// What the parser of arguments says, and of what is no number that rather than how reading it failed.
fn with_numbers_told(error: &clap::Error) -> String {
    let said = error.to_string();
    let Some(failed) = error.source().and_then(|cause| cause.downcast_ref::<ParseIntError>()) else {
        return said;
    };
    let why = match failed.kind() {
        IntErrorKind::PosOverflow => "it is too large a number",
        _ => "it is no whole number, such as 100",
    };
    said.replace(&format!(": {failed}\n"), &format!(": {why}\n"))
}

/// What the parser of arguments says in several paragraphs: what is wrong, and what could be meant.
fn in_one_line(said: &str) -> String {
    let end = ["\n\nUsage: ", "\n\nFor more"].into_iter().filter_map(|after| said.find(after)).min();
    let said = &said[..end.unwrap_or(said.len())];
    let sentences = said.trim_start_matches("error: ").split("\n  tip: ");
    // What stands behind -- is a program, for us, and no value.
    let sentences = sentences.filter(|sentence| !sentence.starts_with("to pass '"));
    let in_line = |sentence: &str| sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut sentences: Vec<String> = sentences.map(in_line).collect();
    sentences.push("see --help".into());
    sentences.join("; ")
}

/// Says what is wrong with the settings.
pub fn unsettled(error: &anyhow::Error) -> ExitCode {
    complain(format_args!("{error:#}"));
    of_misuse()
}

fn of_misuse() -> ExitCode {
    ExitCode::from(of_failure())
}

/// The status of what fails for no fault of a program's: whether one is to be run decides.
pub fn of_failure() -> u8 {
    // Of any bytes: `args` would panic on what is not text.
    let mut words = std::env::args_os().skip(1);
    let mut word = || words.next().unwrap_or_default();
    let command = word();
    let runs_a_program =
        RUNNING.iter().any(|running| command == *running) || command == "ostrace" && word() == "record";
    if runs_a_program { OURS } else { MISUSED }
}

/// Says that no further thread or process may be started, of which each takes one.
pub fn none_to_start(what: &str, error: &io::Error) -> ExitCode {
    complain(format_args!("cannot start a {what}: {error}; {MORE_THREADS}"));
    ExitCode::from(OURS)
}

/// How the standard library says that the system has no memory (`ENOMEM`).
const NO_MEMORY: &str = "(os error 12)";

/// From now on a fault of ours, a panic, is told in one line on whichever thread it happens, and at length below that
/// if a backtrace is asked for. Only the first is: others are the same one on another core, or follow from it.
pub fn tell_faults_in_a_line() {
    let at_length = panic::take_hook();
    let is_told = AtomicBool::new(false);
    panic::set_hook(Box::new(move |fault| {
        if is_told.swap(true, Ordering::Relaxed) {
            return;
        }
        let what = fault.payload_as_str().unwrap_or("it gave up");
        // So the standard library does where it begins a thread, and there is no memory for what handles its signals.
        if what.ends_with(NO_MEMORY) {
            memory::end();
        }
        let place = fault.location().map(|place| format!(", at {place}")).unwrap_or_default();
        complain(format_args!("a fault of timewise, which you are asked to report: {what}{place}"));
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|depth| depth != "0") {
            at_length(fault);
        }
    }));
}

/// What was done on a thread of its own, or the status if a fault ended that, which was told of then.
///
/// # Errors
/// The status.
pub fn or_of_fault<T>(ended: thread::Result<Result<T, ExitCode>>) -> Result<T, ExitCode> {
    ended.unwrap_or(Err(ExitCode::from(OURS)))
}

/// The status of a command that runs a program: the program's own, or why there is none, in one line.
pub fn of_running(result: anyhow::Result<Exit>) -> ExitCode {
    signals::no_more_programs();
    let error = match result {
        Ok(exit) => return end::like(exit).unwrap_or(ExitCode::from(OURS)),
        Err(error) => error,
    };
    complain(format_args!("{error:#}{}", advice(&error)));
    ExitCode::from(match (launching(&error), attaching(&error)) {
        (Some(LaunchError::NotFound(_)), _) | (_, Some(AttachError::NotFound(_))) => NOT_FOUND,
        (Some(LaunchError::NotExecutable { .. }), _) | (_, Some(_)) => NOT_EXECUTABLE,
        _ => OURS,
    })
}

/// Why a program could not be launched, if that is what went wrong.
fn launching(error: &anyhow::Error) -> Option<&LaunchError> {
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(CountError::Launch(why)), _) | (_, Some(TraceError::Launch(why))) => Some(why),
        _ => error.downcast_ref(),
    }
}

/// Why a process could not be attached to, likewise.
fn attaching(error: &anyhow::Error) -> Option<&AttachError> {
    match (error.downcast_ref(), error.downcast_ref(), error.downcast_ref(), error.downcast_ref()) {
        (Some(CountError::Attach(why)), ..)
        | (_, Some(SampleError::Attach(why)), ..)
        | (.., Some(TraceError::Attach(why)), _)
        | (.., Some(RecordError::Attach(why))) => Some(why),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::{OURS, or_of_fault};
    use std::process::ExitCode;
    use std::thread;

    #[test]
    fn a_fault_is_no_status_of_the_program() {
        assert_eq!(or_of_fault(thread::spawn(|| Ok(101)).join()), Ok(101));
        let ended = thread::spawn(|| panic!("on purpose")).join();
        assert_eq!(or_of_fault::<i32>(ended), Err(ExitCode::from(OURS)));
    }
}
