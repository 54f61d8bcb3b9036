//! Costs as cells of a table: time first where the clock is time, the rest beside it, and values that
//! rest on few samples, or on runs that did different work, marked.

use crate::number::{figure, percent, tenths};
use crate::style::{Style, Tone};
use crate::table::{Column, Table, UNKNOWN};
use timewise_flow::cost::ENOUGH_SAMPLES;
use timewise_flow::{Analysis, Cost, Estimate, Total};

/// Stands behind a value that is not to be relied on.
const MARK: &str = "?";

const FEW_EXPLAINED: &str =
    "? rests on fewer than 10 samples: the interval spans more than a factor of three";

const DOUBTFUL_EXPLAINED: &str =
    "? rests on fewer than 10 samples, or on runs that differ or lost samples (see the warnings)";

/// Stands before a total to which more may belong than is known.
const AT_LEAST: &str = "≥";

/// Above this share of the time under unknown callers totals are said to be at least so much.
const OPEN: f64 = 0.01;

/// Above this share of the time a row is shown as hot.
const HOT: f64 = 0.1;

/// Above this one, as warm.
const WARM: f64 = 0.02;

/// Turns costs into cells.
#[derive(Clone, Copy)]
pub struct Figures<'a> {
    analysis: &'a Analysis<'a>,
    whole_cycles: f64,
    whole_instructions: u64,
}

