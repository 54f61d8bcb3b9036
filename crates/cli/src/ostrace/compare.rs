//! `timewise ostrace compare`: where two programs differ in what the operating system did for them.

use super::code::Code;
use super::load;
use super::report::MOST_NODES;
use crate::reading::{Limit, Printed, Sides};
use crate::talk::complain;
use timewise_diff::share_a_run;
use timewise_eventtree::{CodeOf, Comparison, Gate, Metric};
use timewise_ostrace::is_call;
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
    #[command(flatten)]
    sides: Sides,
    /// End with status 3 if this grew: elapsed>5%, events>1%, calls:NAME>0%; may be given several times
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Gate>,
    /// Show so many nodes; 0 for all [default: 40]
    #[arg(long, value_name = "ROWS")]
    limit: Option<Limit>,
    #[command(flatten)]
    printed: Printed,
}

/// Prints the comparison and judges the conditions. Gives whether all of them hold.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let (base, test) = arguments.sides.load(load)?;
    if share_a_run(&base, &test) {
        complain(
            "warning: both sides hold the same run, which does not differ from itself: conditions may hold by that alone",
        );
    }
    let comparison = Comparison::new(&base, Some(&test));
    for gate in &arguments.fail_if {
        if let Metric::Calls(name) = &gate.metric {
            anyhow::ensure!(is_call(name), "'{gate}': there is no system call '{name}'");
        }
    }
    let limit = arguments.limit.map_or(Some(MOST_NODES), |limit| limit.0);
    let files = Code::default();
    let code: CodeOf = &|profile, function| files.of(profile, function);
    arguments.printed.print(
        |style| events::text(&comparison, code, limit, style),
        || events::json(&comparison, code),
        || events::csv(&comparison, code),
    )?;
    let mut holds = true;
    for gate in &arguments.fail_if {
        let verdict = gate.judge(&base, &test)?;
        complain(events::verdict(gate, &verdict));
        holds &= !verdict.fails;
    }
    Ok(holds)
}
