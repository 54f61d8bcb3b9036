//! A program that examples run more than once, as if it ran once.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, stdin};
use std::os::fd::AsFd;
use std::process::Stdio;
use timewise_profile::Exit;
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

/// The status with which we end as the program did.
pub fn status(exit: Exit) -> u8 {
    match exit {
        Exit::Code(code) => code as u8,
        Exit::Signal(signal) => 128 + signal as u8,
        Exit::Unknown => 125,
    }
}
