//! Conditions for continuous integration: what must not grow by more than so much.
//!
//! ```text
//! time>2%                          the program's time
//! elapsed>5%                       the time that passes from its start to its end
//! cpu-time>2%                      CPU time, the kernel's for the program included, as the system accounts it
//! time-by-count>1%                 what of it comes from code that ran more often, or is new
//! instructions>0.5%                instructions executed
//! modelled-cycles>1%               cycles of a modelled core, which timewise simulate stored
//! function:hash_lookup time>5%     the same of one function, without its callees
//! ```
//!
//! A gate fails where what it names grew by more than the given share of its value in BASE, and where that is
//! no noise: the lower limit of the 95 % interval must exceed the share. With one run on each side, where noise is
//! assumed, it is the limit at the level of findings, of `time`, `elapsed` and `cpu-time`. Instructions have no
//! interval, and modelled cycles only where they are estimated from windows of other work on each side.

use crate::change::{Change, Difference};
use crate::comparison::Comparison;
use crate::elapsed::Passed;
use crate::limits::Interval;
use crate::modelled::{ModelledChange, Work};
use crate::noise::Noise;
use crate::pairing::Both;
use crate::things::{Grain, Thing};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use timewise_flow::naming::{WAYS, similar};
use timewise_flow::windows::FEWEST;
use timewise_flow::{Estimate, RoutineId};
use timewise_profile::ends::{EndedOtherwise, ended_otherwise};
use timewise_profile::limit::Limit;

/// What must not grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// Time.
    Time,
    /// Time from start to end, of the whole program.
    Elapsed,
    /// CPU time in user mode and in the kernel, of the whole program.
    CpuTime,
    /// Time by changes of counts, at the old cost.
    TimeByCount,
    /// Instructions executed.
    Instructions,
    /// Cycles of a modelled core.
    ModelledCycles,
}

impl Metric {
    /// All, with their names.
    const NAMES: [(&'static str, Metric); 6] = [
        ("time", Metric::Time),
        ("elapsed", Metric::Elapsed),
        ("cpu-time", Metric::CpuTime),
        ("time-by-count", Metric::TimeByCount),
        ("instructions", Metric::Instructions),
        ("modelled-cycles", Metric::ModelledCycles),
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
    pub limit: Limit,
}

/// Why a condition is none, or cannot be judged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GateError {
    /// It does not follow the grammar.
    #[error(
        "'{0}' is no condition: write time>2%, time-by-count>1%, instructions>0.5%, modelled-cycles>1%, \
         cpu-time>2% or elapsed>5%, for one function all but the last two as 'function:NAME time>2%'"
    )]
    Grammar(String),
    /// Neither profile holds the function.
    #[error("no function '{name}' was executed or sampled in either profile; {}", suggestion(.similar))]
    NoFunction {
        /// The name that was asked for.
        name: String,
        /// Names that resemble it.
        similar: Vec<String>,
    },
    /// Not both sides were simulated, or not alike.
    #[error(
        "cycles were not modelled alike in both profiles: simulate both by the same timewise, with the same --core, \
         --instructions, --skip and --windows"
    )]
    NotModelled,
    /// Both sides were simulated alike, but of one nothing.
    #[error(
        "no instruction was simulated in {0}: the program ended before the part that --skip leaves, simulate with less"
    )]
    NothingModelled(&'static str),
    /// Parts of both sides were simulated that are not the same work.
    #[error(
        "the simulated parts are not the same work, as base and test executed different numbers of instructions: simulate \
         all, --instructions 0, or at least {FEWEST} windows of all, --windows all"
    )]
    UnequalParts,
    /// Likewise, and what windows tell of the rest they do not tell of one function.
    #[error(
        "the simulated windows are not the same work, as base and test executed different numbers of instructions, and tell of \
         the whole program alone: simulate all, --instructions 0"
    )]
    UnequalWindows,
    /// Of a side so many samples were lost that its time is not known.
    #[error(
        "{0} is not known, as samples of {1} % of {2}'s time were lost: record that anew with a lower --frequency, or on a \
         quieter machine; judge cpu-time or instructions"
    )]
    SamplesLost(Metric, u8, &'static str),
    /// TEST did not end as BASE did.
    #[error(transparent)]
    EndedOtherwise(#[from] EndedOtherwise),
    /// Not both sides were launched and sampled.
    #[error("{0} from start to end was not measured in both profiles: profile both with timewise run")]
    NotLaunched(Metric),
    /// Too little of the code is on both sides, or it is not known how much a program did natively.
    #[error(
        "{0} is not known: less than four fifths of the instructions, or half of a function's, are on both sides, as after another compiler or of \
         code that is compiled while it runs, or the program was attached to and did more natively than is known; judge \
         time, instructions or modelled-cycles"
    )]
    NotDivided(Metric),
    /// What is asked for was not measured on both sides.
    #[error(
        "{0} was not measured in both profiles: profile both with timewise run, and for longer if one has no samples"
    )]
    NotMeasured(Metric),
}

