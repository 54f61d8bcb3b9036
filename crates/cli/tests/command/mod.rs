//! Running `timewise` as its users do.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
use timewise_profile::Profile;

/// An empty working directory.
pub struct Place(TempDir);

/// A working directory with the program that walks through a table.
pub fn walk() -> Place {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/walk.c");
    let outcome = place.shell(&format!("cc -O2 -g -static '{source}' -o walk"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    place
}

/// What came of a command.
pub struct Outcome {
    /// Exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Outcome {
        use std::os::unix::process::ExitStatusExt;
        Outcome {
            status: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Place {
    /// A new one.
    pub fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Has a shell run `script`, in which `timewise` is the command under test.
    pub fn shell(&self, script: &str) -> Outcome {
        self.command(script).output().unwrap().into()
    }

    /// Likewise, to be started by the caller.
    pub fn command(&self, script: &str) -> Command {
        // Whoever runs the tests may ignore signals, as a shell does for what it runs in the background;
        // what it starts would do likewise.
        let mut command = Command::new("env");
        let function = format!("timewise() {{ '{}' \"$@\"; }}\n", env!("CARGO_BIN_EXE_timewise"));
        command.args(["--default-signal", "bash", "-c"]).arg(function + script).current_dir(self.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// Writes a file that may be executed.
    pub fn write_executable(&self, name: &str, text: impl AsRef<[u8]>) {
        use std::os::unix::fs::PermissionsExt;
        self.write(name, text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path().join(name), mode).unwrap();
    }

    /// Reads a file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Whether there is such a file.
    pub fn has(&self, name: &str) -> bool {
        self.path().join(name).exists()
    }

    /// The profile that was saved where profiles go by default.
    pub fn profile(&self) -> Profile {
        Profile::load(&self.path().join("profile.tw")).unwrap()
    }
}
