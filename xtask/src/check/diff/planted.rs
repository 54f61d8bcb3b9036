//! A planted change is named first, at every granularity, with the right sign and size.

use super::program::{Built, Program};
use super::{GRANULARITIES, profile};
use crate::check::changes::{Changes, Row};
use crate::check::native::{Ratio, together};
use crate::profiler::Profiler;
use anyhow::{Result, ensure};
use std::path::PathBuf;

/// Must fail: code that is new, or ran more often, takes more than this. What is planted takes from 0.7 % on, known to
/// within 0.3 % by so few runs.
const GATE: &str = "time-by-count>0.3%";

/// Compares so many runs of each build, in turn, and its native time in so many pairs of runs, unless none: whether the
/// change is first, if all of them could be made.
pub fn is_first(
    profiler: &Profiler,
    program: &Program,
    (base, planted): (&Built, &Built),
    runs: usize,
    natives: usize,
) -> Result<Result<()>> {
    let native = match natives {
        0 => None,
        pairs => Some(together(base.long_run(), planted.long_run(), pairs)?),
    };
    if let Some(native) = &native {
        println!("{:8} planted in {}: {native}", program.name, program.function);
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for run in 0..runs {
        // First the one, then the other, so that a machine that becomes slower does so for both.
        let mut sides = [(base, &mut ours), (planted, &mut theirs)];
        if run % 2 == 1 {
            sides.reverse();
        }
        for (built, profiles) in sides {
            profiles.push(profile(profiler, built, &built.long, &format!("long-{run}"))?);
        }
    }
    Ok(judge(profiler, program, (&ours, &theirs), planted, native.as_ref()))
}

/// Whether the first row is the change's, whatever rows are of.
fn judge(
    profiler: &Profiler,
    program: &Program,
    (ours, theirs): (&[PathBuf], &[PathBuf]),
    planted: &Built,
    native: Option<&Ratio>,
) -> Result<()> {
    for by in GRANULARITIES {
        let changes = Changes::between(profiler, ours, theirs, &["--by", by, "--fail-if", GATE])?;
        let row = changes.first();
        let (first, last) = row.lines().unwrap_or_default();
        println!(
            "{:8} by {by}: first is {} {} {first}-{last}: {row}",
            program.name,
            row.name("function"),
            row.name("text"),
        );
        ensure!(row.is_finding(), "by {by}, there is no finding");
        let is_there = match by {
            "function" => row.name("function") == program.function,
            _ => planted.planted.start <= last && first < planted.planted.end,
        };
        ensure!(is_there, "by {by}, what was planted in lines {:?} is not the first", planted.planted);
        ensure!(row.change("time").0 > 0.0, "by {by}, it has not become slower");
        if let ("function", Some(native)) = (by, native) {
            println!("{:8} the program: {}", program.name, changes.whole());
            has_the_size(&row, native)?;
        }
        ensure!(changes.status == 3, "the gate {GATE} did not fail, but the status was {}", changes.status);
    }
    Ok(())
}

/// Whether the interval of the function's change of time and the native one of the program have values in common.
fn has_the_size(row: &Row, native: &Ratio) -> Result<()> {
    let (_, low, high) = row.change("time");
    let is_so = low <= native.high - 1.0 && high >= native.low - 1.0;
    ensure!(is_so, "{row}, but {native}");
    Ok(())
}
