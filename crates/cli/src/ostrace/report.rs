//! `timewise ostrace report`: what the operating system did for a program.

use super::load;
use crate::arguments::DEFAULT_FILE;
use crate::reading::{Limit, Printed};
use std::path::PathBuf;
use timewise_eventtree::{Comparison, calls, runs};
use timewise_report::events;

/// Show what the operating system did for a program
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise ostrace report
  timewise ostrace report old.tw --by tree
  timewise ostrace report --format json | jq '.calls[:5]'

What is recorded is described in docs/ostrace.md.")]
pub struct Arguments {
    /// The profile
    #[arg(default_value = DEFAULT_FILE)]
    file: PathBuf,
    /// What to show
    #[arg(long, value_enum, default_value_t)]
    by: By,
    /// Show so many system calls; 0 for all
    #[arg(long, value_name = "ROWS", default_value = "20")]
    limit: Limit,
    #[command(flatten)]
    printed: Printed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
enum By {
    /// A row for each system call's name
    #[default]
    Call,
    /// Each thread's time, divided by what it had the system do
    Tree,
}

/// Prints what was asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let profile = load(&arguments.file)?;
    let printed = &arguments.printed;
    match arguments.by {
        By::Call => {
            let (rows, runs) = (calls(&profile), runs(&profile));
            printed.print(
                |style| events::calls_text(&profile, &rows, runs, arguments.limit.0, style),
                || events::calls_json(&rows, runs),
                || events::calls_csv(&rows),
            )
        }
        By::Tree => {
            let tree = Comparison::new(&profile, None);
            printed.print(
                |style| events::text(&tree, None, style),
                || events::json(&tree),
                || events::csv(&tree),
            )
        }
    }
}
