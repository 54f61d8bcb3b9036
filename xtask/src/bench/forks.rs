//! What counting costs programs that do most of their work in processes that they fork: the time that one of these takes,
//! with all that its parent does for it, against native runs of the same round. What the command does once the program has
//! ended, which is to save what each process executed, is in a column of its own.

use super::statistics::{median, median_interval};
use crate::counter::target_folder;
use crate::profiler::Profiler;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use timewise_profile::Profile;

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// How often each program is run: medians count
    #[arg(long, default_value_t = 7)]
    rounds: u32,
}

/// Programs, by what they are, the processes that they make, and their command.
const PROGRAMS: [(&str, u32, [&str; 3]); 5] = [
    (
        "python: children that format, compute a digest, match",
        300,
        [
            "/usr/bin/python3",
            "-c",
            "
import os, hashlib, json, re
def work():
    digest = hashlib.sha256(('%s %d %5.3f' % ('x', 5, 2.5)).encode()).hexdigest()
    json.loads(json.dumps({'a': [1, 2, {'b': digest}]}))
    re.sub('[a-f]+', '_', digest)
for i in range(300):
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    os.waitpid(child, 0)
",
        ],
    ),
    ("bash: subshells and pipelines", 1200, ["bash", "-c", SUBSHELLS]),
    ("dash: subshells and pipelines", 900, ["dash", "-c", SUBSHELLS]),
    (
        "bash: programs that do nothing",
        100,
        ["bash", "-c", "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done"],
    ),
    (
        "bash: cc -O1 -c of a line",
        36,
        [
            "bash",
            "-c",
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cc -O1 -x c -c -o /dev/null - <<< 'int f(int x) { return x; }'; done",
        ],
    ),
];

const SUBSHELLS: &str =
    "i=0; while [ $i -lt 300 ]; do x=$( (echo $((i*i)); echo a | read y) ); i=$((i+1)); done";

/// Prints a row for each program.
///
/// # Errors
/// If one goes wrong.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let timewise = Profiler::build(root)?.program;
    let file = target_folder(root).join("forks.tw");
    println!("elapsed time against native, with intervals of 95 %, and that of the whole command with calls");
    println!(
        "{:54} {:>9} {:>9} {:>18} {:>18} {:>8}",
        "program", "processes", "native ms", "--no-calls", "calls", "command"
    );
    for (name, processes, command) in PROGRAMS {
        let (mut native, mut times, mut commands) = (Vec::new(), [Vec::new(), Vec::new()], Vec::new());
        for _ in 0..options.rounds {
            let alone = milliseconds(Command::new(command[0]).args(&command[1..]))?;
            native.push(alone);
            for (times, choice) in times.iter_mut().zip([&["--no-calls"][..], &[]]) {
                let mut counting = Command::new(&timewise);
                counting.args(["count", "--quiet", "-o"]).arg(&file).args(choice).arg("--").args(command);
                let all = milliseconds(&mut counting)?;
                let profile = Profile::load(&file)?;
                let run = profile.runs.first().context("a profile without a run")?;
                ensure!(run.counts_complete, "{name}: {:?}", run.warnings);
                times.push(run.elapsed_ns as f64 / 1e6 / alone);
                if choice.is_empty() {
                    commands.push(all / alone);
                }
            }
        }
        let [plain, calls] = times.map(|times| {
            let range = median_interval(&times);
            let range = range.map_or(String::new(), |(low, high)| format!("({low:.2}-{high:.2})"));
            format!("{:6.2} {range:>11}", median(&times))
        });
        let (native, command) = (median(&native) / f64::from(processes), median(&commands));
        println!("{name:54} {processes:9} {native:9.3} {plain} {calls} {command:8.2}");
    }
    Ok(())
}

/// Elapsed time of a command.
fn milliseconds(command: &mut Command) -> Result<f64> {
    let begun = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().context("start")?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}
