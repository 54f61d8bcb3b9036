//! A change as fields of JSON and CSV.

use crate::rows::{compact, compact_option};
use serde::Serialize;
use timewise_diff::{Change, Difference, Passed};

/// Fields of a change, amounts in the unit of the document and of an average run.
#[derive(Clone, Default, Debug, Serialize)]
pub struct ChangeFields {
    /// Instructions executed in BASE; null unless both sides were counted, as are all counts.
    pub base_instructions: Option<u64>,
    /// Likewise in TEST.
    pub test_instructions: Option<u64>,
    /// Time in BASE; null unless both sides were sampled, as are all times.
    #[serde(serialize_with = "compact_option")]
    pub base_time: Option<f64>,
    /// Time in TEST.
    #[serde(serialize_with = "compact_option")]
    pub test_time: Option<f64>,
    /// Change of time.
    #[serde(serialize_with = "compact_option")]
    pub time: Option<f64>,
    /// Lower limit of its 95 % interval.
    #[serde(serialize_with = "compact_option")]
    pub time_low: Option<f64>,
    /// Upper limit.
    #[serde(serialize_with = "compact_option")]
    pub time_high: Option<f64>,
    /// The part of it that is certain for all rows together; 0 where it may be noise.
    #[serde(serialize_with = "compact_option")]
    pub time_certain: Option<f64>,
    /// What of the change comes from counts, at the old cost.
    #[serde(serialize_with = "compact_option")]
    pub by_count: Option<f64>,
    /// Lower limit of its 95 % interval.
    #[serde(serialize_with = "compact_option")]
    pub by_count_low: Option<f64>,
    /// Upper limit.
    #[serde(serialize_with = "compact_option")]
    pub by_count_high: Option<f64>,
    /// The certain part.
    #[serde(serialize_with = "compact_option")]
    pub by_count_certain: Option<f64>,
    /// What of the change comes from the cost of an execution, at the new count.
    #[serde(serialize_with = "compact_option")]
    pub by_cost: Option<f64>,
    /// Lower limit of its 95 % interval.
    #[serde(serialize_with = "compact_option")]
    pub by_cost_low: Option<f64>,
    /// Upper limit.
    #[serde(serialize_with = "compact_option")]
    pub by_cost_high: Option<f64>,
    /// The certain part.
    #[serde(serialize_with = "compact_option")]
    pub by_cost_certain: Option<f64>,
}

/// Fields of a time of the whole program, nanoseconds in an average run.
#[derive(Debug, Serialize)]
pub struct PassedFields {
    /// In BASE.
    #[serde(serialize_with = "compact")]
    pub base_time: f64,
    /// In TEST.
    #[serde(serialize_with = "compact")]
    pub test_time: f64,
    /// Change.
    #[serde(serialize_with = "compact")]
    pub time: f64,
    /// Lower limit of its 95 % interval.
    #[serde(serialize_with = "compact")]
    pub time_low: f64,
    /// Upper limit.
    #[serde(serialize_with = "compact")]
    pub time_high: f64,
}

impl From<Passed> for PassedFields {
    fn from(passed: Passed) -> PassedFields {
        let change = passed.change.estimate();
        PassedFields {
            base_time: passed.base_ns,
            test_time: passed.test_ns,
            time: change.value,
            time_low: change.low,
            time_high: change.high,
        }
    }
}

impl ChangeFields {
    /// The fields of a change.
    pub fn of(change: &Change) -> ChangeFields {
        let part = |difference: Option<Difference>, value: fn(Difference) -> f64| difference.map(value);
        let (time, by_count, by_cost) = (change.time, change.by_count, change.by_cost);
        ChangeFields {
            base_instructions: change.instructions.map(|(base, _)| base),
            test_instructions: change.instructions.map(|(_, test)| test),
            base_time: change.amounts.map(|(base, _)| base),
            test_time: change.amounts.map(|(_, test)| test),
            time: part(time, |d| d.estimate().value),
            time_low: part(time, |d| d.estimate().low),
            time_high: part(time, |d| d.estimate().high),
            time_certain: part(time, |d| d.certain),
            by_count: part(by_count, |d| d.estimate().value),
            by_count_low: part(by_count, |d| d.estimate().low),
            by_count_high: part(by_count, |d| d.estimate().high),
            by_count_certain: part(by_count, |d| d.certain),
            by_cost: part(by_cost, |d| d.estimate().value),
            by_cost_low: part(by_cost, |d| d.estimate().low),
            by_cost_high: part(by_cost, |d| d.estimate().high),
            by_cost_certain: part(by_cost, |d| d.certain),
        }
    }
}
