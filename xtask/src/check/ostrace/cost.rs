//! What recording costs, with and without call stacks, against native runs and against strace, in turns. All are timed by a
//! process between the tool and the program, so that neither starting the tool nor what it does in the end is in the time.

use crate::bench::median;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Command, Stdio};
use timewise_profile::{OsEvent, Profile};

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

/// Runs a program, and writes into a file how many nanoseconds that took from its beginning to its end.
const TIMED: &str = "#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **arguments) {
    struct timespec begun, ended;
    int status;
    if (count < 3) return 125;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    if (vfork() == 0) {
        execvp(arguments[2], arguments + 2);
        _exit(127);
    }
    wait(&status);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    FILE *file = fopen(arguments[1], \"w\");
    long long ns = (ended.tv_sec - begun.tv_sec) * 1000000000LL + ended.tv_nsec - begun.tv_nsec;
    return file && fprintf(file, \"%lld\", ns) > 0 && fclose(file) == 0 ? status != 0 : 125;
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
    std::fs::write(folder.join("timed.c"), TIMED)?;
    for name in ["calls", "timed"] {
        ensure!(shell(folder, &format!("cc -O1 {name}.c -o {name}"))?, "cc");
    }
    let (file, text) = (folder.join("cost.tw"), folder.join("cost.txt"));
    let ours = |stacks: &str| {
        format!("'{}' ostrace record -q {stacks} -o '{}' -- ", timewise.display(), file.display())
    };
    let theirs = |stacks: &str| format!("strace -f {stacks} -o '{}' ", text.display());
    let tools = [String::new(), theirs(""), ours(""), theirs("-k"), ours("-k")];
    println!(
        "{:32} {:>8} {:>10}  more for each call: {:>10} {:>10} {:>10} {:>10}",
        "program", "calls", "native", "strace", "recorded", "strace -k", "--stacks"
    );
    for command in MEASURED {
        let mut times: [Vec<f64>; 5] = Default::default();
        let mut calls = 0;
        for _ in 0..rounds {
            for (times, tool) in times.iter_mut().zip(&tools) {
                times.push(timed_ns(folder, tool, command)?);
            }
            calls = calls_of(&Profile::load(&file)?);
        }
        let [native, tools @ ..] = times.map(|times| median(&times));
        let each = |time: f64| format!("{:.1} µs", (time - native).max(0.0) / 1e3 / calls as f64);
        let [strace, recorded, strace_k, with_stacks] = tools.map(each);
        println!(
            "{command:32} {calls:>8} {:>7.1} ms  {:19} {strace:>10} {recorded:>10} {strace_k:>10} {with_stacks:>10}",
            native / 1e6,
            ""
        );
    }
    Ok(())
}

/// System calls of all processes but the first, which times the others.
fn calls_of(profile: &Profile) -> usize {
    let is_timed = |event: &&OsEvent| profile.threads[event.thread.index()].process.index() > 0;
    profile.os_events.iter().filter(is_timed).filter(|event| event.is_call()).count()
}

/// How many nanoseconds a program takes under a tool, if any.
fn timed_ns(folder: &Path, tool: &str, command: &str) -> Result<f64> {
    ensure!(shell(folder, &format!("{tool}./timed timed.ns {command}"))?, "{tool}{command} failed");
    let told = std::fs::read_to_string(folder.join("timed.ns"))?;
    told.parse().context("timed.ns")
}

/// Whether a command ends well.
fn shell(folder: &Path, command: &str) -> Result<bool> {
    let status = Command::new("bash")
        .args(["-c", &format!("exec {command}")])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("bash")?;
    Ok(status.success())
}
