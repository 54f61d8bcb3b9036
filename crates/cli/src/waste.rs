//! `timewise waste`: which executed instructions did nothing for what came after.

use crate::arguments::DEFAULT_FILE;
use crate::pager;
use crate::reading::{self, Format, Limit};
use crate::screen::{self, Colour};
use anyhow::bail;
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
    /// In which form
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Show so many functions and instructions of the text; 0 for all
    #[arg(long, value_name = "ROWS", default_value = "15")]
    limit: Limit,
    /// When to use colours
    #[arg(long, visible_alias = "colour", value_enum, default_value_t, value_name = "WHEN")]
    color: Colour,
}

/// Prints what was found.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let profile = reading::load(&arguments.file)?;
    if profile.blocks.is_empty() {
        let file = arguments.file.display();
        bail!("'{file}' holds no counts of instructions; make some: timewise paths --all -- PROGRAM");
    }
    let analysis = Analysis::new(&profile, None);
    let waste = waste(&analysis);
    match arguments.format {
        Format::Text => {
            let style = screen::style(&std::io::stdout(), arguments.color);
            pager::show(&report::text(&analysis, &waste, arguments.limit.0, style), true)
        }
        Format::Json => screen::show(&report::json(&analysis, &waste)?),
        Format::Csv => screen::show(&report::csv(&analysis, &waste)?),
    }
}
