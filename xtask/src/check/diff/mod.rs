//! `cargo xtask check diff`: a small change that was planted in one loop is named first, and builds that are the
//! same raise no alarm.
//!
//! Each program is built three times: as it is, once more as it is in another folder, and with a little more work
//! in each round of one loop, about 2 % of the program's time. Profiles of the first and the third must give the
//! planted function, loop, line and instruction as first findings, with the growth that is measured natively;
//! profiles of the first and the second must give none and pass all gates, one against one and in groups.

mod equal;
mod planted;
mod program;

use crate::check::attempts::{ATTEMPTS, attempt};
use crate::profiler::Profiler;
use crate::suite;
use anyhow::{Context, Result, ensure};
use clap::Args;
use program::{Built, Program};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Programs: bzip2, lua, sqlite, or planted, which needs no suite; the first three if none is named
    names: Vec<String>,
    /// Only the program that needs no suite, in less than a minute, without native times
    #[arg(long)]
    small: bool,
    /// Pairs of profiles of equal builds of each program; 7, or 2 if small
    #[arg(long)]
    pairs: Option<usize>,
    /// Runs of each build that are compared for the planted change; 4, or 2 if small
    #[arg(long)]
    runs: Option<usize>,
    /// Pairs of native runs that the planted change is measured by; 12, or none if small
    #[arg(long)]
    natives: Option<usize>,
}

/// All that `timewise diff` has rows for.
const GRANULARITIES: [&str; 4] = ["function", "loop", "line", "instruction"];

/// Checks each program.
///
/// # Errors
/// If a planted change is not named first, or a change is found where there is none.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let profiler = Profiler::build(root)?;
    let names: Vec<&str> = match (options.small, &options.names[..]) {
        (true, _) => vec!["planted"],
        (false, []) => vec!["bzip2", "lua", "sqlite"],
        (false, names) => names.iter().map(String::as_str).collect(),
    };
    let mut wrong = Vec::new();
    for name in names {
        let begin = Instant::now();
        let folder = fresh_folder(root, name)?;
        let program = Program::named(root, name);
        match program.and_then(|program| check(&profiler, &program, &folder, options)) {
            // What went wrong can be looked at.
            Err(error) => wrong.push(format!("{name} (profiles in {}): {error:#}", folder.display())),
            Ok(()) => std::fs::remove_dir_all(&folder)?,
        }
        println!("{name:8} took {:.0} s", begin.elapsed().as_secs_f64());
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// A folder for builds and profiles.
fn fresh_folder(root: &Path, name: &str) -> Result<PathBuf> {
    let work = suite::work_folder(root).unwrap_or_else(|_| crate::counter::target_folder(root));
    let folder = work.join(format!("diff-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

fn check(profiler: &Profiler, program: &Program, folder: &Path, options: &Options) -> Result<()> {
    let base = program.build(&folder.join("base"), false)?;
    let again = program.build(&folder.join("again"), false)?;
    let planted = program.build(&folder.join("planted"), true)?;
    let or =
        |option: Option<usize>, usual, small| option.unwrap_or(if options.small { small } else { usual });
    let (runs, natives) = (or(options.runs, 4, 2), or(options.natives, 12, 0));
    // Two runs of each build, between bursts of other work, do not tell what is first. Equal builds must be found
    // equal whatever else goes on.
    let most = if options.small { ATTEMPTS } else { 1 };
    attempt(most, || planted::is_first(profiler, program, (&base, &planted), runs, natives))?;
    equal::raise_no_alarm(profiler, program, (&base, &again), or(options.pairs, 7, 2))
}

fn profile(profiler: &Profiler, built: &Built, command: &str, name: &str) -> Result<PathBuf> {
    let file = built.folder.join(format!("{name}.tw"));
    profiler.run(&built.folder, command, &file)?;
    Ok(file)
}
