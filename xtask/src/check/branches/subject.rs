//! What is traced and counted: workloads of the suite, or kernels of it that are compiled here.

use crate::suite::{self, Size, Workload};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Kernels, and arguments with which they run for some tenths of a second.
const KERNELS: [(&str, &[&str]); 3] =
    [("interp", &["0", "40"]), ("qsortdiv", &["400"]), ("nbody", &["16", "60"])];

/// A program with an input.
pub enum Subject {
    /// Of the suite, in a size, where it works, and for how many seconds at most.
    Workload(Box<Workload>, Size, PathBuf, u32),
    /// A kernel, compiled, its arguments, and what it writes.
    Kernel(&'static str, PathBuf, &'static [&'static str], Vec<u8>),
}

/// Workloads by name, each to run for so many seconds at most.
///
/// # Errors
/// If there are none of that name.
pub fn workloads(root: &Path, names: &[String], size: Size, limit_s: u32) -> Result<Vec<Subject>> {
    let work = suite::work_folder(root)?;
    let subject = |workload| Subject::Workload(Box::new(workload), size, work.clone(), limit_s);
    Ok(suite::select(root, names)?.into_iter().map(subject).collect())
}

/// The kernels, compiled into `scratch`.
///
/// # Errors
/// If one does not compile or run.
pub fn small(root: &Path, scratch: &Path) -> Result<Vec<Subject>> {
    let build = |&(name, arguments): &(&'static str, &'static [&'static str])| {
        let (source, program) = (root.join(format!("suite/kernels/{name}.c")), scratch.join(name));
        let mut compiler = Command::new("gcc");
        compiler.args(["-O2", "-g", "-o"]).args([&program, &source]).arg("-lm");
        ensure!(compiler.status().context("gcc")?.success(), "{}: does not compile", source.display());
        let native = Command::new(&program).args(arguments).output().with_context(|| name)?;
        ensure!(native.status.success(), "{name}: {}", native.status);
        Ok(Subject::Kernel(name, program, arguments, native.stdout))
    };
    KERNELS.iter().map(build).collect()
}

impl Subject {
    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Subject::Workload(workload, ..) => &workload.name,
            Subject::Kernel(name, ..) => name,
        }
    }

    /// Runs it below a command, which must change nothing: what went to standard error.
    ///
    /// # Errors
    /// If it fails, or writes anything else than natively.
    pub fn execute(&self, words: &[String]) -> Result<String> {
        match self {
            Subject::Workload(workload, size, work, limit) => {
                let done = suite::execute(workload, *size, work, words, *limit)?;
                let as_natively = workload.is_success(done.status.code().unwrap_or(-1))
                    && done.output == workload.output(*size);
                let (name, status) = (&workload.name, done.status);
                ensure!(as_natively, "{name}: {status} or another output\n{}", done.last_words());
                Ok(done.errors)
            }
            Subject::Kernel(name, program, arguments, output) => {
                let done =
                    Command::new(&words[0]).args(&words[1..]).arg(program).args(*arguments).output()?;
                let errors = String::from_utf8_lossy(&done.stderr).into_owned();
                let as_natively = done.status.success() && done.stdout == *output;
                ensure!(as_natively, "{name}: {} or another output\n{errors}", done.status);
                Ok(errors)
            }
        }
    }
}