fn suggestion(names: &[String]) -> String {
    match names {
        [] => "timewise diff lists all as JSON or CSV".into(),
        names => format!("did you mean {}?", names.join(" or ")),
    }
}

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Gate, GateError> {
        let wrong = || GateError::Grammar(text.to_string());
        let (what, limit) = Limit::split(text).ok_or_else(wrong)?;
        let (function, metric) = match what.strip_prefix("function:") {
            None => (None, what),
            Some(rest) => {
                let (name, metric) = rest.rsplit_once(char::is_whitespace).ok_or_else(wrong)?;
                (Some(name.trim().to_string()), metric)
            }
        };
        let metric = Metric::NAMES.iter().find(|(name, _)| *name == metric).ok_or_else(wrong)?.1;
        let is_of_code = !matches!(metric, Metric::Elapsed | Metric::CpuTime);
        let is_one = |function: &String| !function.is_empty() && is_of_code;
        let is_sound = function.as_ref().is_none_or(is_one);
        is_sound.then_some(Gate { function, metric, limit }).ok_or_else(wrong)
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(formatter, "function:{function} ")?;
        }
        write!(formatter, "{}{}", self.metric, self.limit)
    }
}

/// How a condition was judged.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Verdict {
    /// Growth as a share of the value in BASE; infinite where that is 0 and TEST has some. Low and high are those
    /// of the interval that was judged, the value itself where it is exact. Where no sample fell on it in BASE, the lower
    /// limit is the growth from as much as it may have taken there.
    pub growth: Estimate,
    /// The same as an amount, in what the condition is of.
    pub grown: f64,
    /// Probability with which the interval holds the true growth.
    pub confidence: f64,
    /// The least growth of which the condition would be met; infinite if there is none.
    pub least_seen: f64,
    /// Whether it is certainly more than the limit.
    pub fails: bool,
}

impl Gate {
    /// Judges the condition. Of several functions that the name means the worst counts.
    ///
    /// # Errors
    /// It cannot be judged.
    pub fn judge(&self, comparison: &Comparison) -> Result<Verdict, GateError> {
        if let Some(otherwise) = ended_otherwise(comparison.base.profile, comparison.test.profile) {
            return Err(otherwise.into());
        }
        let verdicts = match (self.metric, &self.function) {
            (Metric::ModelledCycles, _) => self.modelled(comparison)?,
            (Metric::Elapsed, _) => self.passed(comparison.elapsed())?,
            (Metric::CpuTime, _) => self.passed(comparison.cpu_time())?,
            (_, None) => vec![self.growth(comparison, &comparison.whole())?],
            (_, Some(name)) => {
                let named = Named::new(comparison, name);
                let rows = comparison
                    .rows(Grain::Function)
                    .into_iter()
                    .filter(|row| named.holds(comparison, row.what));
                rows.map(|row| self.growth(comparison, &row.change)).collect::<Result<_, _>>()?
            }
        };
        let worst = verdicts.into_iter().max_by(|a, b| a.growth.low.total_cmp(&b.growth.low));
        worst.ok_or_else(|| no_function(comparison, self.function.as_deref().unwrap_or_default()))
    }

