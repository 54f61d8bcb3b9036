//! `cargo xtask check ostrace`: what `timewise ostrace record` tells of programs, against what strace tells, what it must not
//! change, and what it costs.
//!
//! Programs that do the same each time run under both: each thread must have made the same calls with the same results,
//! in the same order, from the same call stacks, and have had the same signals. Torture programs must end as natively, with the same output. Then
//! programs run natively, under strace and recorded, in turns.

mod cost;
mod strace;

use super::stops::{changed, is_meant};
use super::torture::{self, Case};
use crate::folder::Folder;
use crate::profiler::Profiler;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::Path;
use std::process::{Command, Stdio};
use timewise_profile::{NameId, OsEvent, OsEventKind, Place, Profile, StackId};

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Torture programs; all if none is named
    names: Vec<String>,
    /// Runs of each program for what recording costs; 0 for none
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Not the torture programs
    #[arg(long)]
    no_torture: bool,
    /// Seconds after which a program counts as hung
    #[arg(long, default_value_t = 60)]
    limit: u32,
}

/// Programs that do the same each time, as a shell begins them.
const COMPARED: [&str; 5] = [
    "ls -l /etc",
    "find /etc",
    "sh -c 'for i in 1 2 3; do ls /nonexistent; wc -l /etc/passwd; done; exit 3'",
    "/usr/bin/python3 -SE -c 'import os; os.listdir(\"/\"); os.path.exists(\"/none\"); os.waitpid(os.fork() or os._exit(7), 0)'",
    "cc -c hello.c -o hello.o",
];

/// Calls whose results are numbers of processes, which differ from run to run.
const OF_PROCESSES: [&str; 12] = [
    "getpid",
    "getppid",
    "gettid",
    "getpgrp",
    "getpgid",
    "getsid",
    "set_tid_address",
    "fork",
    "vfork",
    "clone",
    "clone3",
    "wait4",
];

/// Torture programs that get no further under any tracer: signals come faster than a thread can be stopped for them.
const TOO_FAST: [&str; 1] = ["signal_storm"];

/// What befell a thread: its calls with their results, and its signals and end.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Story {
    /// In order.
    pub calls: Vec<String>,
    /// Signals, returns of their handlers, and the end, without the places in that order, which are a matter of chance.
    pub others: Vec<String>,
    /// The call stack of each of the calls, innermost frame first; `None` for what has no place in a file.
    pub stacks: Vec<Vec<Option<String>>>,
    /// Whether the last call is among them.
    is_counted: bool,
}

impl Story {
    /// A call of this name returned a number or failed with a reason.
    fn called(&mut self, name: &str, result: &str) {
        let result =
            if OF_PROCESSES.contains(&name) && !result.starts_with("failed") { "…" } else { result };
        match name {
            "rt_sigreturn" => self.others.push(name.to_string()),
            // The C library asks anew for the name of a temporary file if the first number would favour some names.
            "getrandom" => {}
            _ => {
                self.calls.push(format!("{name} {result}"));
                self.stacks.push(Vec::new());
            }
        }
        self.is_counted = !matches!(name, "rt_sigreturn" | "getrandom");
    }

    /// A signal came.
    fn befell(&mut self, signal: String) {
        self.others.push(signal);
        self.is_counted = false;
    }

    /// The next frame of the last call's stack.
    fn caller(&mut self, frame: Option<String>) {
        if self.is_counted
            && let Some(stack) = self.stacks.last_mut()
        {
            stack.push(frame);
        }
    }
}

/// A place in a file's code, by its address in the file as it was linked.
pub fn frame(path: &str, offset: u64) -> String {
    format!("{} {offset:#x}", path.rsplit('/').next().unwrap_or(path))
}

/// Prints a row for each program.
///
/// # Errors
/// If the two disagree, or a program is changed.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let timewise = Profiler::build(root)?.program;
    let scratch = Folder::of(root, "ostrace")?;
    std::fs::write(scratch.join("hello.c"), "#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n")?;
    let mut bad = Vec::new();
    for command in COMPARED {
        // What it makes is there each time then.
        silently(&scratch, command)?;
        let (theirs, ours) = (strace::told(&scratch, command)?, told(&timewise, &scratch, command)?);
        let calls: usize = ours.iter().map(|story| story.calls.len()).sum();
        let differs = difference(&theirs, &ours);
        println!(
            "{command}: {calls} calls in threads: {}, {}",
            ours.len(),
            differs.as_deref().unwrap_or("as strace tells")
        );
        bad.extend(differs.map(|_| command.to_string()));
    }
    if !options.no_torture {
        let mut cases = 0;
        let is_meant = |case: &&Case| is_meant(case, &options.names) && !TOO_FAST.contains(&&*case.name);
        for case in torture::load(root)?.iter().filter(is_meant) {
            cases += 1;
            if let Some(fault) = changed(case, &["ostrace", "record"], &timewise, &scratch, options.limit)? {
                println!("{:24} {fault}", case.name);
                bad.push(case.name.clone());
            }
        }
        println!("{cases} cases of torture programs were recorded");
    }
    if options.rounds > 0 {
        cost::print(&timewise, &scratch, options.rounds)?;
    }
    ensure!(bad.is_empty(), "recording went wrong: {}", bad.join(", "));
    Ok(())
}

