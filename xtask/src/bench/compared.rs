//! A workload on a modelled core, with all profilers that sample it.

use crate::folder::Folder;
use crate::profiler::Profiler;
use crate::suite::{self, Size, Workload, execute};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What is simulated, and how it is sampled.
#[derive(Clone, Copy)]
pub struct Simulated<'a> {
    /// The core, by its name or file.
    pub core: &'a str,
    /// Instructions that pass before each window.
    pub skip: u64,
    /// Instructions of each window.
    pub instructions: u64,
    /// Windows.
    pub windows: u64,
    /// Cycles between samples.
    pub period: u64,
    /// Whether it is the last cycle of every period that is sampled rather than a random one.
    pub periodic: bool,
}

/// What simulates workloads.
pub struct Comparer {
    timewise: PathBuf,
    work: PathBuf,
    folder: Folder,
}

impl Comparer {
    /// Keeps its files in a folder of this name.
    ///
    /// # Errors
    /// If something does not build.
    pub fn build(root: &Path, folder: &str) -> Result<Comparer> {
        let folder = Folder::of(root, folder)?;
        Ok(Comparer { timewise: Profiler::build(root)?.program, work: suite::work_folder(root)?, folder })
    }

    /// What a core makes of a workload, and the profilers of that.
    ///
    /// # Errors
    /// If it cannot be simulated within so many seconds.
    pub fn simulate(
        &self,
        workload: &Workload,
        size: Size,
        limit: u32,
        simulated: &Simulated,
    ) -> Result<Value> {
        let file =
            |extension| self.folder.join(format!("{}.{extension}", workload.name)).display().to_string();
        let mut prefix = vec![self.timewise.display().to_string()];
        prefix.extend(["simulate", "-q", "--compare-profilers"].map(String::from));
        prefix.extend((!simulated.periodic).then(|| "--random".to_string()));
        for (option, value) in [
            ("--core", simulated.core.to_string()),
            ("--skip", simulated.skip.to_string()),
            ("--instructions", simulated.instructions.to_string()),
            ("--windows", simulated.windows.to_string()),
            ("--period", simulated.period.to_string()),
            ("-o", file("tw")),
            ("--json", file("json")),
        ] {
            prefix.extend([option.to_string(), value]);
        }
        prefix.push("--".into());
        let executed = execute(workload, size, &self.work, &prefix, limit)?;
        let document = std::fs::read_to_string(file("json"))
            .with_context(|| format!("{}: {}", workload.name, executed.last_words()))?;
        // What follows must not be taken for the next simulation's.
        std::fs::remove_file(file("json"))?;
        Ok(serde_json::from_str(&document)?)
    }
}
