//! The command `timewise`: built once, then asked for profiles and comparisons.

use crate::counter::target_folder;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Samples per second of CPU time: more than the default, which keeps the cost of sampling low, because checks run
/// for a second or two and what sampling costs is the same on both sides of a comparison.
const FREQUENCY_HZ: u32 = 4000;

/// What stands for the core of this machine.
pub const NATIVE: &str = "native";

/// The built command.
pub struct Profiler {
    /// Its path.
    pub program: PathBuf,
}

impl Profiler {
    /// Builds it, optimised.
    ///
    /// # Errors
    /// If it does not build.
    pub fn build(root: &Path) -> Result<Profiler> {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "--bin", "timewise"])
            .current_dir(root)
            .status()
            .context("cargo")?;
        ensure!(built.success(), "timewise does not build");
        Ok(Profiler { program: target_folder(root).join("release/timewise") })
    }

    /// Profiles a shell command in `folder`, whose last program is what it runs, into `profile`.
    ///
    /// # Errors
    /// If it fails.
    pub fn run(&self, folder: &Path, command: &str, profile: &Path) -> Result<()> {
        let script = format!(
            "exec '{}' run -F {FREQUENCY_HZ} -o '{}' -- {command}",
            self.program.display(),
            profile.display()
        );
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(folder)
            .stdout(Stdio::null())
            .output()
            .context("bash")?;
        ensure!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// What `timewise report` says of a profile.
    ///
    /// # Errors
    /// If it fails.
    pub fn report(&self, profile: &Path) -> Result<Value> {
        let output =
            Command::new(&self.program).arg("report").arg(profile).args(["--format", "json"]).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Instructions that were counted in the function of this name.
    ///
    /// # Errors
    /// If the report fails, or there is not one such function.
    pub fn instructions(&self, profile: &Path, function: &str) -> Result<u64> {
        let output = Command::new(&self.program)
            .args(["report", "--by", "function", "--format", "json"])
            .arg(profile)
            .output()
            .context("timewise")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let rows = report["rows"].as_array().context("a report without rows")?;
        let mut found = rows.iter().filter(|row| row["function"] == function);
        match (found.next(), found.next()) {
            (Some(row), None) => row["instructions_self"].as_u64().context("a row without instructions"),
            _ => anyhow::bail!("no function {function}, or several"),
        }
    }

    /// The name of a core; of `native`, that of this machine's.
    ///
    /// # Errors
    /// If no known core is.
    pub fn core(&self, core: &str) -> Result<String> {
        if core != NATIVE {
            return Ok(core.to_string());
        }
        let output = Command::new(&self.program)
            .args(["simulate", "-q", "--core", core, "--json", "/dev/stdout", "-o"])
            .arg(self.program.with_file_name("native.tw"))
            .args(["--", "true"])
            .output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let document: Value = serde_json::from_slice(&output.stdout)?;
        Ok(document["core"].as_str().context("no core")?.to_string())
    }

    /// Cycles that a core takes for all of a program of one thread; files named after `file` are left behind.
    ///
    /// # Errors
    /// If it cannot be simulated.
    pub fn modelled_cycles(
        &self,
        core: &str,
        program: &Path,
        arguments: &[&str],
        input: Stdio,
        file: &Path,
    ) -> Result<f64> {
        let document = file.with_extension("json");
        let output = Command::new(&self.program)
            .args(["simulate", "-q", "--instructions", "0", "--core", core, "-o"])
            .arg(file.with_extension("tw"))
            .arg("--json")
            .arg(&document)
            .arg("--")
            .arg(program)
            .args(arguments)
            .stdin(input)
            .stdout(Stdio::null())
            .output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let document: Value = serde_json::from_str(&std::fs::read_to_string(document)?)?;
        document["cycles"].as_f64().context("no cycles")
    }

    /// What contradicts what in a profile, as `timewise verify` says it; nothing if the profile itself says that its
    /// counts are not complete.
    ///
    /// # Errors
    /// If it fails.
    pub fn contradictions(&self, profile: &Path) -> Result<Vec<String>> {
        let output = Command::new(&self.program)
            .arg("verify")
            .arg(profile)
            .args(["--format", "json"])
            .output()
            .context("timewise")?;
        let json: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let checks = json["checks"].as_array().context("no checks")?;
        let findings = checks.iter().flat_map(|check| check["findings"].as_array().into_iter().flatten());
        if json["complete"] == false {
            return Ok(Vec::new());
        }
        let lines: Vec<String> = findings.map(ToString::to_string).collect();
        ensure!(output.status.code() == Some(if lines.is_empty() { 0 } else { 3 }), "verify ends otherwise");
        Ok(lines)
    }

    /// What `timewise annotate` prints of a function.
    ///
    /// # Errors
    /// If it fails.
    pub fn annotate(&self, profile: &Path, function: &str) -> Result<String> {
        let output = Command::new(&self.program).arg("annotate").arg(profile).arg(function).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// What `timewise diff` says of the profiles of each side, and its exit status.
    ///
    /// # Errors
    /// If it fails, but for a gate.
    pub fn diff(&self, base: &[PathBuf], test: &[PathBuf], arguments: &[&str]) -> Result<(Value, i32)> {
        let mut command = Command::new(&self.program);
        command.arg("diff").args(["--format", "json"]).args(arguments);
        command.args(base.first().into_iter().chain(test.first()));
        for (option, more) in [("--base", base), ("--test", test)] {
            more.iter().skip(1).for_each(|profile| {
                command.arg(option).arg(profile);
            });
        }
        let output = command.output().context("timewise")?;
        let status = output.status.code().unwrap_or(-1);
        ensure!([0, 3].contains(&status), "{}", String::from_utf8_lossy(&output.stderr));
        Ok((serde_json::from_slice(&output.stdout)?, status))
    }
}

/// A command that stands back for others.
pub fn politely<const N: usize>(command: [&str; N]) -> Vec<String> {
    ["nice", "-n", "10"].into_iter().chain(command).map(String::from).collect()
}
