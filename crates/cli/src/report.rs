//! `timewise report`: what a profile says, one row for each function, loop, block, instruction or line.

use crate::arguments::DEFAULT_FILE;
use crate::reading::{self, Format, Reading};
use crate::screen;
use std::path::PathBuf;
use timewise_flow::Analysis;
use timewise_report::{By, csv, json, listing};

/// Show where a profile's time went
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise report
  timewise report --by loop old.tw
  timewise report --by instruction --format json | jq '.rows[0]'
  timewise report --by line --format csv > lines.csv

JSON and CSV hold all rows. The fields are described in docs/reports.md.")]
pub struct Arguments {
    /// The profile
    #[arg(default_value = DEFAULT_FILE)]
    file: PathBuf,
    /// What to show one row for
    #[arg(long, value_enum, default_value_t)]
    by: Rows,
    /// In which form
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Show so many rows of the text; 0 for all
    #[arg(long, value_name = "ROWS", default_value_t = 25)]
    limit: usize,
    #[command(flatten)]
    reading: Reading,
}

/// What a report has one row for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
enum Rows {
    #[default]
    Function,
    Loop,
    Block,
    Instruction,
    Line,
}

/// Prints what was asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let profile = reading::load(&arguments.file)?;
    let analysis = Analysis::new(&profile, arguments.reading.policy());
    let by = match arguments.by {
        Rows::Function => By::Function,
        Rows::Loop => By::Loop,
        Rows::Block => By::Block,
        Rows::Instruction => By::Instruction,
        Rows::Line => By::Line,
    };
    let limit = Some(arguments.limit).filter(|&limit| limit > 0);
    let text = match arguments.format {
        Format::Text => {
            let style = screen::style(&std::io::stdout(), arguments.reading.color);
            listing::report(&analysis, by, limit, style)
        }
        Format::Json => json::report(&analysis, by)?,
        Format::Csv => csv::report(&analysis, by)?,
    };
    screen::show(&text)
}
