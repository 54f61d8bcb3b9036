//! `cargo xtask fuzz translator`: the random sequences of `suite/fuzz` natively and under count.
//!
//! A process runs a share of them, natively and counted, and prints a hash for each batch. Where the hashes differ,
//! the first batch that does is run once more in detail, which names the sequence; its code and what it left are then
//! shown. The counts of each process must balance as well.

use crate::counter::build_example;
use crate::folder::Folder;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

/// How much, and which.
#[derive(Args)]
pub struct Options {
    /// So many sequences, rounded up to whole batches of 512
    #[arg(long, default_value_t = 200_000)]
    sequences: u64,
    /// Which sequences there are; each seed has its own
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of the first one, to go on where an earlier run ended
    #[arg(long, default_value_t = 0)]
    first: u64,
}

/// Sequences of a batch: as many as `suite/fuzz/sequences.c` has slots for.
const BATCH: u64 = 512;

/// Batches that one process runs: enough to make its start cheap, and few enough for its records.
const BATCHES: u64 = 40;

/// Lines of a batch in detail: one for each sequence, and its own.
const LINES: u64 = BATCH + 1;

/// Seconds after which a process counts as hung, also where others use the machine.
const LIMIT: &str = "600";

/// Says how many sequences ran without a difference.
///
/// # Errors
/// If a sequence ends otherwise, counts do not balance, or something cannot be run.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let fuzzer = Fuzzer::build(root, options.seed)?;
    let started = Instant::now();
    let first = options.first / BATCH;
    let end = first + options.sequences.div_ceil(BATCH);
    let mut batch = first;
    while batch < end {
        let batches = BATCHES.min(end - batch);
        fuzzer.compare(batch, batches)?;
        batch += batches;
    }
    let sequences = (end - first) * BATCH;
    println!(
        "{sequences} sequences of seed {} from {} on, each executed three times: no difference, in {:.0} s",
        options.seed,
        first * BATCH,
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

struct Fuzzer {
    /// The program that makes and runs sequences.
    program: PathBuf,
    /// Where it lies.
    _folder: Folder,
    /// What counts, and says on standard error whether counts balance.
    counter: PathBuf,
    seed: u64,
}

impl Fuzzer {
    fn build(root: &Path, seed: u64) -> Result<Fuzzer> {
        let folder = Folder::of(root, "fuzz")?;
        let program = folder.join("sequences");
        let mut compiler = Command::new("gcc");
        compiler.args([
            "-O2",
            "-ffreestanding",
            "-fno-stack-protector",
            "-fno-tree-loop-distribute-patterns",
        ]);
        compiler.args(["-static", "-nostdlib", "-no-pie", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
        let compiled = compiler.arg(root.join("suite/fuzz/sequences.c")).status().context("gcc")?;
        ensure!(compiled.success(), "suite/fuzz/sequences.c does not compile");
        Ok(Fuzzer { program, _folder: folder, counter: build_example(root, "count")?, seed })
    }

    /// Runs the program, counted or not, from a batch on.
    fn output(&self, is_counted: bool, first: u64, batches: u64, more: &[&str]) -> Result<Output> {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", LIMIT]);
        if is_counted {
            command.arg(&self.counter);
        }
        command
            .arg(&self.program)
            .args([self.seed, first, batches].map(|number| number.to_string()))
            .args(more);
        command.output().context("timeout")
    }

    fn compare(&self, first: u64, batches: u64) -> Result<()> {
        let [native, counted] = [false, true].map(|is_counted| self.output(is_counted, first, batches, &[]));
        let (native, counted) = (native?, counted?);
        ensure!(
            native.status.success(),
            "natively: {}; a processor with AVX2, BMI2 and ADX is needed",
            native.status
        );
        let said = String::from_utf8_lossy(&counted.stderr);
        if native.stdout == counted.stdout {
            let is_fine =
                said.contains("imbalance 0 blocks that do not balance 0 ") && !said.contains("warning:");
            ensure!(is_fine, "batches {first} to {}: {said}", first + batches - 1);
            return Ok(());
        }
        // What was printed before a process died ends where its batch began.
        let at = first_difference(&native.stdout, &counted.stdout) as u64;
        println!("batch {} differs ({}): {said}", first + at, counted.status);
        self.explain(first, first + at)
    }

    /// Names the sequence of a batch that differs, with its code and what it left. What the process did from batch
    /// `first` on belongs to it: the code of one batch is written over that of another.
    fn explain(&self, first: u64, batch: u64) -> Result<()> {
        let outputs = |more: &[&str]| -> Result<[Vec<u8>; 2]> {
            let [native, counted] =
                [false, true].map(|is_counted| self.output(is_counted, first, batch - first + 1, more));
            Ok([native?.stdout, counted?.stdout])
        };
        let [native, counted] = outputs(&["detail"])?;
        let sequence = first_difference(&native, &counted) as u64 % LINES;
        let [native, counted] = outputs(&["detail", &sequence.to_string()])?;
        for (name, output) in [("natively", native), ("counted", counted)] {
            println!("{name}:\n{}", last_shown(&String::from_utf8_lossy(&output)));
        }
        bail!("sequence {} of batch {batch} of seed {} differs, or one before it", sequence, self.seed)
    }
}

/// A line of a batch or a sequence: two numbers.
fn is_hash(line: &str) -> bool {
    line.split(' ').count() == 2 && line.split(' ').all(|word| word.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The code and the states that were printed last.
fn last_shown(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().filter(|line| line.starts_with(char::is_lowercase) && !is_hash(line)).collect();
    let last = lines.iter().rposition(|line| line.starts_with("code ")).unwrap_or(0);
    lines[last..].join("\n")
}

/// The first line in which two texts differ.
fn first_difference(one: &[u8], other: &[u8]) -> usize {
    let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().map(str::to_string).collect::<Vec<_>>();
    let (one, other) = (lines(one), lines(other));
    one.iter().zip(&other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_found() {
        assert_eq!(first_difference(b"a 1\nb 2\nc 3\n", b"a 1\nb 5\nc 3\n"), 1);
        assert_eq!(first_difference(b"a 1\nb 2\n", b"a 1\n"), 1, "a process that died");
    }

    #[test]
    fn code_and_states_are_shown_and_hashes_are_not() {
        assert!(is_hash("0a1 6ab48cdc0f6bbf4c"));
        assert!(!is_hash("code 49f7e1"));
        assert!(!is_hash("state 00 01 02"));
        let text = "code 90\nstate 1 2 3\n001 aa\ncode c3\nstate 4 5 6\n001 bb\n00000007 cc\n";
        assert_eq!(last_shown(text), "code c3\nstate 4 5 6");
    }
}
