//! How a gate was judged, in words, and what to mind of a comparison.

use timewise_diff::{Gate, Verdict};
use timewise_profile::Profile;

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
    let text = format!("{outcome}: {gate}: {} ({interval})", percent(growth.value));
    // What is left unsaid by an interval wider than the limit.
    let unseen = growth.value - growth.low;
    if verdict.fails || !unseen.is_finite() || unseen <= gate.limit {
        return text;
    }
    format!(
        "{text}; growth of less than {:.1} % would not be seen in these runs: add more of them",
        100.0 * unseen
    )
}

/// What to mind of a comparison as a whole, one line each.
pub fn cautions(base: &Profile, test: &Profile) -> Vec<String> {
    let (base, test) = (program(base), program(test));
    if base == test {
        return Vec::new();
    }
    let [base, test] = [base, test].map(|name| name.unwrap_or_default());
    vec![format!(
        "warning: base ran {base}, test ran {test}: functions of equal names may have nothing in common"
    )]
}

/// The file name of the program that a profile is of.
fn program(profile: &Profile) -> Option<String> {
    let path = profile.runs.first()?.command.first()?;
    Some(String::from_utf8_lossy(path.rsplit(|&byte| byte == b'/').next()?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_flow::Estimate;
    use timewise_profile::{Run, RunKind};

    #[test]
    fn verdicts_say_what_was_found() {
        let gate: Gate = "time>2%".parse().unwrap();
        let growth = Estimate { value: 0.051, low: 0.032, high: 0.07 };
        assert_eq!(
            verdict(&gate, &Verdict { growth, fails: true }),
            "gate failed: time>2%: +5.10 % (95 %: +3.20 % to +7.00 %)"
        );
        let growth = Estimate { value: 0.01, low: -0.03, high: 0.05 };
        assert_eq!(
            verdict(&gate, &Verdict { growth, fails: false }),
            "gate passed: time>2%: +1.00 % (95 %: -3.00 % to +5.00 %); growth of less than 4.0 % would not be seen in \
             these runs: add more of them"
        );
        let growth = Estimate { value: 0.0, low: 0.0, high: 0.0 };
        assert_eq!(
            verdict(&gate, &Verdict { growth, fails: false }),
            "gate passed: time>2%: +0.00 % (exact)"
        );
    }

    #[test]
    fn different_programs_are_told() {
        let of = |program: &str| {
            let run = Run { command: vec![program.into(), b"x".to_vec()], ..Run::new(RunKind::Sampling) };
            Profile { runs: vec![run], ..Profile::default() }
        };
        assert_eq!(cautions(&of("old/bzip2"), &of("./bzip2")), Vec::<String>::new());
        let told = cautions(&of("bzip2"), &of("/bin/xz"));
        assert!(told[0].starts_with("warning: base ran bzip2, test ran xz: "), "{told:?}");
    }
}
