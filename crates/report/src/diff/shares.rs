//! Changes as shares with a sign: `+2.0 %`.

use timewise_diff::Difference;

/// A change as a share of `whole`.
pub fn signed(change: f64, whole: f64) -> String {
    if whole <= 0.0 {
        return if change == 0.0 { "0 %".into() } else { "new".into() };
    }
    let percent = 100.0 * change / whole;
    // What rounds to zero has no sign.
    if percent == 0.0 {
        "0 %".into()
    } else if percent.abs() < 0.05 {
        "<0.1 %".into()
    } else {
        format!("{percent:+.1} %")
    }
}

/// The limits of a change as shares of `whole`. No more than all can be gone, though what there was may have been more than
/// was seen of it.
pub fn interval(difference: &Difference, whole: f64) -> String {
    limits(difference, whole, -1.0)
}

/// The same of a change by cost, which is at the count of TEST: of code that runs more often there, more may be saved than all
/// that it took.
pub fn interval_by_cost(difference: &Difference, whole: f64) -> String {
    limits(difference, whole, f64::NEG_INFINITY)
}

fn limits(difference: &Difference, whole: f64, least: f64) -> String {
    let estimate = difference.estimate();
    if estimate.low == estimate.high || whole <= 0.0 {
        return String::new();
    }
    let share = |limit: f64| (limit / whole).max(least);
    let limit =
        |limit: f64| format!("{:+.1}", 100.0 * share(limit)).replace("-0.0", "0.0").replace("+0.0", "0.0");
    format!("{} to {}", limit(estimate.low), limit(estimate.high))
}

/// The change as a share; in brackets where it may be noise.
pub fn judged(difference: &Difference, whole: f64) -> String {
    let share = signed(difference.estimate().value, whole);
    let is_exact = difference.estimate().low == difference.estimate().high;
    if difference.certain != 0.0 || is_exact { share } else { format!("({share})") }
}

/// How many more instructions were executed; what is exact shows small changes too.
pub fn counted((base, test): (u64, u64)) -> String {
    match (base, test) {
        (base, test) if base == test => "same".into(),
        (0, _) => "new".into(),
        (_, 0) => "gone".into(),
        (base, test) => {
            let percent = 100.0 * (test as f64 - base as f64) / base as f64;
            let digits = if percent.abs() < 0.05 { 4 } else { 1 };
            match percent {
                percent if percent.abs() < 0.00005 => "<0.0001 %".into(),
                percent if percent > 900.0 => format!("{:.1}x", test as f64 / base as f64),
                percent => format!("{percent:+.digits$} %"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_diff::limits::Interval;
    use timewise_flow::Estimate;

    #[test]
    fn shares_have_a_sign_or_none() {
        let shown = [2.04, -0.3, 0.01, -0.01, 0.0].map(|change| signed(change, 100.0));
        assert_eq!(shown, ["+2.0 %", "-0.3 %", "<0.1 %", "<0.1 %", "0 %"]);
        assert_eq!(signed(1.0, 0.0), "new");
    }

    #[test]
    fn what_may_be_noise_stands_in_brackets() {
        let estimate = Estimate { value: 2.0, low: 1.0, high: 3.5 };
        let shown = Interval { estimate, ..Interval::default() };
        let difference = |certain: f64| Difference { shown, certain, ..Difference::default() };
        assert_eq!(judged(&difference(0.0), 100.0), "(+2.0 %)");
        assert_eq!(judged(&difference(0.5), 100.0), "+2.0 %");
        assert_eq!(interval(&difference(0.0), 100.0), "+1.0 to +3.5");
        assert_eq!(judged(&Difference::default(), 100.0), "0 %");
    }

    #[test]
    fn only_what_is_saved_at_the_new_count_may_be_more_than_all() {
        let estimate = Estimate { value: -1600.0, low: -2049.0, high: -1215.0 };
        let difference =
            Difference { shown: Interval { estimate, ..Interval::default() }, ..Difference::default() };
        assert_eq!(interval(&difference, 100.0), "-100.0 to -100.0");
        assert_eq!(interval_by_cost(&difference, 100.0), "-2049.0 to -1215.0");
    }

    #[test]
    fn counts_are_exact() {
        let shown = [(5, 5), (0, 5), (5, 0), (100, 150), (1_000_000, 1_000_100), (1, 20)].map(counted);
        assert_eq!(shown, ["same", "new", "gone", "+50.0 %", "+0.0100 %", "20.0x"]);
        assert_eq!(counted((10_000_000_000, 10_000_000_001)), "<0.0001 %");
    }
}
