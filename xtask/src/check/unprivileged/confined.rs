//! `timewise run` without rights, and what its profile must hold all the same.

use crate::check::agreement;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use timewise_profile::Profile;

/// Runs without rights that leave a profile.
pub struct Confined<'a> {
    /// The command `timewise`.
    pub timewise: &'a Path,
    /// The profile.
    pub file: &'a Path,
    /// Whether the calls that read other processes' memory are refused.
    pub no_process_memory: bool,
}

/// The least share of the time that must meet counts.
const JOINED: f64 = 0.9;

impl Confined<'_> {
    /// What stands before a program to have it run so.
    pub fn prefix(&self) -> Result<Vec<String>> {
        let own = std::env::current_exe().context("our own path")?;
        let mut words = vec![own.to_string_lossy().into_owned(), "confine".into()];
        if self.no_process_memory {
            words.push("--no-process-memory".into());
        }
        let [timewise, file] = [self.timewise, self.file].map(|path| path.to_string_lossy().into_owned());
        words.extend(["--".into(), timewise, "run".into(), "-o".into(), file, "--".into()]);
        Ok(words)
    }

    /// How the memory of the program is read.
    pub fn way(&self) -> &'static str {
        if self.no_process_memory { "/proc/PID/mem" } else { "process_vm_readv" }
    }

    /// The profile, if it says how it was sampled, and holds counts.
    pub fn examine_ends(&self) -> Result<Profile> {
        let profile = Profile::load(self.file)?;
        let run = profile.runs.first().context("no run")?;
        let clock = run.clock.as_ref().context("no clock")?;
        ensure!(clock.event == "ptrace", "sampled with {}, which should have been refused", clock.event);
        let says = |part: &str| run.warnings.iter().any(|warning| warning.contains(part));
        ensure!(
            says("sampled with ptrace (") && says("±"),
            "no word of how it was sampled, or how precisely"
        );
        let instructions: u64 = profile.threads.iter().filter_map(|thread| thread.instructions).sum();
        ensure!(instructions > 0, "no counts");
        Ok(profile)
    }

    /// What the profile holds, as a row, if that agrees with a recording by performance events.
    pub fn examine(&self, by_events: &Profile) -> Result<String> {
        let profile = self.examine_ends()?;
        let samples = profile.samples.len();
        ensure!(samples > 0, "no samples");
        let callers = profile.samples.iter().filter(|sample| sample.stack.is_some()).count();
        ensure!(callers > 0, "no callers");
        let report = self.report()?;
        let joined = report["measurement"]["joined_share"].as_f64().context("no share joined")?;
        ensure!(joined > JOINED, "only {joined} of the time met counts");
        let hottest = &report["rows"][0];
        let cpi = hottest["cpi_total"].as_f64().context("the hottest function has no CPI")?;
        let apart = agreement::furthest(by_events, &profile);
        ensure!(apart.is_chance(), "not what performance events see: {apart}");
        let name: String = hottest["function"].as_str().unwrap_or_default().chars().take(24).collect();
        Ok(format!("{samples:>8} {callers:>8} {:>6.1} % {cpi:>6.2}  {name}", 100.0 * joined))
    }

    fn report(&self) -> Result<Value> {
        let mut report = Command::new(self.timewise);
        let report = report.arg("report").arg(self.file).args(["--format", "json"]).output()?;
        Ok(serde_json::from_slice(&report.stdout)?)
    }
}
