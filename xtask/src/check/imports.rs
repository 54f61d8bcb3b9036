//! `cargo xtask check import`: what `perf record -g` and `timewise sample` see of the same program has the
//! same ten hottest functions.
//!
//! Two functions whose shares differ by less than sampling can tell may change places: a function that is
//! among the ten of one only must be as hot as the tenth of the other, within the error of both.

use crate::folder::Folder;
use crate::profiler::Profiler;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Programs of the check's list; all if none is named
    names: Vec<String>,
}

/// Programs that are installed anyway, each with work for some seconds.
const PROGRAMS: [(&str, &str); 3] = [
    ("bzip2", "bzip2 -c < $INPUT > /dev/null"),
    (
        "sqlite3",
        "sqlite3 -batch :memory: \"with recursive n(i) as (select 1 union all select i+1 from n where i<2500000) \
         select sum(i*i%7), count(distinct i%9973), max(printf('%d', i)) from n;\"",
    ),
    (
        "gnugo",
        "/usr/games/gnugo --mode gtp --seed 1 --level 10 <<< $'boardsize 9\\ngenmove black\\ngenmove white\\n\
         genmove black\\ngenmove white\\ngenmove black\\ngenmove white\\ngenmove black\\ngenmove white\\nquit' \
         > /dev/null",
    ),
];

/// Samples a second, for both.
const FREQUENCY: &str = "2000";

/// How often a program is recorded until both agree.
const ATTEMPTS: usize = 3;

/// How many functions are compared.
const HOTTEST: usize = 10;

/// Sampling errors that a difference may have: one in ten thousand pairs of shares differs by more.
const ERRORS: f64 = 3.9;

/// Times of functions, hottest first, and how many samples they rest on.
struct Ranking {
    shares: Vec<(String, f64)>,
    samples: f64,
}

/// Prints both rankings of each program.
///
/// # Errors
/// If they differ by more than sampling explains, or something cannot be run.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let folder = Folder::of(root, "import")?;
    let timewise = Profiler::build(root)?.program;
    let input = folder.join("input");
    make_input(root, &input)?;
    for name in &options.names {
        ensure!(PROGRAMS.iter().any(|(program, _)| program == name), "no program {name} in this check");
    }
    let mut bad = Vec::new();
    for (name, command) in PROGRAMS {
        if !options.names.is_empty() && !options.names.iter().any(|wanted| wanted == name) {
            continue;
        }
        let command = command.replace("$INPUT", &input.display().to_string());
        // One run may place its memory so that another function waits for it: what differs again and again counts.
        let mut differing = Vec::new();
        for _ in 0..ATTEMPTS {
            differing = compare(&timewise, &folder, name, &command)?;
            if differing.is_empty() {
                break;
            }
        }
        if !differing.is_empty() {
            bad.push(format!("{name}: {}", differing.join(", ")));
        }
    }
    if !bad.is_empty() {
        bail!("hot for one and not for the other: {}", bad.join("; "));
    }
    Ok(())
}

/// Records a program with both, and prints the rankings: functions that are hot for one only.
fn compare(timewise: &Path, folder: &Path, name: &str, command: &str) -> Result<Vec<String>> {
    let (ours, theirs) = (folder.join(format!("{name}.tw")), folder.join(format!("{name}.perf.tw")));
    shell(&format!("{} sample -F {FREQUENCY} -o {} -- {command}", timewise.display(), ours.display()))?;
    let data = folder.join(format!("{name}.data"));
    let record = format!("perf record -q -e {} -F {FREQUENCY} -g", event(timewise, &ours)?);
    let rest = format!("-o {} -- {command}", data.display());
    // While another recording asks for build ids, some kernels mark perf's records as if they had them,
    // and perf fails when it reads them back. It need not.
    shell(&format!("{record} {rest}")).or_else(|_| shell(&format!("{record} --no-buildid {rest}")))?;
    shell(&format!("{} import {} -o {}", timewise.display(), data.display(), theirs.display()))?;
    let (ours, theirs) = (Ranking::of(timewise, &ours)?, Ranking::of(timewise, &theirs)?);
    println!("{name}: {} samples of timewise, {} of perf", ours.samples, theirs.samples);
    for (rank, (function, share)) in ours.shares.iter().take(HOTTEST).enumerate() {
        let there = theirs.share(function);
        println!("  {:2} {:6.2} % {:6.2} %  {function}", rank + 1, 100.0 * share, 100.0 * there);
    }
    Ok([strangers(&ours, &theirs), strangers(&theirs, &ours)].concat())
}

