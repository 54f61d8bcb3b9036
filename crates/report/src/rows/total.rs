//! What every row with callees ends with, and totals as fields: null where a part of them is not known.

use super::{compact_option, is_sampled};
use serde::Serialize;
use timewise_flow::{Analysis, Total};

/// A row and its total, whose cost of an instruction follows the row's own fields.
#[derive(Clone, Debug, Serialize)]
pub struct Totalled<R> {
    /// What the total is of.
    #[serde(flatten)]
    pub of: R,
    /// The cost of an instruction as fields of the row.
    #[serde(flatten)]
    pub cpi: TotalCpi,
    /// The total itself.
    #[serde(skip)]
    pub total: Total,
}

/// Cycles per instruction with callees.
#[derive(Clone, Default, Debug, Serialize)]
pub struct TotalCpi {
    /// Cycles of one of the row's `instructions_total`; null unless both are known.
    #[serde(serialize_with = "compact_option")]
    pub cpi_total: Option<f64>,
    /// Lower limit of the 95 % interval; null where the runs did different work.
    #[serde(serialize_with = "compact_option")]
    pub cpi_total_low: Option<f64>,
    /// Upper limit of the 95 % interval; likewise.
    #[serde(serialize_with = "compact_option")]
    pub cpi_total_high: Option<f64>,
}

/// The parts of a total that are known.
pub(super) struct KnownTotal {
    pub instructions: Option<u64>,
    pub cycles: Option<f64>,
    pub samples: Option<f64>,
}

impl KnownTotal {
    pub fn of(analysis: &Analysis, total: &Total) -> KnownTotal {
        let time = Some(total.cost.weight).filter(|_| is_sampled(analysis) && total.has_time);
        let is_counted = analysis.quality.counting_runs > 0 && total.has_instructions;
        KnownTotal {
            instructions: is_counted.then_some(total.cost.instructions),
            cycles: time.map(|weight| weight.cycles),
            samples: time.map(|weight| weight.samples),
        }
    }
}

impl<R> Totalled<R> {
    pub(super) fn new(analysis: &Analysis, of: R, total: Total) -> Totalled<R> {
        let known = KnownTotal::of(analysis, &total);
        let is_known = known.instructions.is_some() && known.cycles.is_some();
        let cpi =
            analysis.ruler.each(total.cycles(&analysis.ruler), total.cost.instructions).filter(|_| is_known);
        let interval = cpi.filter(|_| analysis.quality.costs_hold());
        let cpi = TotalCpi {
            cpi_total: cpi.map(|cpi| cpi.value),
            cpi_total_low: interval.map(|cpi| cpi.low),
            cpi_total_high: interval.map(|cpi| cpi.high),
        };
        Totalled { of, cpi, total }
    }

    /// The row as a sequence of two, which is how a table without nesting takes both.
    pub fn into_parts(self) -> (R, TotalCpi) {
        (self.of, self.cpi)
    }
}
