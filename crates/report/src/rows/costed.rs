//! What every row of code ends with: its cost.

use super::{compact, compact_option, cycles, is_sampled};
use serde::Serialize;
use timewise_flow::{Analysis, Cost};

/// A row and its cost, whose fields follow the row's own.
#[derive(Clone, Debug, Serialize)]
pub struct Costed<R> {
    /// What the cost is of.
    #[serde(flatten)]
    pub of: R,
    /// The cost as fields of the row.
    #[serde(flatten)]
    pub fields: CostFields,
    /// The cost itself.
    #[serde(skip)]
    pub cost: Cost,
}

/// Fields of a cost.
#[derive(Clone, Default, Debug, Serialize)]
pub struct CostFields {
    /// Samples charged to it; a fraction where samples were divided.
    #[serde(serialize_with = "compact")]
    pub samples: f64,
    /// Cycles charged to it; null without samples.
    #[serde(serialize_with = "compact_option")]
    pub cycles: Option<f64>,
    /// Cycles per instruction executed; null if none was.
    #[serde(serialize_with = "compact_option")]
    pub cpi: Option<f64>,
    /// Lower limit of the 95 % interval; null where the runs did different work.
    #[serde(serialize_with = "compact_option")]
    pub cpi_low: Option<f64>,
    /// Upper limit of the 95 % interval; likewise.
    #[serde(serialize_with = "compact_option")]
    pub cpi_high: Option<f64>,
}

impl<R> Costed<R> {
    pub(super) fn new(analysis: &Analysis, of: R, cost: Cost) -> Costed<R> {
        let ruler = &analysis.ruler;
        let cpi = ruler.each(ruler.cycles(&cost), cost.instructions).filter(|_| is_sampled(analysis));
        let interval = cpi.filter(|_| analysis.quality.costs_hold());
        let fields = CostFields {
            samples: cost.weight.samples,
            cycles: cycles(analysis, &cost),
            cpi: cpi.map(|cpi| cpi.value),
            cpi_low: interval.map(|cpi| cpi.low),
            cpi_high: interval.map(|cpi| cpi.high),
        };
        Costed { of, fields, cost }
    }

    /// The row as a sequence of two, which is how a table without nesting takes both.
    pub fn into_parts(self) -> (R, CostFields) {
        (self.of, self.fields)
    }
}