impl<'a> Figures<'a> {
    /// Figures of one analysis.
    pub fn new(analysis: &'a Analysis<'a>) -> Figures<'a> {
        let whole = analysis.whole();
        let (whole_cycles, whole_instructions) = (whole.weight.cycles, whole.instructions);
        Figures { analysis, whole_cycles, whole_instructions }
    }

    /// Whether samples measure time, so that cycles are only estimated from it.
    pub fn is_time(&self) -> bool {
        self.analysis.quality.clock.as_ref().is_some_and(|clock| !clock.counts_cycles)
    }

    /// Whether there are samples at all.
    pub fn is_sampled(&self) -> bool {
        self.whole_cycles > 0.0
    }

    /// Whether there are counts.
    pub fn is_counted(&self) -> bool {
        self.analysis.quality.counting_runs > 0
    }

    /// Share of all time in user mode, 0 to 1.
    pub fn share(&self, cost: &Cost) -> f64 {
        if self.is_sampled() { cost.weight.cycles / self.whole_cycles } else { 0.0 }
    }

    /// Heading of [`Figures::share_cell`]: `title`, or that it is a share of instructions.
    pub fn share_column(&self, title: &str) -> Column {
        match (self.is_sampled(), title) {
            (true, _) => Column::number(title),
            // It stands beside the other, which says of what.
            (false, "total") => Column::number("total"),
            (false, "time") => Column::number("of instructions"),
            (false, _) => Column::number(&format!("{title} (instructions)")),
        }
    }

    /// The share of time as a cell; where time was not sampled, the share of executed instructions.
    pub fn share_cell(&self, cost: &Cost) -> String {
        match self.is_sampled() {
            true => percent(self.share(cost)) + mark(cost),
            false if self.whole_instructions > 0 => {
                percent(cost.instructions as f64 / self.whole_instructions as f64)
            }
            false => UNKNOWN.into(),
        }
    }

    /// Whether costs per execution are known to be wrong, because the runs did different work. Shares of time
    /// are right nevertheless.
    pub fn is_doubtful(&self) -> bool {
        !self.analysis.quality.costs_hold()
    }

    /// Explains the mark, if it stands anywhere.
    pub fn explanation(&self, is_marked: bool, style: Style) -> String {
        match is_marked {
            true if self.is_doubtful() => style.wrap(Tone::Faint, DOUBTFUL_EXPLAINED),
            true => style.wrap(Tone::Faint, FEW_EXPLAINED),
            false => String::new(),
        }
    }

    /// The samples as a cell.
    pub fn samples_cell(&self, cost: &Cost) -> String {
        if self.is_sampled() { tenths(cost.weight.samples) } else { UNKNOWN.into() }
    }

    /// The share of a total as a cell, likewise.
    pub fn total_cell(&self, total: &Total) -> String {
        let is_known = if self.is_sampled() { total.has_time } else { total.has_instructions };
        let at_least = if self.is_sampled() && self.is_open(total) { AT_LEAST } else { "" };
        if is_known { format!("{at_least}{}", self.share_cell(&total.cost)) } else { UNKNOWN.into() }
    }

    /// Whether so much of the time is under unknown callers that a total may well be larger.
    fn is_open(&self, total: &Total) -> bool {
        total.open_cycles > OPEN * self.whole_cycles
    }

    /// Whether what is told of each call holds its callees; they are left out where nothing was counted of calls.
    pub fn are_calls_whole(&self) -> bool {
        self.analysis.code.has_call_costs
    }

    /// A heading of what is told of each call.
    pub fn per_call(&self, title: &str) -> String {
        if self.are_calls_whole() { title.into() } else { format!("{title} (self)") }
    }

    /// How a row of this cost looks.
    pub fn tone(&self, cost: &Cost) -> Tone {
        match self.share(cost) {
            share if share >= HOT => Tone::Hot,
            _ if self.is_sampled() && cost.weight.samples < ENOUGH_SAMPLES => Tone::Faint,
            share if share >= WARM => Tone::Warm,
            _ => Tone::Plain,
        }
    }

    /// Headings of [`Figures::each_cells`], where `each` says of what.
    pub fn each_columns(&self, each: &str) -> Vec<Column> {
        let interval = Column::detail("(95 %)");
        match self.is_time() {
            true => vec![
                Column::number(&format!("ns {each}")),
                interval,
                Column::detail(&format!("≈ cycles {each}")),
            ],
            false => vec![Column::number(&format!("cycles {each}")), interval],
        }
    }

    /// Cost for each of `count`, its interval, and its cycles where time stands first.
    pub fn each_cells(&self, cost: &Cost, count: u64) -> Vec<String> {
        let ruler = &self.analysis.ruler;
        self.estimate_cells(ruler.cycles(cost), ruler.time_ns(cost), cost, count)
    }

    /// Likewise of a total.
    pub fn total_each_cells(&self, total: &Total, count: u64) -> Vec<String> {
        let ruler = &self.analysis.ruler;
        let count = if total.has_time { count } else { 0 };
        self.estimate_cells(total.cycles(ruler), total.time_ns(ruler), &total.cost, count)
    }

    fn estimate_cells(&self, cycles: Estimate, time: Estimate, cost: &Cost, count: u64) -> Vec<String> {
        let cycles = self.each(cycles, count);
        let value = |estimate: &Option<Estimate>| match estimate {
            Some(estimate) => figure(estimate.value) + self.mark_each(cost),
            None => UNKNOWN.into(),
        };
        let interval = |estimate: &Option<Estimate>| match estimate {
            Some(estimate) if !self.is_doubtful() => {
                format!("({}–{})", figure(estimate.low), figure(estimate.high))
            }
            _ => String::new(),
        };
        if !self.is_time() {
            return vec![value(&cycles), interval(&cycles)];
        }
        let time = self.each(time, count);
        vec![value(&time), interval(&time), value(&cycles)]
    }

    /// Cycles per instruction, or nothing where one of the two was not measured.
    pub fn cpi(&self, cost: &Cost) -> Option<Estimate> {
        self.each(self.analysis.ruler.cycles(cost), cost.instructions)
    }

    /// Cycles per instruction as a cell.
    pub fn cpi_cell(&self, cost: &Cost) -> String {
        self.cpi(cost).map_or(UNKNOWN.into(), |cpi| figure(cpi.value) + self.mark_each(cost))
    }

    /// Cycles per instruction of a total as a cell.
    pub fn total_cpi_cell(&self, total: &Total) -> String {
        let is_known = total.has_time && total.has_instructions;
        if is_known { self.cpi_cell(&total.cost) } else { UNKNOWN.into() }
    }

    /// The mark of a cost per execution.
    fn mark_each(&self, cost: &Cost) -> &'static str {
        if self.is_doubtful() && cost.weight.samples > 0.0 { MARK } else { mark(cost) }
    }

    fn each(&self, estimate: Estimate, count: u64) -> Option<Estimate> {
        self.analysis.ruler.each(estimate, count).filter(|_| self.is_sampled())
    }
}

/// The mark of few samples.
fn mark(cost: &Cost) -> &'static str {
    if is_marked(cost) { MARK } else { "" }
}

/// Whether figures of this cost carry the mark: not where there are enough samples, nor where there are none
/// at all and the value is zero.
pub fn is_marked(cost: &Cost) -> bool {
    let samples = cost.weight.samples;
    samples > 0.0 && samples < ENOUGH_SAMPLES
}

/// Whether a table shows the mark. Names may hold the same character.
pub fn has_mark(table: &Table) -> bool {
    table.numbers().any(|cell| cell.ends_with(MARK))
}
