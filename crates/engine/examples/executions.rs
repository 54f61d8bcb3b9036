//! Counts a program and writes executions of every instruction: `executions FILE PROGRAM ARGUMENTS…`; with
//! `--no-calls` before FILE without the costs of calls.
//!
//! For the checks of `cargo xtask check`: it prints nothing of its own and ends as the program ended. The
//! first line of FILE says by how much flow into and out of blocks differs; warnings follow, a line each that
//! begins with `warning: `; each other line holds process id,
//! link-time address, code bytes, executions and the path of the module, separated by tabs; address and code
//! are hexadecimal. Code that was written at run time has its version, if that is not 0, after its module's
//! name. The profile goes to FILE.tw.

mod listing;

use std::ffi::OsString;
use std::process::ExitCode;
use timewise_profile::Exit;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let mut file = arguments.next();
    let calls = file.as_ref().is_none_or(|word| word != "--no-calls");
    if !calls {
        file = arguments.next();
    }
    let (Some(file), Some(program)) = (file, arguments.next()) else {
        eprintln!("usage: executions [--no-calls] FILE PROGRAM ARGUMENTS…");
        return ExitCode::from(125);
    };
    let options = timewise_engine::Options { calls, ..Default::default() };
    match run(&file, program, arguments.collect(), &options) {
        Ok(exit) => timewise_target::end::like(exit).unwrap_or(ExitCode::from(125)),
        Err(error) => {
            eprintln!("executions: {error}");
            ExitCode::from(125)
        }
    }
}

fn run(
    file: &OsString,
    program: OsString,
    arguments: Vec<OsString>,
    options: &timewise_engine::Options,
) -> Result<Exit, Box<dyn std::error::Error>> {
    let mut launch = timewise_target::launch::Launch::new(program);
    launch.arguments = arguments;
    let counted = timewise_engine::count(launch, options)?;
    listing::save(&counted, file)?;
    Ok(counted.profile.runs[0].exit)
}
