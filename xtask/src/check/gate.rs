//! `cargo xtask check gate`: what is planted in programs of `suite/gate` fails a gate on modelled cycles, which names
//! the loop and the reason; equal builds pass one that allows no growth at all.

use crate::folder::Folder;
use crate::profiler::Profiler;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Equal builds of each program
    #[arg(long, default_value_t = 20)]
    builds: usize,
}

/// A program of `suite/gate`, to which `PLANTED` adds something that costs.
struct Planted {
    /// The program's source, without `.c`.
    source: &'static str,
    /// The core that shows it.
    core: &'static str,
    /// The function that holds the loop.
    function: &'static str,
    category: &'static str,
    reason: &'static str,
}

const PLANTED: [Planted; 3] = [
    Planted {
        source: "chase",
        core: "raptor-cove",
        function: "chase",
        category: "load stall",
        reason: "waits for operands, an older store, or an L1 hit",
    },
    Planted {
        source: "lookup",
        core: "raptor-cove",
        function: "lookup",
        category: "load stall",
        reason: "L1 miss",
    },
    Planted {
        source: "align",
        core: "boom-4w-tip",
        function: "spin",
        // What comes in three cycles rather than two commits in three.
        category: "execution",
        reason: "commits",
    },
];

/// Checks each program and prints what was found.
///
/// # Errors
/// If a gate passes that should fail, does not say why, or fails where nothing differs.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let profiler = Profiler::build(root)?;
    let folder = Folder::of(root, "gate")?;
    for planted in &PLANTED {
        let source = root.join(format!("suite/gate/{}.c", planted.source));
        let simulated = |name: &str, flags: &[&str]| {
            // In a folder of its own, as builds are; names of equal length, as the path is on the program's stack.
            let folder = folder.join(format!("{}-{name}", planted.source));
            build(&source, &folder, flags)?;
            simulate(&profiler, &folder, planted.core)
        };
        let first = simulated("00", &[])?;
        for build in 1..options.builds {
            let again = simulated(&format!("{build:02}"), &[])?;
            let (status, said) = judge(&profiler, &first, &again, "modelled-cycles>0%")?;
            ensure!(status == Some(0), "{}: build {build} equals the first, but {said}", planted.source);
        }
        let (status, said) =
            judge(&profiler, &first, &simulated("xx", &["-DPLANTED"])?, "modelled-cycles>1%")?;
        ensure!(status == Some(3), "{}: status {status:?}, and {said}", planted.source);
        let place = format!("the loop {}.c:", planted.source);
        let function = format!(" in {} ", planted.function);
        for part in [&place, &function, planted.category, planted.reason] {
            ensure!(said.contains(part), "{}: '{part}' is not said: {said}", planted.source);
        }
        println!("{:8} {} equal builds pass; {}", planted.source, options.builds, said.trim());
    }
    Ok(())
}

fn build(source: &Path, folder: &Path, flags: &[&str]) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let built = Command::new("cc")
        .args(["-O2", "-g", "-o", "program"])
        .args(flags)
        .arg(source)
        .current_dir(folder)
        .status()
        .context("cc")?;
    ensure!(built.success(), "{} does not build", source.display());
    Ok(())
}

fn simulate(profiler: &Profiler, folder: &Path, core: &str) -> Result<PathBuf> {
    let profile = folder.join("profile.tw");
    let output = Command::new(&profiler.program)
        .args(["simulate", "-q", "--core", core, "-o"])
        .arg(&profile)
        .args(["--", "./program"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .output()?;
    ensure!(output.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&output.stderr));
    Ok(profile)
}

/// The status of `timewise diff`, and what it says of the condition.
fn judge(profiler: &Profiler, base: &Path, test: &Path, condition: &str) -> Result<(Option<i32>, String)> {
    let output = Command::new(&profiler.program)
        .arg("diff")
        .args([base, test])
        .args(["--fail-if", condition])
        .stdout(Stdio::null())
        .output()?;
    Ok((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
}
