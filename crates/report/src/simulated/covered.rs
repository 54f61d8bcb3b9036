//! How much of an execution was simulated, and what windows tell of the rest, in words and for programs.

use crate::number::{count, instructions};
use serde::Serialize;
use timewise_flow::windows::{Coverage, FEWEST, Sampled};
use timewise_flow::{Estimate, Modelled};

/// Shares below this have more than two digits behind the point.
const SMALL: f64 = 0.0001;

/// How much of what the run executed was simulated, in words; nothing where that is not known.
pub fn covered(coverage: &Coverage) -> Option<String> {
    let executed = coverage.executed?;
    let all = format!("{} that it executed", instructions(executed));
    if coverage.is_everything() {
        return Some(format!("all {all}"));
    }
    let percent = share(coverage.simulated as f64 / executed as f64);
    if coverage.simulated >= coverage.reached {
        return Some(format!("the first {} of the {all} ({percent})", count(coverage.simulated)));
    }
    let left = match coverage.left() {
        Some(0) | None => String::new(),
        Some(left) => format!(", {} lie behind the last window{}", count(left), of_each(coverage)),
    };
    Some(format!("{percent} of the {all}{left}"))
}

fn of_each(coverage: &Coverage) -> &'static str {
    if coverage.threads > 1 { "s of threads, or in threads without" } else { "" }
}

/// What windows tell of what lies between them, in words; nothing where nothing does, or they were not meant to.
pub fn estimated(modelled: &Modelled) -> Option<String> {
    let coverage = modelled.coverage?;
    let number = coverage.windows as u64;
    let Some(sampled) = &modelled.sampled else {
        let is_sampled = modelled.simulation.part.windows != Some(1) && coverage.simulated < coverage.reached;
        let few = (is_sampled && coverage.windows < FEWEST).then(|| match number {
            1 => "1 window is".to_owned(),
            _ => format!("{number} windows are"),
        })?;
        return Some(format!(
            "{few} too few to tell of what lies between them: take {FEWEST} or more, by a smaller --skip or --windows all"
        ));
    };
    let of = match (sampled.is_whole, coverage.threads) {
        (true, _) => format!("of all {}", instructions(sampled.instructions)),
        (false, 1) => format!("of the first {} alone", instructions(sampled.instructions)),
        (false, _) => {
            format!("of the first {} of these threads alone", instructions(sampled.instructions))
        }
    };
    let whole = |cycles: f64| count(cycles.round() as u64);
    Some(format!(
        "estimated from {} windows, {of}: CPI {} · cycles {}; limits of 95 %, for the choice of windows and not for \
         caches that begin colder than they would be",
        count(number),
        within(sampled.cpi, |cpi| format!("{cpi:.3}")),
        within(sampled.cycles(), whole)
    ))
}

/// A value with its limits.
fn within(estimate: Estimate, shown: impl Fn(f64) -> String) -> String {
    let Estimate { value, low, high } = estimate;
    format!("{} ({} to {})", shown(value), shown(low), shown(high))
}

/// A share in per cent that is not rounded to nothing.
fn share(share: f64) -> String {
    match share {
        share if share < SMALL => format!("{:.1e} %", 100.0 * share),
        share => format!("{:.2} %", 100.0 * share),
    }
}

/// What windows tell of the rest, for programs.
#[derive(Serialize)]
pub struct Fields {
    whole: bool,
    instructions: u64,
    windows: usize,
    cpi: f64,
    cpi_low: f64,
    cpi_high: f64,
    cycles: f64,
    cycles_low: f64,
    cycles_high: f64,
}

impl Fields {
    pub(super) fn of(coverage: &Coverage, sampled: &Sampled) -> Fields {
        let (cpi, cycles) = (sampled.cpi, sampled.cycles());
        Fields {
            whole: sampled.is_whole,
            instructions: sampled.instructions,
            windows: coverage.windows,
            cpi: cpi.value,
            cpi_low: cpi.low,
            cpi_high: cpi.high,
            cycles: cycles.value,
            cycles_low: cycles.low,
            cycles_high: cycles.high,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_simulated_is_said_in_words() {
        let said = |[windows, threads]: [usize; 2], simulated, reached, executed| {
            covered(&Coverage { windows, threads, simulated, reached, executed })
        };
        assert_eq!(said([1, 1], 5000, 5000, None), None);
        assert_eq!(said([1, 1], 5000, 5000, Some(5000)).unwrap(), "all 5,000 instructions that it executed");
        assert_eq!(
            said([1, 1], 5000, 5000, Some(20_000)).unwrap(),
            "the first 5,000 of the 20,000 instructions that it executed (25.00 %)"
        );
        assert_eq!(
            said([5, 1], 5000, 15_000, Some(20_000)).unwrap(),
            "25.00 % of the 20,000 instructions that it executed, 5,000 lie behind the last window"
        );
        assert_eq!(
            said([5, 2], 1, 15_000, Some(20_000_000)).unwrap(),
            "5.0e-6 % of the 20.00 M instructions that it executed, 19.98 M lie behind the last windows of threads, or in \
             threads without"
        );
    }
}
