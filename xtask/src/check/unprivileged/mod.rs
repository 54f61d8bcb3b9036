//! `timewise run` for a user without rights in a container: no performance events, no tracing of strangers.
//!
//! Workloads run natively, then under `timewise run` as `cargo xtask confine` confines it, once with and once
//! without permission to read other processes' memory by the call made for it. Output and exit status must be the
//! native ones, and the profile must hold what it holds elsewhere: samples with callers, counts, both joined, a
//! word on how the samples were had, and the same hot functions as a recording by performance events. Shell
//! scripts must end as they end natively.

mod busy;
mod confined;
mod paranoid;
mod scripts;

use crate::folder::Folder;
use crate::profiler::Profiler;
use crate::suite::{self, Executed, Expected, Size, Workload};
use anyhow::{Context, Result, ensure};
use busy::Busy;
use clap::Args;
use confined::Confined;
use paranoid::Paranoid;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use timewise_profile::Profile;

/// A single thread of each kind, many threads, and many processes; all do the same work in each run.
const WORKLOADS: [&str; 6] = ["bzip2-g", "sqlite", "lua-g", "python", "threads-pool", "pipeline"];

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Workloads; six of different kinds, and shell scripts, if none is named
    names: Vec<String>,
    /// Size of the input
    #[arg(long, value_enum, default_value_t = Size::Test)]
    size: Size,
    /// Seconds after which a program is killed
    #[arg(long, default_value_t = 120)]
    limit: u32,
    /// How often: what hangs may do so once in a hundred times
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Keep all processors busy with something else meanwhile
    #[arg(long)]
    busy: bool,
}

/// Prints a row for each workload and case.
///
/// # Errors
/// If anything is missing or differs.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let names: Vec<String> = match options.names.is_empty() {
        true => WORKLOADS.map(String::from).to_vec(),
        false => options.names.clone(),
    };
    let check = Check {
        workloads: suite::select(root, &names)?,
        work: suite::work_folder(root)?,
        place: Place::new(root)?,
        timewise: Profiler::build(root)?.program,
        options,
    };
    says_why_nothing_can_be_traced(&check.timewise, &check.place.0.join("profile.tw"))?;
    let natively = check.natively()?;
    let _paranoid = Paranoid::raise()?;
    let _busy = options.busy.then(Busy::start);
    println!(
        "{:16} {:18} {:>8} {:>8} {:>8} {:>6}  hottest function",
        "program", "memory read by", "samples", "callers", "joined", "CPI"
    );
    let mut bad = Vec::new();
    for _ in 0..options.repeat {
        for no_process_memory in [false, true] {
            let file = check.place.0.join("profile.tw");
            let confined = Confined { timewise: &check.timewise, file: &file, no_process_memory };
            check.workloads(&confined, &natively, &mut bad)?;
            if options.names.is_empty() {
                check.scripts(&confined, &mut bad);
            }
        }
    }
    ensure!(bad.is_empty(), "without rights, these went wrong: {}", bad.join(", "));
    Ok(())
}

/// All that stays the same from one repetition to the next.
struct Check<'a> {
    workloads: Vec<Workload>,
    work: PathBuf,
    place: Place,
    timewise: PathBuf,
    options: &'a Options,
}

impl Check<'_> {
    /// What each workload does without us, and a recording of it by performance events.
    fn natively(&self) -> Result<Vec<(Executed, Profile)>> {
        let Options { size, limit, .. } = *self.options;
        let mut expected = Expected::open(&self.work)?;
        let file = self.place.0.join("events.tw");
        let [timewise, place] = [&self.timewise, &file].map(|path| path.to_string_lossy());
        let by_events = [&*timewise, "sample", "--sampler", "perf", "-o", &place, "--"].map(String::from);
        let mut all = Vec::new();
        for workload in &self.workloads {
            let native = suite::execute(workload, size, &self.work, &[], limit)?;
            let verdict = expected.judge(workload, size, &native, true)?;
            ensure!(verdict.is_good(), "{}: natively: {verdict}", workload.name);
            let sampled = suite::execute(workload, size, &self.work, &by_events, limit)?;
            ensure!(sampled.status.success(), "{}: {}", workload.name, sampled.last_words());
            all.push((native, Profile::load(&file)?));
        }
        Ok(all)
    }

    fn workloads(
        &self,
        confined: &Confined,
        natively: &[(Executed, Profile)],
        bad: &mut Vec<String>,
    ) -> Result<()> {
        let Options { size, limit, .. } = *self.options;
        for (workload, (native, by_events)) in self.workloads.iter().zip(natively) {
            let executed = suite::execute(workload, size, &self.work, &confined.prefix()?, limit)?;
            let done = compare(native, &executed).and_then(|()| confined.examine(by_events));
            let (name, way) = (&workload.name, confined.way());
            match done {
                Ok(found) => println!("{name:16} {way:18} {found}"),
                Err(error) => {
                    println!("{name:16} {way:18} {error:#}\n{}", executed.last_words());
                    bad.push(name.clone());
                }
            }
        }
        Ok(())
    }

    fn scripts(&self, confined: &Confined, bad: &mut Vec<String>) {
        for shell in scripts::SHELLS {
            let mut good = 0;
            for (name, script) in scripts::SCRIPTS {
                match scripts::check(shell, script, confined, self.options.limit) {
                    Ok(()) => good += 1,
                    Err(error) => {
                        println!("{shell:16} {:18} {name}: {error:#}", confined.way());
                        bad.push(format!("{shell}: {name}"));
                    }
                }
            }
            println!("{shell:16} {:18} {good} scripts end as they do natively", confined.way());
        }
    }
}

/// Where nothing may be traced, that must be said, with what to do, before the program has done anything.
fn says_why_nothing_can_be_traced(timewise: &Path, file: &Path) -> Result<()> {
    let mut command = Command::new(std::env::current_exe().context("our own path")?);
    command.args(["confine", "--no-tracing", "--"]).arg(timewise).args(["run", "-o"]).arg(file);
    let done = command.args(["--", "echo", "begun"]).output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(
        done.status.code() == Some(125) && done.stdout.is_empty() && said.lines().count() == 1,
        "without tracing, {} with {:?} and {said:?}",
        done.status,
        String::from_utf8_lossy(&done.stdout)
    );
    ensure!(said.contains("ptrace") && said.contains("; run: "), "without tracing: {said}");
    Ok(())
}

fn compare(native: &Executed, confined: &Executed) -> Result<()> {
    ensure!(native.status == confined.status, "ended with {}, natively {}", confined.status, native.status);
    ensure!(native.output == confined.output, "another output than natively");
    Ok(())
}

/// A folder that everybody may write to.
struct Place(Folder);

impl Place {
    fn new(root: &Path) -> Result<Place> {
        let folder = Folder::of(root, "unprivileged")?;
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777))?;
        for old in ["profile.tw", "profile.tw.old"] {
            // Another user's, of an earlier check, that could not be replaced.
            let _ = std::fs::remove_file(folder.join(old));
        }
        Ok(Place(folder))
    }
}
