//! `timewise ostrace report`: what the operating system did for a program.

use super::code::Code;
use super::load;
use crate::arguments::DEFAULT_FILE;
use crate::reading::{Limit, Printed};
use std::path::PathBuf;
use timewise_eventtree::{CodeOf, Comparison, calls, functions, has_stacks, runs};
use timewise_report::events;

/// Show what the operating system did for a program
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise ostrace report
  timewise ostrace report old.tw --by tree
  timewise ostrace report --by function
  timewise ostrace report --format json | jq '.calls[:5]'

What is recorded is described in docs/ostrace.md.")]
pub struct Arguments {
    /// The profile
    #[arg(default_value = DEFAULT_FILE)]
    file: PathBuf,
    /// What to show
    #[arg(long, value_enum, default_value_t)]
    by: By,
    /// Show so many rows; 0 for all [default: 20, of trees 40]
    #[arg(long, value_name = "ROWS")]
    limit: Option<Limit>,
    #[command(flatten)]
    printed: Printed,
}

/// Rows of a table that are shown unless more are asked for.
const MOST_ROWS: usize = 20;

/// Nodes of trees likewise.
pub const MOST_NODES: usize = 40;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
enum By {
    /// A row for each system call's name
    #[default]
    Call,
    /// Each thread's time, divided by what it had the system do
    Tree,
    /// A row for each function: what its calls took, and what passed below it; of what was recorded with --stacks
    Function,
}

/// Prints what was asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let profile = load(&arguments.file)?;
    let printed = &arguments.printed;
    let usual = if arguments.by == By::Tree { MOST_NODES } else { MOST_ROWS };
    let limit = arguments.limit.map_or(Some(usual), |limit| limit.0);
    let files = Code::default();
    let code: CodeOf = &|profile, function| files.of(profile, function);
    match arguments.by {
        By::Call => {
            let (rows, runs) = (calls(&profile), runs(&profile));
            printed.print(
                |style| events::calls_text(&profile, &rows, runs, limit, style),
                || events::calls_json(&rows, runs),
                || events::calls_csv(&rows),
            )
        }
        By::Function => {
            if !has_stacks(&profile) {
                anyhow::bail!(
                    "'{}' does not tell who made the calls; record them with their call stacks: timewise ostrace record \
                     --stacks -- PROGRAM",
                    arguments.file.display()
                );
            }
            let (rows, runs) = (functions(&profile, code), runs(&profile));
            printed.print(
                |style| events::functions_text(&profile, &rows, runs, limit, style),
                || events::functions_json(&rows, runs),
                || events::functions_csv(&rows),
            )
        }
        By::Tree => {
            let tree = Comparison::new(&profile, None);
            printed.print(
                |style| events::text(&tree, code, limit, style),
                || events::json(&tree, code),
                || events::csv(&tree, code),
            )
        }
    }
}