    /// Of a time of the whole program.
    fn passed(&self, passed: Option<Passed>) -> Result<Vec<Verdict>, GateError> {
        let passed = passed.ok_or(GateError::NotLaunched(self.metric))?;
        Ok(vec![self.verdict(passed.base_ns, Grown::of(passed.change, passed.noise))])
    }

    fn growth(&self, comparison: &Comparison, change: &Change) -> Result<Verdict, GateError> {
        let why = match (self.metric, change.amounts, change.instructions) {
            (Metric::TimeByCount, Some(_), Some(_)) => GateError::NotDivided(self.metric),
            _ => GateError::NotMeasured(self.metric),
        };
        let (old, grown) = self.grown(change, comparison.noise).ok_or(why)?;
        if self.metric != Metric::Instructions {
            self.need_samples(comparison)?;
        }
        Ok(self.verdict(old, grown))
    }

    /// That of neither side too many samples were lost. Limits hold what is missing, but a condition that holds because they
    /// are so wide would seem to be met.
    fn need_samples(&self, comparison: &Comparison) -> Result<(), GateError> {
        for (side, analysis) in [("BASE", comparison.base), ("TEST", comparison.test)] {
            if analysis.quality.lost_too_much() {
                let percent = (100.0 * analysis.quality.missing_share).round() as u8;
                return Err(GateError::SamplesLost(self.metric, percent, side));
            }
        }
        Ok(())
    }

    fn verdict(&self, old: f64, grown: Grown) -> Verdict {
        let (estimate, confidence, least_seen) = match grown {
            Grown::Exactly(value) => (Estimate { value, low: value, high: value }, 1.0, self.limit.0 * old),
            Grown::Within(interval) => {
                (interval.estimate, interval.confidence, interval.least_seen(self.limit.0 * old))
            }
        };
        let mut growth = shares(old, estimate);
        if let Grown::Within(interval) = grown
            && old == 0.0
            && interval.most_subtracted > 0.0
        {
            // It was there, and so seldom that no sample fell on it: it may have taken that much.
            growth.low = shares(interval.most_subtracted, estimate).low;
        }
        let fails = growth.low > self.limit.0;
        Verdict { growth, grown: estimate.value, confidence, least_seen: share(old, least_seen), fails }
    }

    /// The value in BASE, and by how much it grew.
    fn grown(&self, change: &Change, noise: Noise) -> Option<(f64, Grown)> {
        Some(match self.metric {
            Metric::Instructions => {
                let (base, test) = change.instructions?;
                (base as f64, Grown::Exactly(test as f64 - base as f64))
            }
            Metric::Time => {
                let time = change.time?;
                (change.amounts?.0, Grown::of(time, noise))
            }
            Metric::TimeByCount => (change.amounts?.0, Grown::Within(change.by_count?.shown)),
            Metric::Elapsed | Metric::CpuTime | Metric::ModelledCycles => return None,
        })
    }

    /// Of modelled cycles, of the whole program or of each function of a name.
    fn modelled(&self, comparison: &Comparison) -> Result<Vec<Verdict>, GateError> {
        let whole = comparison.modelled_whole().ok_or(GateError::NotModelled)?;
        let (base, test) = comparison.simulations().ok_or(GateError::NotModelled)?;
        for (side, simulation) in [("BASE", base), ("TEST", test)] {
            if simulation.instructions == 0 {
                return Err(GateError::NothingModelled(side));
            }
        }
        match (comparison.modelled_work().ok_or(GateError::NotModelled)?, &self.function) {
            (Work::Same, _) => {}
            (Work::Unequal, _) => return Err(GateError::UnequalParts),
            (Work::Estimated { .. }, Some(_)) => return Err(GateError::UnequalWindows),
            (Work::Estimated { base, test }, None) => {
                return Ok(vec![self.verdict(base.value, Grown::Within(Interval::between(base, test)))]);
            }
        }
        let changes = match &self.function {
            None => vec![whole],
            Some(name) => {
                let named = Named::new(comparison, name);
                let rows = comparison.modelled_rows(Grain::Function).into_iter();
                rows.filter(|row| named.holds(comparison, row.what)).map(|row| row.change).collect()
            }
        };
        let verdict = |change: ModelledChange| {
            self.verdict(change.base.cycles().as_cycles(), Grown::Exactly(change.cycles()))
        };
        Ok(changes.into_iter().map(verdict).collect())
    }
}

