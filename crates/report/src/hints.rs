//! Hints in words, and as rows of JSON: what `timewise_flow::hints` found, with its figures.

use crate::abbreviate::in_sentence;
use crate::code_text::CodeText;
use crate::labels;
use crate::number::{count, figure, percent};
use crate::rows::compact;
use crate::style::{Style, Tone};
use serde::Serialize;
use timewise_flow::hints::{Costly, Finding, hints};
use timewise_flow::lines::line_at;
use timewise_flow::{Analysis, Estimate};
use timewise_isa::{Step, Work};

/// A hint as a row.
#[derive(Clone, Debug, Serialize)]
pub struct HintRow {
    /// `division`, `slow-load`, `costly-branch` or `short-trips`.
    pub kind: &'static str,
    /// Path of the module.
    pub module: String,
    /// Name of the function.
    pub function: String,
    /// Link-time address of the instruction; of a loop, of its header.
    pub offset: u64,
    /// Source file, if known.
    pub file: Option<String>,
    /// Source line, if known.
    pub line: Option<u32>,
    /// The instruction in Intel syntax; of a loop, the first of its header.
    pub text: String,
    /// Executions, or rounds of a loop.
    pub executions: u64,
    /// How often a loop was entered; null for what is no loop.
    pub invocations: Option<u64>,
    /// Share of executions in which a branch was taken, 0 to 1; null for what is no branch.
    pub taken_share: Option<f64>,
    /// Cycles of one execution or round.
    pub cycles_each: Limits,
    /// Share of the time in user mode, 0 to 1.
    pub share: Limits,
    /// All of it in words.
    pub sentence: String,
    /// The same with the names of functions in less room, for people to read.
    #[serde(skip)]
    pub short: String,
    /// The hint itself.
    #[serde(skip)]
    pub of: Finding,
}

/// A value with the limits of its 95 % interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Limits {
    /// The value.
    #[serde(serialize_with = "compact")]
    pub value: f64,
    /// Lower limit.
    #[serde(serialize_with = "compact")]
    pub low: f64,
    /// Upper limit.
    #[serde(serialize_with = "compact")]
    pub high: f64,
}

impl From<Estimate> for Limits {
    fn from(Estimate { value, low, high }: Estimate) -> Limits {
        Limits { value, low, high }
    }
}

/// All hints, those about the most time first.
pub fn rows(analysis: &Analysis) -> Vec<HintRow> {
    let text = CodeText::new(analysis);
    hints(analysis).into_iter().map(|hint| row(analysis, &text, hint)).collect()
}

fn row(analysis: &Analysis, text: &CodeText, of: Finding) -> HintRow {
    let id = of.instruction(analysis);
    let place = analysis.code.place(id);
    let line = line_at(analysis.profile, place);
    let routine = analysis.owner[analysis.code.instructions[id.index()].block.index()];
    let (kind, executions, cycles_each) = match of {
        Finding::Division(costly) => ("division", costly.executions, costly.cycles_each),
        Finding::SlowLoad(costly) => ("slow-load", costly.executions, costly.cycles_each),
        Finding::CostlyBranch(costly, _) => ("costly-branch", costly.executions, costly.cycles_each),
        Finding::ShortTrips(trips) => ("short-trips", trips.iterations, trips.cycles_each),
    };
    let step = &analysis.code.instructions[id.index()].step;
    let short = sentence(&of, &text.in_sentence(id), step);
    let text = text.of(id);
    HintRow {
        kind,
        module: labels::module_path(analysis.profile, place.module),
        function: analysis.name_of(routine),
        offset: place.offset.0,
        file: line.map(|line| labels::file_path(analysis.profile, line.file).to_string()),
        line: line.map(|line| line.line),
        executions,
        invocations: match of {
            Finding::ShortTrips(trips) => Some(trips.invocations),
            _ => None,
        },
        taken_share: match of {
            Finding::CostlyBranch(_, ways) => Some(ways.taken_share()),
            _ => None,
        },
        cycles_each: cycles_each.into(),
        share: of.share().into(),
        sentence: sentence(&of, &text, step),
        short,
        text,
        of,
    }
}

/// A hint in words; `text` is the instruction that it is about, `step` what that does.
fn sentence(hint: &Finding, text: &str, step: &Step) -> String {
    let Estimate { value, low, high } = hint.share();
    let share = format!("{} ({:.1}–{:.1})", percent(value), 100.0 * low, 100.0 * high);
    let costs = |costly: &Costly| {
        format!(
            "{} cycles each, {} times: {share} of the time",
            interval(costly.cycles_each),
            count(costly.executions)
        )
    };
    match hint {
        Finding::Division(costly) => {
            let (what, remedy) = match step.work {
                Work::Function => {
                    ("a computation that costs", "of a value that stays the same it need be done only once")
                }
                _ if step.loads => (
                    "a division that with the load of its operand costs",
                    "which of the two it waits for, timewise simulate tells",
                ),
                _ => (
                    "a division that costs",
                    "a divisor that stays the same can become a multiplication by its inverse",
                ),
            };
            format!("{text}: {what} {}; {remedy}", costs(costly))
        }
        Finding::SlowLoad(costly) => {
            format!("{text}: a slow load, {}; what needs its value waits", costs(costly))
        }
        Finding::CostlyBranch(costly, ways) => format!(
            "{text}: this branch and what stands first behind it take {}; it was taken in {} of them: a result \
             computed without a branch does not depend on which way it goes",
            costs(costly),
            percent(ways.taken_share()),
        ),
        Finding::ShortTrips(trips) => format!(
            "a loop entered {} times for {} rounds each, {} cycles a round: {share} of the time; getting in and out \
             is part of each round",
            count(trips.invocations),
            figure(trips.iterations as f64 / trips.invocations.max(1) as f64),
            interval(trips.cycles_each),
        ),
    }
}

/// A value and its 95 % interval.
fn interval(Estimate { value, low, high }: Estimate) -> String {
    format!("{} ({}–{})", figure(value), figure(low), figure(high))
}

/// So many hints as lines of text, each after its place; nothing where there are none.
pub fn text(analysis: &Analysis, limit: usize, style: Style) -> String {
    let profile = analysis.profile;
    let line = |hint: HintRow| {
        let place = labels::place(profile, analysis.code.place(hint.of.instruction(analysis)));
        style.wrap(Tone::Plain, &format!("{place} in {}: {}", in_sentence(&hint.function), hint.short))
    };
    let lines: String = rows(analysis).into_iter().take(limit).map(line).collect();
    match lines.is_empty() {
        true => lines,
        false => format!("\n{}\n{lines}", style.paint(Tone::Heading, "Hints")),
    }
}
