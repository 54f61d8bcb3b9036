//! `timewise report`: what a profile says, one row for each function, loop, call, block, instruction or
//! line.

use crate::arguments::DEFAULT_FILE;
use crate::reading::{self, Format, Reading};
use crate::screen;
use std::path::PathBuf;
use timewise_flow::Analysis;
use timewise_report::annotate::find_any;
use timewise_report::{By, Calls, Request, Sort, csv, json, listing};

/// Show where a profile's time went
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise report
  timewise report --by loop old.tw
  timewise report --sort total
  timewise report --callers malloc
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
    /// Sort functions and loops by what they cost themselves, or with all that they call
    #[arg(long, value_enum, default_value_t)]
    sort: Order,
    /// Show the calls of a function: by whom, how often, at what cost
    #[arg(long, value_name = "FUNCTION", conflicts_with_all = ["by", "callees"])]
    callers: Option<String>,
    /// Show the calls that a function makes
    #[arg(long, value_name = "FUNCTION", conflicts_with = "by")]
    callees: Option<String>,
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
    Call,
    Block,
    Instruction,
    Line,
    Waiting,
}

/// What functions and loops are sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
enum Order {
    #[default]
    #[value(name = "self")]
    Own,
    Total,
}

impl Arguments {
    /// # Errors
    /// A function that is not in the profile; an order that rows do not have.
    fn request(&self, analysis: &Analysis) -> anyhow::Result<Request> {
        let by = match self.by {
            Rows::Function => By::Function,
            Rows::Loop => By::Loop,
            Rows::Call => By::Call,
            Rows::Block => By::Block,
            Rows::Instruction => By::Instruction,
            Rows::Line => By::Line,
            Rows::Waiting => By::Waiting,
        };
        let calls = match (&self.callers, &self.callees) {
            (Some(name), _) => Calls::Of(find_any(analysis, name)?),
            (None, Some(name)) => Calls::From(find_any(analysis, name)?),
            (None, None) => Calls::All,
        };
        let by = if calls == Calls::All { by } else { By::Call };
        let sort = match self.sort {
            Order::Own => Sort::Own,
            Order::Total if matches!(by, By::Function | By::Loop | By::Call) => Sort::Total,
            Order::Total => {
                let by = by.name();
                anyhow::bail!("a {by} has no callees: --sort total is for functions, loops and calls");
            }
        };
        Ok(Request { by, sort, calls })
    }
}

/// Prints what was asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let profile = reading::load(&arguments.file)?;
    let analysis = Analysis::new(&profile, arguments.reading.policy());
    let request = arguments.request(&analysis)?;
    let limit = Some(arguments.limit).filter(|&limit| limit > 0);
    let text = match arguments.format {
        Format::Text => {
            let style = screen::style(&std::io::stdout(), arguments.reading.color);
            listing::report(&analysis, request, limit, style)
        }
        Format::Json => json::report(&analysis, request)?,
        Format::Csv => csv::report(&analysis, request)?,
    };
    screen::show(&text)
}
