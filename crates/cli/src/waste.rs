//! `timewise waste`: which executed instructions did nothing for what came after.

use crate::arguments::DEFAULT_FILE;
use crate::reading::{self, Limit, Printed};
use std::path::PathBuf;
use timewise_flow::Analysis;
use timewise_report::waste as report;
use timewise_workload::waste;

/// Find instructions that did nothing for what came after: dead and redundant ones on the paths that were taken
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise paths --all -- ./app && timewise waste
  timewise count -- ./app && timewise waste    only what holds whichever way was taken
  timewise waste --format json | jq '.instructions[] | select(.removable == .of)'

What counts as waste, and what is known to be missed, is described in docs/code-quality.md.")]
pub struct Arguments {
    /// The profile, with counts: timewise paths --all, timewise count or timewise run
    #[arg(default_value = DEFAULT_FILE)]
    file: PathBuf,
    /// Show so many functions and instructions of the text; 0 for all
    #[arg(long, value_name = "ROWS", default_value = "15")]
    limit: Limit,
    #[command(flatten)]
    printed: Printed,
}

/// Prints what was found.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let profile = reading::load_counted(&arguments.file, "timewise paths --all")?;
    let analysis = Analysis::new(&profile, None);
    let waste = waste(&analysis);
    arguments.printed.print(
        |style| report::text(&analysis, &waste, arguments.limit.0, style),
        || report::json(&analysis, &waste),
        || report::csv(&analysis, &waste),
    )
}
