//! What recording costs, against native runs and against strace, in turns.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use timewise_profile::{OsEventKind, Profile};

/// A program that calls the system, and does nothing else.
const CALLS: &str = "#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **arguments) {
    int null = open(\"/dev/null\", O_WRONLY);
    for (int i = 0; i < 20000; i++)
        if (count > 1) write(null, arguments[1], 1);
        else syscall(SYS_getppid);
}
";

/// What runs, as a shell begins it.
const MEASURED: [&str; 4] = ["./calls", "./calls x", "find /usr/share/doc", "cc -O1 -c hello.c -o hello.o"];

/// Prints a row for each program: medians of times.
///
/// # Errors
/// If one cannot be run.
pub fn print(timewise: &Path, folder: &Path, rounds: usize) -> Result<()> {
    std::fs::write(folder.join("calls.c"), CALLS)?;
    ensure!(shell(folder, "cc -O1 calls.c -o calls")?.1, "cc");
    let (file, text) = (folder.join("cost.tw"), folder.join("cost.txt"));
    let ours = format!("'{}' ostrace record -q -o '{}' -- ", timewise.display(), file.display());
    let theirs = format!("strace -f -o '{}' ", text.display());
    println!(
        "{:32} {:>8} {:>10} {:>10} {:>10}  {:>14} {:>14}",
        "program", "calls", "native", "strace", "recorded", "strace a call", "recorded a call"
    );
    for command in MEASURED {
        let mut times: [Vec<Duration>; 3] = Default::default();
        let mut calls = 0;
        for _ in 0..rounds {
            times[0].push(shell(folder, command)?.0);
            times[1].push(shell(folder, &format!("{theirs}{command}"))?.0);
            shell(folder, &format!("{ours}{command}"))?;
            // The program's own time: what saving takes comes behind that.
            let profile = Profile::load(&file)?;
            times[2].push(Duration::from_nanos(profile.runs[0].elapsed_ns));
            let is_call = |kind| matches!(kind, OsEventKind::Call | OsEventKind::Image | OsEventKind::Exec);
            calls = profile.os_events.iter().filter(|event| is_call(event.kind)).count();
        }
        let [native, strace, recorded] = times.map(median);
        let each = |time: Duration| time.saturating_sub(native).as_secs_f64() * 1e6 / calls as f64;
        let shown = [native, strace, recorded].map(|time| format!("{:.1} ms", time.as_secs_f64() * 1e3));
        println!(
            "{command:32} {calls:>8} {:>10} {:>10} {:>10}  {:>11.1} µs {:>12.1} µs",
            shown[0],
            shown[1],
            shown[2],
            each(strace),
            each(recorded)
        );
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// How long a command takes, and whether it ends well.
fn shell(folder: &Path, command: &str) -> Result<(Duration, bool)> {
    let begun = Instant::now();
    let status = Command::new("bash")
        .args(["-c", &format!("exec {command}")])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("bash")?;
    Ok((begun.elapsed(), status.success()))
}
