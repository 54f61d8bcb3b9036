//! One execution of a workload, natively or under a command of timewise, and the CPU time that it takes.

use crate::suite::{self, Executed, Expected, Size, Workload};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use timewise_profile::Profile;

/// What is executed, and where.
pub struct Bench<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// The size of its input.
    pub size: Size,
    /// The command.
    pub timewise: &'a Path,
    /// The suite's folder.
    pub work: &'a Path,
    /// Seconds after which it is killed.
    pub limit_s: u32,
}

impl Bench<'_> {
    /// One execution, under a command of timewise or natively, and the program's CPU time in seconds.
    ///
    /// # Errors
    /// If it fails, or writes anything else than it should.
    pub fn once(&self, command: &[&str], expected: &mut Expected) -> Result<(Executed, f64)> {
        let file = self.work.join("out/once.tw");
        let mut prefix = Vec::new();
        if !command.is_empty() {
            let [timewise, file] = [self.timewise, &file].map(|path| path.to_string_lossy().into_owned());
            prefix.push(timewise);
            prefix.extend(command.iter().map(|word| (*word).to_string()));
            prefix.extend(["-o".to_string(), file, "--".to_string()]);
        }
        let executed = suite::execute(self.workload, self.size, self.work, &prefix, self.limit_s)?;
        let verdict = expected.judge(self.workload, self.size, &executed, command.is_empty())?;
        let under = if command.is_empty() { "natively" } else { command[0] };
        ensure!(verdict.is_good(), "{under}: {verdict}\n{}", executed.last_words());
        let cpu_s = if command.is_empty() {
            executed.cpu().as_secs_f64()
        } else {
            let profile = Profile::load(&file)?;
            let run = profile.runs.first().context("a profile without a run")?;
            (run.user_ns + run.kernel_ns) as f64 / 1e9
        };
        Ok((executed, cpu_s))
    }
}
