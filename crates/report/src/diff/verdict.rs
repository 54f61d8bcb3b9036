//! How a gate was judged, in words.

use timewise_diff::{Gate, Verdict};

/// One line: what was asked, whether it holds, and what was found.
pub fn verdict(gate: &Gate, verdict: &Verdict) -> String {
    let growth = &verdict.growth;
    let percent = |share: f64| match share.is_finite() {
        true => format!("{:+.2} %", 100.0 * share),
        false => "from nothing".into(),
    };
    let interval = match growth.low == growth.high {
        true => "exact".into(),
        false => format!("95 %: {} to {}", percent(growth.low), percent(growth.high)),
    };
    let outcome = if verdict.fails { "gate failed" } else { "gate passed" };
    format!("{outcome}: {gate}: {} ({interval})", percent(growth.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_flow::Estimate;

    #[test]
    fn verdicts_say_what_was_found() {
        let gate: Gate = "time>2%".parse().unwrap();
        let growth = Estimate { value: 0.051, low: 0.032, high: 0.07 };
        assert_eq!(
            verdict(&gate, &Verdict { growth, fails: true }),
            "gate failed: time>2%: +5.10 % (95 %: +3.20 % to +7.00 %)"
        );
        let growth = Estimate { value: 0.0, low: 0.0, high: 0.0 };
        assert_eq!(
            verdict(&gate, &Verdict { growth, fails: false }),
            "gate passed: time>2%: +0.00 % (exact)"
        );
    }
}
