//! `timewise run` for a user without rights in a container: no performance events, no tracing of strangers.
//!
//! Workloads run natively, then under `timewise run` as `cargo xtask confine` confines it, once with and once
//! without permission to read other processes' memory by the call made for it. Output and exit status must be the
//! native ones, and the profile must hold what it holds elsewhere: samples with callers, counts, and both joined.

use crate::counter::target_folder;
use crate::profiler::Profiler;
use crate::suite::{self, Executed, Expected, Size};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use timewise_profile::Profile;

/// A single thread of each kind, many threads, and many processes.
const WORKLOADS: [&str; 5] = ["bzip2-g", "sqlite", "lua-g", "threads-pool", "pipeline"];

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Workloads; five of different kinds if none is named
    names: Vec<String>,
    /// Size of the input
    #[arg(long, value_enum, default_value_t = Size::Test)]
    size: Size,
    /// Seconds after which a workload is killed
    #[arg(long, default_value_t = 120)]
    limit: u32,
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
    let workloads = suite::select(root, &names)?;
    let work = suite::work_folder(root)?;
    let mut expected = Expected::open(&work)?;
    let place = Place::new(root)?;
    let timewise = Profiler::build(root)?.program;
    let _paranoid = Paranoid::raise();
    println!(
        "{:16} {:18} {:>8} {:>8} {:>12} {:>8}",
        "workload", "memory read by", "samples", "callers", "instructions", "joined"
    );
    let mut bad = Vec::new();
    for workload in &workloads {
        let native = suite::execute(workload, options.size, &work, &[], options.limit)?;
        let verdict = expected.judge(workload, options.size, &native, true)?;
        ensure!(verdict.is_good(), "{}: natively: {verdict}", workload.name);
        for no_process_memory in [false, true] {
            let confined =
                Confined { timewise: &timewise, file: &place.0.join("profile.tw"), no_process_memory };
            let executed = suite::execute(workload, options.size, &work, &confined.prefix()?, options.limit)?;
            let done = compare(&native, &executed).and_then(|()| confined.examine());
            let way = if no_process_memory { "/proc/PID/mem" } else { "process_vm_readv" };
            match done {
                Ok(found) => println!("{:16} {way:18} {found}", workload.name),
                Err(error) => {
                    println!("{:16} {way:18} {error:#}\n{}", workload.name, executed.last_words());
                    bad.push(workload.name.as_str());
                }
            }
        }
    }
    ensure!(bad.is_empty(), "without rights, these went wrong: {}", bad.join(" "));
    Ok(())
}

fn compare(native: &Executed, confined: &Executed) -> Result<()> {
    ensure!(native.status == confined.status, "ended with {}, natively {}", confined.status, native.status);
    ensure!(native.output == confined.output, "another output than natively");
    Ok(())
}

/// One case of a run without rights.
struct Confined<'a> {
    timewise: &'a Path,
    file: &'a Path,
    no_process_memory: bool,
}

impl Confined<'_> {
    fn prefix(&self) -> Result<Vec<String>> {
        let own = std::env::current_exe().context("our own path")?;
        let mut words = vec![own.to_string_lossy().into_owned(), "confine".into()];
        if self.no_process_memory {
            words.push("--no-process-memory".into());
        }
        let [timewise, file] = [self.timewise, self.file].map(|path| path.to_string_lossy().into_owned());
        words.extend(["--".into(), timewise, "run".into(), "-o".into(), file, "--".into()]);
        Ok(words)
    }

    /// What the profile holds, as a row.
    fn examine(&self) -> Result<String> {
        let profile = Profile::load(self.file)?;
        let clock = profile.runs.first().and_then(|run| run.clock.as_ref()).context("no clock")?;
        ensure!(clock.event == "ptrace", "sampled with {}, which should have been refused", clock.event);
        let samples = profile.samples.len();
        ensure!(samples > 0, "no samples");
        let callers = profile.samples.iter().filter(|sample| sample.stack.is_some()).count();
        ensure!(callers > 0, "no callers");
        let instructions: u64 = profile.threads.iter().filter_map(|thread| thread.instructions).sum();
        ensure!(instructions > 0, "no counts");
        let joined = self.joined_share()?;
        ensure!(joined > 0.9, "only {joined} of the time met counts");
        Ok(format!("{samples:>8} {callers:>8} {instructions:>12} {:>6.1} %", 100.0 * joined))
    }

    fn joined_share(&self) -> Result<f64> {
        let mut report = Command::new(self.timewise);
        let report = report.arg("report").arg(self.file).args(["--format", "json"]).output()?;
        let report: serde_json::Value = serde_json::from_slice(&report.stdout)?;
        report["measurement"]["joined_share"].as_f64().context("no share joined in the report")
    }
}

/// A folder that everybody may write to.
struct Place(PathBuf);

impl Place {
    fn new(root: &Path) -> Result<Place> {
        let folder = target_folder(root).join("unprivileged");
        std::fs::create_dir_all(&folder)?;
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777))?;
        for old in ["profile.tw", "profile.tw.old"] {
            // Another user's, of an earlier check, that could not be replaced.
            let _ = std::fs::remove_file(folder.join(old));
        }
        Ok(Place(folder))
    }
}

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// The setting that refuses performance events to users, where the kernel has such a level, as it was before.
struct Paranoid(Option<String>);

impl Paranoid {
    /// Raises it if we may.
    fn raise() -> Paranoid {
        let before = std::fs::read_to_string(PARANOID).ok();
        Paranoid(before.filter(|_| std::fs::write(PARANOID, "3").is_ok()))
    }
}

impl Drop for Paranoid {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // Nobody is left to be told.
            let _ = std::fs::write(PARANOID, before);
        }
    }
}
