//! `cargo xtask suite`: lists and runs the suite's workloads.

mod execute;
mod expected;
mod workload;

pub use execute::{Executed, execute};
pub use expected::Expected;
pub use workload::{Kind, Size, Workload, load};

use anyhow::{Context, Result, bail, ensure};
use clap::Subcommand;
use std::path::{Path, PathBuf};

/// What to do with the suite.
#[derive(Subcommand)]
pub enum Command {
    /// Names, kinds and rough times
    List {
        /// Only programs of one thread that are neither servers nor process trees
        #[arg(long)]
        single_threaded: bool,
    },
    /// Runs workloads, under a command if one follows, and checks output and exit status
    Run {
        /// Which ones; all if none is named
        names: Vec<String>,
        /// Size of the input
        #[arg(long, value_enum, default_value_t = Size::Test)]
        size: Size,
        /// Seconds after which a workload is killed
        #[arg(long, default_value_t = 600)]
        limit: u32,
        /// Command to put before the program
        #[arg(last = true)]
        prefix: Vec<String>,
    },
}

/// The folder of programs, inputs and outputs: `$SUITE_WORK` or `suite/work`.
///
/// # Errors
/// If nothing was built there.
pub fn work_folder(root: &Path) -> Result<PathBuf> {
    let folder = std::env::var_os("SUITE_WORK").map_or_else(|| root.join("suite/work"), PathBuf::from);
    ensure!(
        folder.join("in/tree/Makefile").exists(),
        "{}: no suite there; run suite/build",
        folder.display()
    );
    Ok(folder.canonicalize()?)
}

/// The workloads named, or all if `names` is empty.
///
/// # Errors
/// If there is no such workload or the list cannot be read.
pub fn select(root: &Path, names: &[String]) -> Result<Vec<Workload>> {
    let all = load(&root.join("suite/workloads.tsv"))?;
    if names.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| {
        let found = all.iter().find(|w| w.name == *name).cloned();
        found.with_context(|| format!("no workload {name}; cargo xtask suite list names them"))
    };
    names.iter().map(find).collect()
}

/// The same; without names those of one thread that are neither servers nor process trees.
///
/// # Errors
/// If one is not in the list.
pub fn select_single_threaded(root: &Path, names: &[String]) -> Result<Vec<Workload>> {
    let mut workloads = select(root, names)?;
    if names.is_empty() {
        workloads.retain(Workload::is_single_threaded);
    }
    Ok(workloads)
}

/// Carries out the command.
///
/// # Errors
/// If a workload fails or its output is not what it should be.
pub fn run(root: &Path, command: Command) -> Result<()> {
    match command {
        Command::List { single_threaded } => list(root, single_threaded),
        Command::Run { names, size, limit, prefix } => run_each(root, &names, size, limit, &prefix),
    }
}

fn list(root: &Path, single_threaded: bool) -> Result<()> {
    for w in select(root, &[])?.iter().filter(|w| !single_threaded || w.is_single_threaded()) {
        let [test, train] = [Size::Test, Size::Train].map(|s| w.rough_seconds(s));
        println!(
            "{:16} {:7} {:15} test {test:5.2} s  train {train:5.2} s  {}",
            w.name,
            w.kind.word(),
            w.category,
            w.role
        );
    }
    Ok(())
}

fn run_each(root: &Path, names: &[String], size: Size, limit: u32, prefix: &[String]) -> Result<()> {
    let work = work_folder(root)?;
    let mut expected = Expected::open(&work)?;
    let mut bad = Vec::new();
    for workload in select(root, names)? {
        // What a machine's vector units make of a workload is known only after a native run.
        if !prefix.is_empty() && !expected.is_known(&workload, size) {
            let native = execute(&workload, size, &work, &[], limit)?;
            expected.judge(&workload, size, &native, true)?;
        }
        let executed = execute(&workload, size, &work, prefix, limit)?;
        let verdict = expected.judge(&workload, size, &executed, prefix.is_empty())?;
        println!(
            "{:16} {:5} {verdict} elapsed {:.2} s, CPU {:.2} s",
            workload.name,
            size.word(),
            executed.elapsed.as_secs_f64(),
            executed.cpu().as_secs_f64()
        );
        if !verdict.is_good() {
            print!("{}", executed.last_words());
            bad.push(workload.name);
        }
    }
    if !bad.is_empty() {
        bail!("{} of the workloads went wrong: {}", bad.len(), bad.join(" "));
    }
    Ok(())
}
