//! `timewise mix`: which instructions were executed, and in how much code.

use crate::arguments::DEFAULT_FILE;
use crate::reading::{self, Limit, Printed};
use std::path::PathBuf;
use timewise_flow::Analysis;
use timewise_report::mix::{self as report, Mixed};

/// Show which kinds of instructions were executed, where control went, and how much code that is
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise count -- ./app && timewise mix
  timewise mix old.tw --limit 40
  timewise mix --format json | jq '.categories, .footprint'

Categories and the other figures are described in docs/code-quality.md.")]
pub struct Arguments {
    /// The profile, with counts: timewise count, timewise run or timewise paths
    #[arg(default_value = DEFAULT_FILE)]
    file: PathBuf,
    /// Show so many functions of the text; 0 for all
    #[arg(long, value_name = "ROWS", default_value = "15")]
    limit: Limit,
    #[command(flatten)]
    printed: Printed,
}

/// Prints what was asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let profile = reading::load_counted(&arguments.file, "timewise count")?;
    let analysis = Analysis::new(&profile, None);
    let mixed = Mixed::new(&analysis);
    arguments.printed.print(
        |style| report::text(&mixed, arguments.limit.0, style),
        || report::json(&mixed),
        || report::csv(&mixed),
    )
}
