//! Tables as columns: short where JSON repeats itself least.

use crate::rows::Totalled;
use serde::{Serialize, Serializer};
use std::collections::HashMap;
use timewise_flow::{Analysis, Cost};

/// Texts, each stored once and named by its position.
#[derive(Default)]
pub struct Strings {
    all: Vec<String>,
    known: HashMap<String, u32>,
}

impl Strings {
    /// The position of `text`.
    pub fn add(&mut self, text: &str) -> u32 {
        if let Some(&at) = self.known.get(text) {
            return at;
        }
        let at = self.all.len() as u32;
        self.all.push(text.to_string());
        self.known.insert(text.to_string(), at);
        at
    }
}

impl Serialize for Strings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all.serialize(serializer)
    }
}

/// A number with as many digits as anybody sees.
#[derive(Clone, Copy)]
pub struct Short(f64);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown: f64 = format!("{:.5e}", self.0).parse().unwrap_or(self.0);
        if shown.fract() == 0.0 && (0.0..9e15).contains(&shown) {
            return serializer.serialize_u64(shown as u64);
        }
        serializer.serialize_f64(shown)
    }
}

/// An offset: hexadecimal, because numbers of scripts have 53 bits only.
pub fn hexadecimal(offset: u64) -> String {
    format!("{offset:x}")
}

/// Costs of many things: in cycles, before the drift of the clock widens the intervals.
#[derive(Default, Serialize)]
pub struct Costs {
    samples: Vec<Short>,
    cycles: Vec<Short>,
    low: Vec<Short>,
    high: Vec<Short>,
}

impl Costs {
    /// Appends one.
    pub fn push(&mut self, analysis: &Analysis, cost: &Cost) {
        let (low, high) = analysis.ruler.sampled_limits(cost);
        self.samples.push(Short(cost.weight.samples));
        self.cycles.push(Short(cost.weight.cycles));
        self.low.push(Short(low));
        self.high.push(Short(high));
    }
}

/// What many things cost with all that they call; null where that is not known.
#[derive(Default, Serialize)]
pub struct Totals {
    samples: Vec<Short>,
    cycles: Vec<Option<Short>>,
    instructions: Vec<Option<u64>>,
    cpi: Vec<Option<Short>>,
    cpi_low: Vec<Option<Short>>,
    cpi_high: Vec<Option<Short>>,
}

impl Totals {
    /// Appends that of a row, of whose own fields `cycles` and `instructions` are two.
    pub fn push<R>(&mut self, row: &Totalled<R>, cycles: Option<f64>, instructions: Option<u64>) {
        let short = |value: Option<f64>| value.map(Short);
        self.samples.push(Short(row.total.cost.weight.samples));
        self.cycles.push(short(cycles));
        self.instructions.push(instructions);
        self.cpi.push(short(row.cpi.cpi_total));
        self.cpi_low.push(short(row.cpi.cpi_total_low));
        self.cpi_high.push(short(row.cpi.cpi_total_high));
    }
}

impl From<f64> for Short {
    fn from(value: f64) -> Short {
        Short(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_stored_once() {
        let mut strings = Strings::default();
        assert_eq!([strings.add("a"), strings.add("b"), strings.add("a")], [0, 1, 0]);
        assert_eq!(serde_json::to_string(&strings).unwrap(), r#"["a","b"]"#);
    }

    #[test]
    fn numbers_have_six_digits() {
        let numbers = [0.0, 1.0, 1.0 / 3.0, 1_234_567.8, 1e300].map(Short);
        assert_eq!(serde_json::to_string(&numbers).unwrap(), "[0,1,0.333333,1234570,1e+300]");
    }
}
