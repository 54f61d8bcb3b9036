//! A program that examples run more than once, as if it ran once.

use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, stdin};
use std::os::fd::AsFd;
use std::process::{ExitCode, Stdio};
use timewise_profile::Exit;
use timewise_target::end::like;
use timewise_target::launch::Launch;

/// A program and its arguments, at the same addresses each time.
pub struct Repeated {
    pub program: OsString,
    pub arguments: Vec<OsString>,
}

impl Repeated {
    /// To run it as it is.
    pub fn launch(&self) -> Launch {
        Launch {
            arguments: self.arguments.clone(),
            randomise_addresses: false,
            ..Launch::new(self.program.clone())
        }
    }

    /// To run it once more, from the start of its standard input and without what it prints. Where a program writes to
    /// may be another way to it.
    pub fn again(&self) -> io::Result<Launch> {
        rewind()?;
        Ok(Launch { stdout: Stdio::null(), stderr: Stdio::null(), ..self.launch() })
    }
}

/// Standard input from its start; what is not a file has nothing more to give.
pub fn rewind() -> io::Result<()> {
    _ = File::from(stdin().as_fd().try_clone_to_owned()?).rewind();
    Ok(())
}

/// Ends as the program did, or with what went wrong, said in the name of an example.
pub fn end(name: &str, outcome: Result<Exit, Box<dyn Error>>) -> ExitCode {
    let ended = outcome.map(like).unwrap_or_else(|error| {
        eprintln!("{name}: {error}");
        None
    });
    ended.unwrap_or(ExitCode::from(125))
}
