//! Shell scripts: pipelines, trees of processes, signals. Where tracing goes wrong, shells are the first to hang.

use super::confined::Confined;
use anyhow::{Context, Result, ensure};
use std::process::{Command, ExitStatus, Stdio};

/// Shells that each script runs in: they wait for their children in different ways.
pub const SHELLS: [&str; 2] = ["dash", "bash"];

/// Names, and what they do. What they print is the same each time.
pub const SCRIPTS: [(&str, &str); 10] = [
    ("pipes", "seq 3000 | sed s/7/x/ | sort -r | uniq -c | tail -n 2; exit 3"),
    ("short processes", "i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i + 1)); done; echo $i"),
    (
        "tree",
        "for i in 1 2 3; do (for j in 1 2; do sh -c 'x=0; while [ $x -lt 9000 ]; do x=$((x + 1)); done' & done; wait) & done; wait; echo $?",
    ),
    ("substitution", "a=$(seq 500 | sort | head -n 3); b=$(echo `echo $a` | tr 0-9 a-j); echo $b; false"),
    ("reader ends first", "yes abc | head -n 5000 | md5sum"),
    ("late child", "(sleep 0.1; exit 7) & wait $!; echo $?"),
    ("trap", "trap 'echo caught; exit 5' TERM; (sleep 0.05; kill -TERM $$) & while :; do :; done"),
    ("killed", "seq 100 | tail -n 1; kill -KILL $$"),
    ("exec", "echo one; exec sh -c 'echo two; exec seq 3'"),
    (
        "side by side",
        "seq 12 | xargs -P 4 -n 1 sh -c 'x=0; while [ $x -lt 3000 ]; do x=$((x + 1)); done'; echo $?",
    ),
];

/// What came of a script.
#[derive(PartialEq)]
struct Outcome {
    status: ExitStatus,
    output: Vec<u8>,
}

/// Runs a script natively and confined.
///
/// # Errors
/// If the two differ, or the profile lacks something.
pub fn check(shell: &str, script: &str, confined: &Confined, limit_s: u32) -> Result<()> {
    let native = outcome(&[], shell, script, limit_s)?;
    let found = outcome(&confined.prefix()?, shell, script, limit_s)?;
    let words =
        |outcome: &Outcome| format!("{} with {:?}", outcome.status, String::from_utf8_lossy(&outcome.output));
    ensure!(native == found, "natively {}, confined {}", words(&native), words(&found));
    confined.examine_ends().map(drop)
}

fn outcome(prefix: &[String], shell: &str, script: &str, limit_s: u32) -> Result<Outcome> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &limit_s.to_string(), "env"]).args(prefix).args([shell, "-c", script]);
    command.current_dir("/").stdin(Stdio::null()).stderr(Stdio::null());
    let done = command.output().context("timeout, of Debian's coreutils")?;
    Ok(Outcome { status: done.status, output: done.stdout })
}
