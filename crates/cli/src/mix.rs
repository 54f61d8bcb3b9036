//! `timewise mix`: which instructions were executed, and in how much code.

use crate::arguments::DEFAULT_FILE;
use crate::pager;
use crate::reading::{self, Format, Limit};
use crate::screen::{self, Colour};
use anyhow::bail;
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
    /// In which form
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Show so many functions of the text; 0 for all
    #[arg(long, value_name = "ROWS", default_value = "15")]
    limit: Limit,
    /// When to use colours
    #[arg(long, visible_alias = "colour", value_enum, default_value_t, value_name = "WHEN")]
    color: Colour,
}

/// Prints what was asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let profile = reading::load(&arguments.file)?;
    if profile.blocks.is_empty() {
        let file = arguments.file.display();
        bail!("'{file}' holds no counts of instructions; make some: timewise count -- PROGRAM");
    }
    let analysis = Analysis::new(&profile, None);
    let mixed = Mixed::new(&analysis);
    match arguments.format {
        Format::Text => {
            let style = screen::style(&std::io::stdout(), arguments.color);
            pager::show(&report::text(&mixed, arguments.limit.0, style), true)
        }
        Format::Json => screen::show(&report::json(&mixed)?),
        Format::Csv => screen::show(&report::csv(&mixed)?),
    }
}
