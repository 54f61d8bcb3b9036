//! `timewise report`: what a profile says, one row for each function, loop, call, block, branch, path, instruction or
//! line.

use crate::arguments::{DEFAULT_FILE, named};
use crate::destination;
use crate::reading::{self, Limit, Reading};
use crate::sources::Sources;
use anyhow::{Context, bail};
use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use timewise_flow::Analysis;
use timewise_profile::Profile;
use timewise_report::annotate::find_any;
use timewise_report::number::any;
use timewise_report::simulated::{self, Simulated};
use timewise_report::{By, Calls, Request, Sort, Style, csv, heading, html, json, listing, rows};

/// Show where a profile's time went
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise report
  timewise report --by loop old.tw
  timewise report --sort total
  timewise report --callers malloc
  timewise report --figures modelled --by loop
  timewise report --by instruction --format json | jq '.rows[0]'
  timewise report branches.tw --by branch   what timewise branches traced
  timewise report --by line --format csv > lines.csv
  timewise report --format html -o report.html

JSON and CSV hold all rows. The fields are described in docs/reports.md. The HTML page holds functions,
loops, call stacks, and annotated code together, and needs no network.")]
pub struct Arguments {
    /// The profile
    #[arg(default_value = DEFAULT_FILE)]
    file: PathBuf,
    /// What to show one row for [default: function]
    #[arg(long, value_parser = named(&By::ALL, By::name))]
    by: Option<By>,
    /// Sort functions and loops by what they cost themselves, or with all that they call
    #[arg(long, value_enum, default_value_t)]
    sort: Order,
    /// Show the calls of a function: by whom, how often, at what cost
    #[arg(long, value_name = "FUNCTION", conflicts_with_all = ["by", "callees"])]
    callers: Option<String>,
    /// Show the calls that a function makes
    #[arg(long, value_name = "FUNCTION", conflicts_with = "by")]
    callees: Option<String>,
    /// Show what was measured, or what a modelled core spent [default: measured, unless nothing was sampled]
    #[arg(long, value_enum, value_name = "WHICH", conflicts_with_all = ["callers", "callees"])]
    figures: Option<Figures>,
    /// In which form
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Where to write it [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show so many rows of the text; 0 for all
    #[arg(long, value_name = "ROWS", default_value = "25")]
    limit: Limit,
    #[command(flatten)]
    reading: Reading,
}

/// Which figures to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Figures {
    /// Time that was sampled, and executions that were counted
    Measured,
    /// Cycles of a core that timewise simulate modelled
    Modelled,
}

/// In which form to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
enum Format {
    /// Tables for people
    #[default]
    Text,
    /// JSON, schema timewise-report/1
    Json,
    /// CSV, one header line
    Csv,
    /// One page for a browser, with everything in it
    Html,
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
    fn style(&self) -> Style {
        match self.output {
            None => self.reading.style(),
            Some(_) => self.reading.file_style(),
        }
    }

    /// # Errors
    /// A function that is not in the profile; an order that rows do not have.
    fn request(&self, analysis: &Analysis) -> anyhow::Result<Request> {
        let by = self.by.unwrap_or(By::Function);
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
                let one = any(by.name());
                anyhow::bail!("{one} has no callees: --sort total is for functions, loops and calls");
            }
        };
        Ok(Request { by, sort, calls })
    }
}

/// Prints what was asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.format == Format::Html {
        let asks_for_rows =
            arguments.by.is_some() || arguments.callers.is_some() || arguments.callees.is_some();
        if asks_for_rows {
            bail!("an HTML page holds rows of every kind; leave out --by, --callers and --callees");
        }
        if arguments.output.is_none() && stdout().is_terminal() {
            bail!("a page is not for a terminal; write it to a file: -o report.html");
        }
    }
    if let Some(output) = &arguments.output {
        destination::spare(&arguments.file, output)?;
    }
    let profile = reading::load_to_report(&arguments.file)?;
    let analysis = Analysis::new(&profile, arguments.reading.policy());
    let text = render(&profile, &analysis, arguments)?;
    match &arguments.output {
        None => arguments.reading.show(&text),
        Some(path) => destination::write(path, text),
    }
}

fn render(profile: &Profile, analysis: &Analysis, arguments: &Arguments) -> anyhow::Result<String> {
    if arguments.format != Format::Html
        && let Some(simulated) = modelled(analysis, arguments)?
    {
        return render_modelled(&simulated, arguments);
    }
    let is_traced_only = rows::is_traced_only(profile);
    if is_traced_only && arguments.format == Format::Html {
        bail!("a page shows no traced branches: choose another format");
    }
    let request = arguments.request(analysis)?;
    let headed = |listing: String| heading::heading(profile, arguments.style()) + &listing;
    Ok(match arguments.format {
        Format::Text if is_traced_only && arguments.by.is_none() => {
            headed(listing::traced(analysis, arguments.limit.0, arguments.style()))
        }
        Format::Text => headed(listing::report(analysis, request, arguments.limit.0, arguments.style())),
        Format::Json => json::report(analysis, request)?,
        Format::Csv => csv::report(analysis, request)?,
        Format::Html => {
            let sources = Sources::of(profile);
            html::page(analysis, &|file, line| sources.line(file, line))?
        }
    })
}

/// The simulation, if that is what is to be shown.
fn modelled<'a>(analysis: &'a Analysis<'a>, arguments: &Arguments) -> anyhow::Result<Option<Simulated<'a>>> {
    let asks_for_calls = arguments.callers.is_some() || arguments.callees.is_some();
    let is_suited = !asks_for_calls && arguments.by.is_none_or(simulated::tells);
    match arguments.figures {
        Some(Figures::Measured) => Ok(None),
        None if analysis.quality.samples > 0 || !is_suited => Ok(None),
        None => Ok(Simulated::of(analysis)),
        Some(Figures::Modelled) => match Simulated::of(analysis) {
            None => bail!(
                "no core was simulated in '{0}': add what one makes of the recorded command: timewise simulate {0}",
                arguments.file.display()
            ),
            some => Ok(some),
        },
    }
}

fn render_modelled(simulated: &Simulated, arguments: &Arguments) -> anyhow::Result<String> {
    let by = arguments.by.unwrap_or(By::Function);
    let rendered = match arguments.format {
        Format::Json => return Ok(simulated::json(simulated)?),
        Format::Csv => simulated::csv(simulated, by).transpose()?,
        _ if arguments.by.is_none() => Some(simulated::text(simulated, arguments.style())),
        _ => simulated::listing(simulated, by, arguments.limit.0, arguments.style()),
    };
    rendered.with_context(|| {
        format!("{} has no modelled cycles: name function, loop, block, line or instruction", any(by.name()))
    })
}
