//! `timewise ostrace compare`: where two programs differ in what the operating system did for them.

use super::load;
use crate::pager;
use crate::reading::{Format, load_side};
use crate::screen::{self, Colour};
use crate::talk::complain;
use std::path::PathBuf;
use timewise_diff::share_a_run;
use timewise_eventtree::{Comparison, Gate};
use timewise_report::events;

/// Show where two programs differ in what the operating system did for them, as trees
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise ostrace record --rounds 5 -o old.tw -- ./old && timewise ostrace record --rounds 5 -o new.tw -- ./new
  timewise ostrace compare old.tw new.tw
  timewise ostrace compare old.tw new.tw --fail-if 'calls:openat>0%' --fail-if 'elapsed>5%'
  timewise ostrace compare old.tw new.tw --format json | jq '.threads[].differing'

How runs are divided, and what the figures mean, is described in docs/ostrace.md.")]
pub struct Arguments {
    /// The old profile
    base: PathBuf,
    /// The new profile
    test: PathBuf,
    /// A profile of further runs of the old program: several tell how much runs differ by themselves
    #[arg(long = "base", value_name = "FILE")]
    more_base: Vec<PathBuf>,
    /// Likewise of the new one
    #[arg(long = "test", value_name = "FILE")]
    more_test: Vec<PathBuf>,
    /// End with status 3 if this grew: elapsed>5%, events>1%, calls:NAME>0%; may be given several times
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Gate>,
    /// In which form
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// When to use colours
    #[arg(long, visible_alias = "colour", value_enum, default_value_t, value_name = "WHEN")]
    color: Colour,
}

/// Prints the comparison and judges the conditions. Gives whether all of them hold.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let base = load_side(&arguments.base, &arguments.more_base, load)?;
    let test = load_side(&arguments.test, &arguments.more_test, load)?;
    if share_a_run(&base, &test) {
        complain(
            "warning: both sides hold the same run, which does not differ from itself: conditions may hold by that alone",
        );
    }
    let comparison = Comparison::new(&base, Some(&test));
    match arguments.format {
        Format::Text => {
            let style = screen::style(&std::io::stdout(), arguments.color);
            pager::show(&events::text(&comparison, Some(&test), style), true)?;
        }
        Format::Json => screen::show(&events::json(&comparison)?)?,
        Format::Csv => screen::show(&events::csv(&comparison)?)?,
    }
    let mut holds = true;
    for gate in &arguments.fail_if {
        let verdict = gate.judge(&base, &test)?;
        complain(events::verdict(gate, &verdict));
        holds &= !verdict.fails;
    }
    Ok(holds)
}
