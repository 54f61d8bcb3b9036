//! A program's cycles per instruction on a modelled core, from windows at equal distances over its whole run.

use crate::counter::{build_example, target_folder};
use crate::profiler::{Profiler, politely};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use timewise_profile::Profile;

/// Which part of a run is executed in the model.
#[derive(Clone, Copy)]
pub struct Windows {
    /// Windows over the whole run.
    pub count: u64,
    /// Instructions of each.
    pub length: u64,
    /// Instructions before each that warm caches and predictors.
    pub warming: u64,
}

/// What counts and simulates.
pub struct Sampler {
    timewise: PathBuf,
    simulator: PathBuf,
    file: PathBuf,
    core: String,
    windows: Windows,
}

/// What was found of a program's first thread.
pub struct Sampled {
    /// Instructions that it executes.
    pub instructions: f64,
    /// Cycles for each of them.
    pub cycles_per_instruction: f64,
}

impl Sampler {
    /// For a core, as [`Profiler::core`] takes it.
    ///
    /// # Errors
    /// If something does not build.
    pub fn build(root: &Path, core: &str, windows: Windows) -> Result<Sampler> {
        let profiler = Profiler::build(root)?;
        Ok(Sampler {
            core: profiler.core(core)?,
            timewise: profiler.program,
            simulator: build_example(root, "simulate")?,
            file: target_folder(root).join("samples.tw"),
            windows,
        })
    }

    /// The core's name or file.
    pub fn core(&self) -> &str {
        &self.core
    }

    /// Samples a program, which `run` runs with the words given put before it; it gives what went to standard error. It
    /// stands back for other processes: nothing is timed.
    ///
    /// # Errors
    /// If it cannot be counted or simulated.
    pub fn sample(&self, run: impl Fn(&[String]) -> Result<String>) -> Result<Sampled> {
        let instructions = self.count(&run)?;
        let said = run(&self.prefix(instructions))?;
        let cycles_per_instruction = told(&said).context(said)?;
        Ok(Sampled { instructions: instructions as f64, cycles_per_instruction })
    }

    /// Instructions that the program executes, likewise.
    ///
    /// # Errors
    /// If it cannot be counted.
    pub fn count(&self, run: impl Fn(&[String]) -> Result<String>) -> Result<u64> {
        let [timewise, file] = [&self.timewise, &self.file].map(|path| path.to_string_lossy().into_owned());
        let said = run(&politely([&*timewise, "count", "-q", "--no-calls", "-o", &file, "--"]))?;
        let profile = Profile::load(&self.file).context(said)?;
        // What follows must not be taken for the next program's.
        std::fs::remove_file(&self.file)?;
        Ok(profile.threads.iter().filter_map(|thread| thread.instructions).sum())
    }

    /// What to put before a program of so many instructions.
    fn prefix(&self, instructions: u64) -> Vec<String> {
        let Windows { count, length, warming } = self.windows;
        let every = (instructions / count.max(1)).max(length);
        let streamed = every.min(length.saturating_add(warming));
        let mut prefix = politely([&*self.simulator.to_string_lossy(), &self.core]);
        for (option, value) in [
            ("--skip", every - streamed),
            ("--length", streamed),
            ("--windows", (instructions / every).max(1)),
            ("--execute", length),
            ("--every", streamed),
        ] {
            prefix.extend([option.to_string(), value.to_string()]);
        }
        prefix
    }
}

/// Waits until whoever called us has made the machine quiet.
///
/// # Errors
/// If there is no standard input.
pub fn wait_for_a_line() -> Result<()> {
    eprintln!("all is simulated; what is timed now begins with a line on standard input");
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}

/// Cycles per instruction of the first thread, as the example says, which tells of those first that end first.
fn told(errors: &str) -> Option<f64> {
    let threads = errors.lines().filter_map(|line| {
        let (tid, said) = line.strip_prefix("thread ")?.split_once(':')?;
        Some((tid.parse::<u32>().ok()?, said))
    });
    let (_, said) = threads.min_by_key(|(tid, _)| *tid)?;
    let (_, behind) = said.split_once("CPI ")?;
    behind.split(';').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Sampler, Windows, told};

    #[test]
    fn what_the_example_says_is_read() {
        let errors =
            "noise\nthread 71: 2, CPI 3.0; x\nthread 70: 5 instructions, CPI 0.447; computing 20.0 %\n";
        assert_eq!(told(errors), Some(0.447));
        assert_eq!(told("thread: CPI 2;"), None);
    }

    #[test]
    fn windows_end_at_equal_distances() {
        let windows = Windows { count: 4, length: 10, warming: 20 };
        let paths = ["count", "simulate", "file"].map(std::path::PathBuf::from);
        let [timewise, simulator, file] = paths;
        let sampler = Sampler { timewise, simulator, file, core: "core".into(), windows };
        let words = |instructions| sampler.prefix(instructions)[5..].join(" ");
        assert_eq!(words(400), "--skip 70 --length 30 --windows 4 --execute 10 --every 30");
        // Too short to leave any out.
        assert_eq!(words(60), "--skip 0 --length 15 --windows 4 --execute 10 --every 15");
        assert_eq!(words(5), "--skip 0 --length 10 --windows 1 --execute 10 --every 10");
    }
}
