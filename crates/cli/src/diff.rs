//! `timewise diff`: what changed between two profiles, and gates for continuous integration.

use crate::arguments::named;
use crate::reading::{self, Format, Limit, Reading, Sides};
use crate::talk::complain;
use timewise_diff::{Comparison, Gate};
use timewise_flow::Analysis;
use timewise_report::diff::{self, By, Grain};

/// Show what changed between two profiles, beyond noise
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise diff old.tw new.tw
  timewise diff old.tw new.tw --by loop
  timewise diff old.tw new.tw --base old2.tw --base old3.tw --test new2.tw --test new3.tw
  timewise diff old.tw new.tw --fail-if 'time>2%' --fail-if 'function:parse time>5%'

Conditions are time>2%, time-by-count>1%, instructions>0.5% or, of profiles that timewise simulate
made, modelled-cycles>1%; for one function with function:NAME before it; and of the whole program
cpu-time>2%, the kernel's included, and elapsed>5%, waiting included. With --fail-if the status is 3
if a condition is met beyond noise. JSON and CSV hold all rows; docs/diff.md describes them.")]
pub struct Arguments {
    #[command(flatten)]
    sides: Sides,
    /// What to show one row for
    #[arg(long, value_parser = named(&By::ALL, By::name), default_value = Grain::Function.name())]
    by: By,
    /// In which form
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Show so many rows of the text; 0 for all
    #[arg(long, value_name = "ROWS", default_value = "25")]
    limit: Limit,
    /// End with status 3 if this grew: a condition such as 'time>2%'
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Gate>,
    #[command(flatten)]
    reading: Reading,
}

/// Prints what was asked for. Gives whether all conditions hold.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let (base, test) = arguments.sides.load(reading::load)?;
    let policy = arguments.reading.policy();
    diff::cautions(&base, &test).iter().for_each(complain);
    let (base, test) = (Analysis::new(&base, policy), Analysis::new(&test, policy));
    let comparison = Comparison::new(&base, &test)?;
    diff::other_programs(&comparison).iter().for_each(complain);
    let told = [diff::narrowed(&comparison), diff::lost(&comparison)].concat();
    told.iter().chain(&diff::parts(&comparison)).for_each(complain);
    let verdicts: Vec<_> = arguments.fail_if.iter().map(|gate| (gate, gate.judge(&comparison))).collect();
    let by = arguments.by;
    // The text says so itself.
    if arguments.format != Format::Text {
        diff::uncompared(&comparison, by).iter().for_each(complain);
    }
    arguments.reading.show(&match arguments.format {
        Format::Text => {
            let style = arguments.reading.style();
            diff::text(&comparison, by, arguments.limit.0, style)
        }
        Format::Json => diff::json(&comparison, by)?,
        Format::Csv => diff::csv(&comparison, by)?,
    })?;
    let mut fails = false;
    let mut unknown = None;
    for (gate, verdict) in verdicts {
        match verdict {
            Ok(verdict) => {
                let culprit = verdict.fails.then(|| diff::culprit(&comparison, gate)).flatten();
                let culprit = culprit.map_or(String::new(), |culprit| format!("; {culprit}"));
                complain(format_args!("{}{culprit}", diff::verdict(gate, &verdict)));
                fails |= verdict.fails;
            }
            // The last one is told as what we end with.
            Err(why) => unknown.replace(why).iter().for_each(complain),
        }
    }
    match unknown {
        Some(why) => Err(why.into()),
        None => Ok(!fails),
    }
}