/// By how much a value grew.
#[derive(Clone, Copy)]
enum Grown {
    Exactly(f64),
    /// As far as the interval says that is judged.
    Within(Interval),
}

impl Grown {
    /// A change between runs. Noise that is assumed may be more: what fails one comparison in forty would fail too many.
    fn of(change: Difference, noise: Noise) -> Grown {
        Grown::Within(if noise == Noise::Unknown { change.all } else { change.shown })
    }
}

/// Growth as a share of what there was.
fn share(old: f64, grown: f64) -> f64 {
    match grown {
        grown if old > 0.0 => grown / old,
        grown if grown > 0.0 => f64::INFINITY,
        _ => 0.0,
    }
}

/// No more than all there was can be gone, though limits of a difference may lie below that.
fn shares(old: f64, grown: Estimate) -> Estimate {
    let share = |grown: f64| share(old, grown).max(-1.0);
    Estimate { value: share(grown.value), low: share(grown.low), high: share(grown.high) }
}

fn no_function(comparison: &Comparison, name: &str) -> GateError {
    let sides = [comparison.base, comparison.test].into_iter();
    let mut similar: BTreeSet<String> = sides.flat_map(|side| similar(side, name)).collect();
    // There may be one that was measured, where what is judged is what was modelled.
    similar.remove(name);
    GateError::NoFunction { name: name.into(), similar: similar.into_iter().collect() }
}

/// The functions that a name means on either side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    base: Vec<RoutineId>,
    test: Vec<RoutineId>,
}

impl Named {
    /// Finds them, in one way on both sides: what is called just so on one side is meant on the other, not what has it
    /// for a short name there.
    pub fn new(comparison: &Comparison, name: &str) -> Named {
        let found = |base, test| Named { base, test };
        let mut ways = WAYS.iter().map(|way| found(way(comparison.base, name), way(comparison.test, name)));
        let is_any = |named: &Named| !named.base.is_empty() || !named.test.is_empty();
        ways.find(is_any).unwrap_or_else(|| found(Vec::new(), Vec::new()))
    }

    /// Whether this is one of them, or in one.
    pub fn holds(&self, comparison: &Comparison, what: Both<Thing>) -> bool {
        let holds = |found: &[RoutineId], analysis, thing: Option<Thing>| {
            thing.and_then(|thing| thing.function(analysis)).is_some_and(|id| found.contains(&id))
        };
        holds(&self.base, comparison.base, what.base) || holds(&self.test, comparison.test, what.test)
    }
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
            "modelled-cycles>1%",
            "elapsed>5%",
            "cpu-time>2%",
            "function:hash_lookup time>5%",
            "function:std::vector<int>::push_back(int const&) instructions>12.5%",
        ] {
            assert_eq!(text.parse::<Gate>().map(|gate| gate.to_string()), Ok(text.to_string()));
        }
        assert_eq!(" time > 2 % ".parse::<Gate>(), "time>2%".parse::<Gate>());
        let gate: Gate = "function:f time>5%".parse().unwrap();
        assert_eq!(
            (gate.function.as_deref(), gate.metric, gate.limit),
            (Some("f"), Metric::Time, Limit(0.05))
        );
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
            "function:f elapsed>1%",
            "function:f cpu-time>1%",
        ] {
            assert_eq!(text.parse::<Gate>(), Err(GateError::Grammar(text.to_string())), "{text}");
        }
    }
}