/// Has a shell do something, with nothing to read and nobody to read what it writes.
fn silently(folder: &Path, script: &str) -> Result<()> {
    let mut shell = Command::new("bash");
    shell.args(["-c", script]).current_dir(folder);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.status().context("bash")?;
    Ok(())
}

/// Where the stories of two recordings differ first.
fn difference(theirs: &[Story], ours: &[Story]) -> Option<String> {
    if theirs.len() != ours.len() {
        return Some(format!("strace tells of {} threads", theirs.len()));
    }
    theirs.iter().zip(ours).enumerate().find_map(|(thread, (theirs, ours))| {
        let apart = theirs.calls.iter().zip(&ours.calls).position(|(one, other)| one != other);
        let at = apart
            .or((theirs.calls.len() != ours.calls.len()).then(|| theirs.calls.len().min(ours.calls.len())));
        if let Some(at) = at {
            let [theirs, ours] = [theirs, ours].map(|story| story.calls.get(at));
            return Some(format!("thread {thread}, call {at}: strace {theirs:?}, timewise {ours:?}"));
        }
        if theirs.others != ours.others {
            return Some(format!("thread {thread}: strace {:?}, timewise {:?}", theirs.others, ours.others));
        }
        // Of a program that is executed strace tells where the new one stands.
        let is_apart = |at: &usize| ours.calls[*at] != "execve 0" && theirs.stacks[*at] != ours.stacks[*at];
        let apart = (0..ours.calls.len()).find(is_apart)?;
        let [theirs, ours] = [theirs, ours].map(|story| &story.stacks[apart]);
        Some(format!("thread {thread}, stack of call {apart}: strace {theirs:?}, timewise {ours:?}"))
    })
}

/// The threads of a program, in the order in which they began, as timewise tells.
fn told(timewise: &Path, folder: &Path, command: &str) -> Result<Vec<Story>> {
    let file = folder.join("told.tw");
    let script = format!(
        "exec '{}' ostrace record -q --stacks --deterministic -o '{}' -- {command}",
        timewise.display(),
        file.display()
    );
    silently(folder, &script)?;
    let profile = Profile::load(&file)?;
    let mut stories: Vec<Story> = profile.threads.iter().map(|_| Story::default()).collect();
    profile.os_events.iter().for_each(|event| tell(&profile, event, &mut stories[event.thread.index()]));
    stories.iter_mut().for_each(|story| story.others.sort());
    Ok(stories)
}

fn tell(profile: &Profile, event: &OsEvent, story: &mut Story) {
    let name = |id: Option<NameId>| {
        id.map_or(String::new(), |id| String::from_utf8_lossy(&profile.os_names[id.index()]).into_owned())
    };
    match (event.kind, event.result) {
        (OsEventKind::Begin, _) => {}
        (OsEventKind::Signal, _) => story.befell(name(event.name)),
        (OsEventKind::End, result) => story.others.push(format!("ended {}", result.unwrap_or_default())),
        (_, None) => story.called(&name(event.name), "?"),
        (_, Some(result @ -4095..0)) => story.called(&name(event.name), &failed(-result as i32)),
        (_, Some(result)) => story.called(&name(event.name), &result.to_string()),
    }
    if event.is_call() {
        let node = |id: StackId| profile.stacks[id.index()];
        let frames = std::iter::successors(event.stack.map(node), |of| of.parent.map(node));
        for Place { module, offset, .. } in frames.map(|of| of.return_place) {
            let path = String::from_utf8_lossy(&profile.modules[module.index()].path).into_owned();
            story.caller(Some(frame(&path, offset.0)));
        }
    }
}

/// How the system calls an error, by its number.
fn failed(error: i32) -> String {
    /// Those that programs never see have no words in the C library.
    const TO_BE_RESTARTED: std::ops::RangeInclusive<i32> = 512..=516;
    if TO_BE_RESTARTED.contains(&error) {
        return "failed: interrupted".into();
    }
    let said = std::io::Error::from_raw_os_error(error).to_string();
    format!("failed: {}", said.split(" (os error").next().unwrap_or_default())
}
