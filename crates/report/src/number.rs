//! Numbers as people read them: three significant digits, thousands grouped, units said.

/// A count: exact below 100,000, then in thousands, millions and so on.
pub fn count(value: u64) -> String {
    if value < 100_000 {
        return grouped(value);
    }
    let (scaled, unit) = scale(value as f64, &[(1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P")]);
    format!("{} {unit}", digits(scaled, 4))
}

/// A whole number with commas.
pub fn grouped(value: u64) -> String {
    let plain = value.to_string();
    let mut out = String::new();
    for (at, digit) in plain.chars().enumerate() {
        if at > 0 && (plain.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// So many things of a kind, which is named in the singular.
pub fn quantity(count: u64, what: &str) -> String {
    let ending = match count {
        1 => "",
        _ if what.ends_with('s') || what.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {what}{ending}", grouped(count))
}

/// One thing of a kind, whichever.
pub fn any(what: &str) -> String {
    let article = if what.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {what}")
}

/// A number to three significant digits, two after the point at most; whole above 1000, grouped.
pub fn figure(value: f64) -> String {
    match value {
        value if value >= 999.5 => count(value.round() as u64),
        value if value > 0.0 && value < 0.005 => "<0.01".into(),
        value => digits(value, 3),
    }
}

/// A number of parts, such as of divided samples: always one digit after the point.
pub fn tenths(value: f64) -> String {
    let tenths = (10.0 * value).round() as u64;
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}

/// A number of samples.
pub fn samples(value: u64) -> String {
    format!("{} {}", grouped(value), if value == 1 { "sample" } else { "samples" })
}

/// A number of instructions.
pub fn instructions(value: u64) -> String {
    format!("{} {}", count(value), if value == 1 { "instruction" } else { "instructions" })
}

/// How often something happened, as in `3 times`.
pub fn times(value: u64) -> String {
    if value == 1 { "once".into() } else { format!("{} times", count(value)) }
}

/// What part of the whole that is, 0 of nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// A share between 0 and 1 in per cent. What rounding left below 0 is 0.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", if share > 0.0 { 100.0 * share } else { 0.0 })
}

/// A time, given in nanoseconds, in the unit that suits it.
pub fn duration(ns: f64) -> String {
    let (scaled, unit) = scale(ns, &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")]);
    format!("{} {unit}", if unit == "s" { format!("{scaled:.2}") } else { digits(scaled, 3) })
}

fn scale(value: f64, units: &[(f64, &'static str)]) -> (f64, &'static str) {
    // A value that would round up to the next unit's 1 is shown in the next unit.
    let fits = units.iter().rev().find(|(size, _)| value >= size * 0.9995);
    let (size, unit) = fits.or(units.first()).copied().unwrap_or((1.0, ""));
    (value / size, unit)
}

/// `value` with so many significant digits, but no more than two after the point.
fn digits(value: f64, significant: i32) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let before = value.abs().log10().floor() as i32 + 1;
    let after = (significant - before).clamp(0, 2) as usize;
    format!("{value:.after$}")
}

/// How many in an average run: a whole number where all runs have as many.
pub fn mean_count(mean: f64) -> String {
    if mean.fract() == 0.0 { grouped(mean as u64) } else { format!("{mean:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_not_several() {
        assert_eq!(quantity(1, "function"), "1 function");
        assert_eq!(quantity(0, "stretch"), "0 stretches");
        assert_eq!(quantity(1200, "process"), "1,200 processes");
        assert_eq!([any("function"), any("instruction")], ["a function", "an instruction"]);
    }

    #[test]
    fn counts_are_exact_while_they_are_short() {
        let shown = [0, 999, 1000, 99_999, 100_000, 256_000_000, 999_999_999, 11_900_000_000].map(count);
        assert_eq!(shown, ["0", "999", "1,000", "99,999", "100.0 k", "256.0 M", "1.00 G", "11.90 G"]);
    }

    #[test]
    fn figures_have_three_digits() {
        let shown = [0.0, 0.004, 0.053, 0.91, 24.06, 279.4, 999.7, 12_345.6].map(figure);
        assert_eq!(shown, ["0", "<0.01", "0.05", "0.91", "24.1", "279", "1,000", "12,346"]);
    }

    #[test]
    fn parts_align_at_the_point() {
        assert_eq!([0.0, 0.04, 0.95, 42.0, 1_234.56].map(tenths), ["0.0", "0.0", "1.0", "42.0", "1,234.6"]);
    }

    #[test]
    fn no_share_is_less_than_nothing() {
        assert_eq!(
            [0.9996, 0.0004, 0.0, -0.0, -1e-17].map(percent),
            ["100.0 %", "0.0 %", "0.0 %", "0.0 %", "0.0 %"]
        );
    }

    #[test]
    fn times_choose_their_unit() {
        let shown = [0.34, 905.6, 1_500.0, 2.5e6, 4.816e9].map(duration);
        assert_eq!(shown, ["0.34 ns", "906 ns", "1.50 µs", "2.50 ms", "4.82 s"]);
    }
}
