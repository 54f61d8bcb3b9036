//! Running `timewise` as its users do.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
use timewise_profile::Profile;

/// An empty working directory.
pub struct Place {
    folder: TempDir,
    /// What runs `timewise` there.
    within: &'static str,
}

/// A working directory with the program that walks through a table.
pub fn walk() -> Place {
    let place = Place::with_few_variables();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/walk.c");
    let outcome = place.shell(&format!("cc -O2 -g -static '{source}' -o walk"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    place
}

/// Whatever a process under count maps, or one that is traced, as a pattern.
pub const TRACES: &str = "^4[0-9a-f]{11}-|^7[89a-f][0-9a-f]{6}-|memfd:timewise";

/// Builds one of `tests/programs` under its own name.
pub fn build(place: &Place, source: &str) {
    let name = source.trim_end_matches(".c");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");
    let built = place.shell(&format!("cc -O1 -g -pthread '{folder}/{source}' -o {name}"));
    assert_eq!(built.status, Some(0), "{}", built.stderr);
}

/// A program ended as it does without us.
pub fn assert_unharmed(outcome: &Outcome) {
    assert_eq!(outcome.status, Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
}

/// Functions of the shell for a program that runs already, `$pid`. A wait for what it does lasts as long as that takes on
/// this machine; all end when what they wait for has ended.
pub const MEANWHILE: &str = concat!(
    "
    # CPU time that it has used, in hundredths of a second.
    used() {
        local line; read -r line < /proc/$pid/stat && set -- ${line##*) } && [ $1 != Z ] && echo $((${12} + ${13}))
    }
    # Waits until it has used so much more.
    worked() {
        local now begun; begun=$(used) || return
        until ! now=$(used) || [ $now -ge $((begun + $1)) ]; do sleep 0.01; done
    }
    # Files of ours that it has mapped.
    ours() { grep -s memfd:timewise /proc/$pid/maps | tr -s ' ' | cut -d' ' -f5 | sort -u; }
    # Begins to observe it with a command, `$own`, in a group of its own, and waits until that has attached to it.
    observe() {
        local before; before=$(ours); setsid '",
    env!("CARGO_BIN_EXE_timewise"),
    "' \"$@\" --pid $pid --for 1h & own=$!
        until { [ \"$(ours)\" ] && [ \"$(ours)\" != \"$before\" ]; } || ! kill -0 $own; do sleep 0.01; done
    }
    # Has that let go of it, and gives its status.
    leave() { kill $own; wait $own; }
    # Starts what is in all kinds of states, until it gets a SIGTERM.
    crowd() {
        ./crowd 3600 \"$@\" & pid=$!; trap 'kill -KILL $pid' EXIT
        until [ $(ls /proc/$pid/task | wc -l) -ge 16 ] || ! kill -0 $pid; do sleep 0.01; done
    }
    # Ends that, and gives its status.
    disperse() { trap - EXIT; kill $pid; wait $pid; }
    "
);

/// Attaches to a program that makes 1000 steps before, 123,456 meanwhile and 5 afterwards, and compares what was counted.
/// `shell` has functions and how the program is started; then comes what is done before, and, with the same right behind
/// it, while it is counted and afterwards, all of which must succeed.
pub fn assert_counted_meanwhile(
    place: &Place,
    [shell, start]: [&str; 2],
    [before, during, after]: [&str; 3],
) {
    build(place, "rounds.c");
    let outcome = place.shell(&format!(
        "{shell} set -e; mkfifo in; {start} ./rounds < in > out & pid=$!; exec 3> in
         answered() {{ until [ \"$(tail -qn1 out 2> /dev/null)\" = $1 ]; do sleep 0.01; done; }}
         echo 1000 >&3; answered 1000; {before}
         observe count; echo 123456 >&3; answered 124456; failed=0; {{ {during}; }} || failed=1; leave
         [ $failed = 0 ]; {after}
         echo 5 >&3; answered 124461
         exec 3>&-; wait $pid; timewise verify"
    ));
    assert_unharmed(&outcome);
    assert!(outcome.stderr.contains("exact"), "{}", outcome.stderr);
    let report = place.shell("timewise report --by function --format json");
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    let step = report["rows"].as_array().unwrap().iter().find(|row| row["function"] == "step").unwrap();
    assert_eq!(step["calls"], 123_456, "{step}");
}

/// Functions that start a program which has all its memory locked, `$pid`, and say what it said when it ended.
pub fn locks(place: &Place) -> String {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/locks.c");
    let built = place.shell(&format!("cc -O1 '{source}' -o locks"));
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    format!(
        "{MEANWHILE} begin() {{
             rm -f out; \"$@\" ./locks > out & pid=$!; trap 'kill -KILL $pid' EXIT
             until grep -qs ready out || ! kill -0 $pid; do sleep 0.01; done
         }}
         said() {{ trap - EXIT; kill $pid; wait && tail -n1 out; }}
"
    )
}

/// What that program says: how many MiB it took at most and had locked, and whether what it maps is filled.
pub fn locked(outcome: &Outcome) -> Option<[u32; 3]> {
    let numbers = outcome.stdout.lines().last()?.strip_prefix("at most ")?;
    let mut numbers = numbers.split(|at: char| !at.is_ascii_digit()).filter_map(|number| number.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
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
        Place { folder: tempfile::tempdir().unwrap(), within: "" }
    }

    /// A new one where programs find next to no variables: what they execute before they begin depends on how many there
    /// are, and what is known of that holds everywhere.
    pub fn with_few_variables() -> Place {
        Place { within: "env -i PATH=\"$PATH\"", ..Place::new() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
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
        let timewise = env!("CARGO_BIN_EXE_timewise");
        let function = format!("timewise() {{ {} '{timewise}' \"$@\"; }}\n", self.within);
        command.args(["--default-signal", "bash", "-c"]).arg(function + script).current_dir(self.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What is wrong is said in one line with these words, nothing else, and the status is 2.
    pub fn assert_refused(&self, command: &str, says: &str) {
        let outcome = self.shell(command);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{command}");
        let is_told = outcome.stderr.starts_with("timewise: ") && outcome.stderr.contains(says);
        assert!(is_told && outcome.stderr.lines().count() == 1, "{command}: {}", outcome.stderr);
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
