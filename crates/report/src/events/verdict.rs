//! What came of conditions on the operating system's events.

use crate::number::{duration, mean_count, percent};
use timewise_eventtree::{Gate, Metric, Verdict};

/// One line: whether the gate failed, and by what it was judged.
pub fn verdict(gate: &Gate, verdict: &Verdict) -> String {
    let outcome = if verdict.fails { "gate failed" } else { "gate passed" };
    let amount = |mean: f64| match gate.metric {
        Metric::Elapsed => duration(mean),
        Metric::Events | Metric::Calls(_) => mean_count(mean),
    };
    let share = |amount: f64| signed(amount / verdict.base);
    let grown = match verdict.base > 0.0 {
        true => share(verdict.difference.amount),
        false if verdict.test == 0.0 => "neither side has any".into(),
        false => "BASE has none".into(),
    };
    let limits = |within: f64| {
        let (low, high) = (verdict.difference.amount - within, verdict.difference.amount + within);
        // Nothing can become less than nothing.
        format!(" (95 %: {} to {})", share(low.max(-verdict.base)), share(high))
    };
    let within = verdict.difference.within.filter(|_| verdict.base > 0.0);
    let unseen =
        within.filter(|within| !verdict.fails && *within > gate.limit.0 * verdict.base).map(|within| {
            let least = percent(gate.limit.0 + within / verdict.base);
            format!("; growth of less than {least} would not be seen in these runs: add more of them")
        });
    let amounts = format!("{} → {}", amount(verdict.base), amount(verdict.test));
    format!(
        "{outcome}: {gate}: {grown}{}, {amounts}{}",
        within.map_or(String::new(), limits),
        unseen.unwrap_or_default()
    )
}

fn signed(share: f64) -> String {
    format!("{}{}", if share < 0.0 { '-' } else { '+' }, percent(share.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_eventtree::Difference;

    #[test]
    fn verdicts_say_what_was_found() {
        let judged = |gate: &str, base, test, within, fails| {
            let difference = Difference { amount: test - base, within };
            let of: Gate = gate.parse().unwrap();
            verdict(&of, &Verdict { base, test, difference, fails })
        };
        let told = |gate: &str, base, test, within| judged(gate, base, test, within, true);
        assert_eq!(
            judged("elapsed>5%", 2e6, 2e6, Some(3e6), false),
            "gate passed: elapsed>5%: +0.0 % (95 %: -100.0 % to +150.0 %), 2.00 ms → 2.00 ms; growth of less than 155.0 % \
             would not be seen in these runs: add more of them"
        );
        assert_eq!(told("calls:openat>0%", 4.0, 5.0, None), "gate failed: calls:openat>0%: +25.0 %, 4 → 5");
        assert_eq!(
            told("calls:stat>0%", 0.0, 2.5, Some(1.0)),
            "gate failed: calls:stat>0%: BASE has none, 0 → 2.5"
        );
        assert!(told("calls:opneat>0%", 0.0, 0.0, None).contains(": neither side has any, 0 → 0"));
        assert_eq!(
            told("elapsed>5%", 2e6, 1e6, Some(5e5)),
            "gate failed: elapsed>5%: -50.0 % (95 %: -75.0 % to -25.0 %), 2.00 ms → 1.00 ms"
        );
    }
}