/// Functions that are among the hottest of one, and for certain not of the other.
fn strangers(one: &Ranking, other: &Ranking) -> Vec<String> {
    let last = other.shares.get(HOTTEST - 1).map_or(0.0, |(_, share)| *share);
    let hot: Vec<&String> = other.shares.iter().take(HOTTEST).map(|(name, _)| name).collect();
    let certain = |(function, share): &&(String, f64)| {
        // Of the larger share: the other may rest on no sample at all.
        let error = (share.max(last) * (1.0 / one.samples + 1.0 / other.samples)).sqrt();
        !hot.contains(&function) && share - last > ERRORS * error
    };
    let functions = one.shares.iter().take(HOTTEST).filter(certain);
    functions.map(|(function, share)| format!("{function} ({:.2} %)", 100.0 * share)).collect()
}

impl Ranking {
    fn of(timewise: &Path, profile: &Path) -> Result<Ranking> {
        let report = report(timewise, profile)?;
        let mut times: BTreeMap<String, f64> = BTreeMap::new();
        let mut samples = 0.0;
        for row in report["rows"].as_array().context("a report has rows")? {
            let (module, name) = (row["module"].as_str(), row["function"].as_str());
            let name = format!("{} ({})", name.context("a name")?, file_name(module.context("a module")?));
            *times.entry(name).or_default() += row["cycles_self"].as_f64().unwrap_or(0.0);
            samples += row["samples_self"].as_f64().unwrap_or(0.0);
        }
        ensure!(samples >= 1000.0, "{samples} samples are too few: {}", profile.display());
        let all: f64 = times.values().sum();
        let mut shares: Vec<(String, f64)> =
            times.into_iter().map(|(name, time)| (name, time / all)).collect();
        shares.sort_by(|one, other| other.1.total_cmp(&one.1));
        Ok(Ranking { shares, samples })
    }

    fn share(&self, function: &str) -> f64 {
        self.shares.iter().find(|(name, _)| name == function).map_or(0.0, |(_, share)| *share)
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn report(timewise: &Path, profile: &Path) -> Result<Value> {
    let mut command = Command::new(timewise);
    let output =
        command.arg("report").arg(profile).args(["--by", "function", "--format", "json"]).output()?;
    ensure!(output.status.success(), "timewise report: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The event that timewise sampled with, so that `perf` takes the same.
fn event(timewise: &Path, profile: &Path) -> Result<String> {
    let report = report(timewise, profile)?;
    Ok(report["clock"]["event"].as_str().context("a report names its clock")?.to_string())
}

/// Text that does not compress at once: this project's sources, again and again.
fn make_input(root: &Path, path: &PathBuf) -> Result<()> {
    let once = std::fs::read(root.join("Cargo.lock")).context("Cargo.lock")?;
    let more = once.iter().cycle().enumerate().map(|(at, byte)| byte ^ (at / once.len() % 7) as u8);
    let bytes: Vec<u8> = more.take(24 << 20).collect();
    std::fs::write(path, bytes).with_context(|| path.display().to_string())
}

fn shell(command: &str) -> Result<()> {
    let mut bash = Command::new("bash");
    let output = bash.args(["-c", command]).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    ensure!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(shares: &[(&str, f64)]) -> Ranking {
        let shares = shares.iter().map(|&(name, share)| (name.to_string(), share)).collect();
        Ranking { shares, samples: 2000.0 }
    }

    #[test]
    fn a_sample_or_two_make_no_stranger() {
        let few = ranking(&[("sort", 0.999), ("write", 0.001)]);
        let other = ranking(&[("sort", 1.0)]);
        assert!(strangers(&few, &other).is_empty());
        let many = ranking(&[("sort", 0.98), ("write", 0.02)]);
        assert_eq!(strangers(&many, &other), ["write (2.00 %)"]);
    }
}
