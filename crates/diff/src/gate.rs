//! Conditions for continuous integration: what must not grow by more than so much.
//!
//! ```text
//! time>2%                          the program's time
//! time-by-count>1%                 what of it comes from code that ran more often, or is new
//! instructions>0.5%                instructions executed
//! function:hash_lookup time>5%     the same of one function, without its callees
//! ```
//!
//! A gate fails where what it names grew by more than the given share of its value in BASE, and where that is
//! no noise: the lower limit of the 95 % interval must exceed the share. Instructions have no interval.

use crate::change::Change;
use crate::comparison::Comparison;
use std::fmt;
use std::str::FromStr;
use timewise_flow::{Analysis, Estimate, RoutineId};

/// What must not grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// Time.
    Time,
    /// Time by changes of counts, at the old cost.
    TimeByCount,
    /// Instructions executed.
    Instructions,
}

impl Metric {
    /// All, with their names.
    const NAMES: [(&'static str, Metric); 3] = [
        ("time", Metric::Time),
        ("time-by-count", Metric::TimeByCount),
        ("instructions", Metric::Instructions),
    ];
}

impl fmt::Display for Metric {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let name = Metric::NAMES.iter().find(|(_, metric)| metric == self).map_or("", |(name, _)| name);
        formatter.write_str(name)
    }
}

/// A condition.
#[derive(Clone, PartialEq, Debug)]
pub struct Gate {
    /// The function; the whole program if there is none.
    pub function: Option<String>,
    /// What of it.
    pub metric: Metric,
    /// By which share of its value in BASE it may grow.
    pub limit: f64,
}

/// Why a condition is none, or cannot be judged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GateError {
    /// It does not follow the grammar.
    #[error(
        "'{0}' is no condition: write time>2%, time-by-count>1% or instructions>0.5%, for one function \
         'function:NAME time>2%'"
    )]
    Grammar(String),
    /// Neither profile holds the function.
    #[error(
        "no function '{0}' was executed or sampled in either profile; timewise diff lists all as JSON or CSV"
    )]
    NoFunction(String),
    /// What is asked for was not measured on both sides.
    #[error("{0} was not measured in both profiles: profile both with timewise run")]
    NotMeasured(Metric),
}

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Gate, GateError> {
        let wrong = || GateError::Grammar(text.to_string());
        // Names of templates hold this character as well, so the last one counts.
        let (left, right) = text.rsplit_once('>').ok_or_else(wrong)?;
        let percent: f64 =
            right.trim().strip_suffix('%').ok_or_else(wrong)?.trim().parse().map_err(|_| wrong())?;
        let (function, metric) = match left.trim().strip_prefix("function:") {
            None => (None, left.trim()),
            Some(rest) => {
                let (name, metric) = rest.rsplit_once(char::is_whitespace).ok_or_else(wrong)?;
                (Some(name.trim().to_string()), metric)
            }
        };
        let metric = Metric::NAMES.iter().find(|(name, _)| *name == metric).ok_or_else(wrong)?.1;
        let is_sound =
            percent.is_finite() && percent >= 0.0 && function.as_ref().is_none_or(|f| !f.is_empty());
        is_sound.then_some(Gate { function, metric, limit: percent / 100.0 }).ok_or_else(wrong)
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(formatter, "function:{function} ")?;
        }
        // Rounded where the binary fraction is not the decimal one.
        write!(formatter, "{}>{}%", self.metric, (self.limit * 1e8).round() / 1e6)
    }
}

/// How a condition was judged.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Verdict {
    /// Growth as a share of the value in BASE; infinite where that is 0 and TEST has some. Low and high are the
    /// value itself where it is exact.
    pub growth: Estimate,
    /// Whether it is certainly more than the limit.
    pub fails: bool,
}

impl Gate {
    /// Judges the condition. Of several functions of one name the worst counts.
    ///
    /// # Errors
    /// It cannot be judged.
    pub fn judge(&self, comparison: &Comparison) -> Result<Verdict, GateError> {
        let changes = match &self.function {
            None => vec![comparison.whole()],
            Some(name) => functions(comparison, name),
        };
        let growths: Option<Vec<Estimate>> = changes.iter().map(|change| self.growth(change)).collect();
        let growths = growths.ok_or(GateError::NotMeasured(self.metric))?;
        let worst = growths.into_iter().max_by(|a, b| a.low.total_cmp(&b.low));
        let growth = worst.ok_or_else(|| GateError::NoFunction(self.function.clone().unwrap_or_default()))?;
        Ok(Verdict { growth, fails: growth.low > self.limit })
    }

    fn growth(&self, change: &Change) -> Option<Estimate> {
        let (old, grown) = match self.metric {
            Metric::Instructions => {
                let (base, test) = change.instructions?;
                let grown = test as f64 - base as f64;
                (base as f64, Estimate { value: grown, low: grown, high: grown })
            }
            Metric::Time => (change.amounts?.0, change.time?.estimate),
            Metric::TimeByCount => (change.amounts?.0, change.by_count?.estimate),
        };
        let share = |grown: f64| match grown {
            grown if old > 0.0 => grown / old,
            grown if grown > 0.0 => f64::INFINITY,
            _ => 0.0,
        };
        Some(Estimate { value: share(grown.value), low: share(grown.low), high: share(grown.high) })
    }
}

fn functions(comparison: &Comparison, name: &str) -> Vec<Change> {
    let answers = |analysis: &Analysis, id: Option<RoutineId>| {
        let function =
            id.and_then(|id| analysis.function_of(id)).map(|id| &analysis.profile.functions[id.index()]);
        let is_symbol = function.is_some_and(|function| function.symbol == name);
        is_symbol || id.is_some_and(|id| analysis.name_of(id) == name)
    };
    let rows = comparison.functions().into_iter();
    let named =
        rows.filter(|row| answers(comparison.base, row.what.base) || answers(comparison.test, row.what.test));
    named.map(|row| row.change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_read_back_as_they_were_written() {
        for text in [
            "time>2%",
            "time-by-count>0.5%",
            "instructions>0%",
            "function:hash_lookup time>5%",
            "function:std::vector<int>::push_back(int const&) instructions>12.5%",
        ] {
            assert_eq!(text.parse::<Gate>().map(|gate| gate.to_string()), Ok(text.to_string()));
        }
        assert_eq!(" time > 2 % ".parse::<Gate>(), "time>2%".parse::<Gate>());
        let gate: Gate = "function:f time>5%".parse().unwrap();
        assert_eq!((gate.function.as_deref(), gate.metric, gate.limit), (Some("f"), Metric::Time, 0.05));
    }

    #[test]
    fn what_is_no_condition_is_told() {
        for text in [
            "",
            "time",
            "time>2",
            "time<2%",
            "speed>2%",
            "time>-1%",
            "time>NaN%",
            "function: time>1%",
            "function:f>1%",
        ] {
            assert_eq!(text.parse::<Gate>(), Err(GateError::Grammar(text.to_string())), "{text}");
        }
    }
}
