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
    /// Show so many system calls or functions; 0 for all
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
    /// A row for each function: what its calls took, and what passed below it; of what was recorded with --stacks
    Function,
}

/// Prints what was asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let profile = load(&arguments.file)?;
    let printed = &arguments.printed;
    let files = Code::default();
    let code: CodeOf = &|profile, function| files.of(profile, function);
    match arguments.by {
        By::Call => {
            let (rows, runs) = (calls(&profile), runs(&profile));
            printed.print(
                |style| events::calls_text(&profile, &rows, runs, arguments.limit.0, style),
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
                |style| events::functions_text(&profile, &rows, runs, arguments.limit.0, style),
                || events::functions_json(&rows, runs),
                || events::functions_csv(&rows),
            )
        }
        By::Tree => {
            let tree = Comparison::new(&profile, None);
            printed.print(
                |style| events::text(&tree, code, style),
                || events::json(&tree, code),
                || events::csv(&tree, code),
            )
        }
    }
}
