//! Numbers of instructions as users write them, with the letters that reports have.

/// A whole number, or one of thousands (`k` or `K`), millions (`M`) or thousands of millions (`G`).
///
/// # Errors
/// What is wrong with it.
pub fn parse_number(text: &str) -> Result<u64, String> {
    let units = [('k', 1_000), ('K', 1_000), ('M', 1_000_000), ('G', 1_000_000_000)];
    let with_unit = units.iter().find_map(|&(letter, unit)| Some((text.strip_suffix(letter)?, unit)));
    let (digits, unit) = with_unit.unwrap_or((text, 1));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("it is no whole number, such as 1000 or 2M".into());
    }
    let number = digits.parse().ok().and_then(|number: u64| number.checked_mul(unit));
    number.ok_or("it is too large a number".into())
}

/// Instructions of an interval, likewise.
///
/// # Errors
/// What is wrong with it.
pub fn parse_interval(text: &str) -> Result<u64, String> {
    match parse_number(text)? {
        ..1000 => Err("it is less than 1000".into()),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_have_letters() {
        for (text, number) in [
            ("0", 0),
            ("12", 12),
            ("5k", 5_000),
            ("100K", 100_000),
            ("2M", 2_000_000),
            ("18G", 18_000_000_000),
        ] {
            assert_eq!(parse_number(text), Ok(number), "{text}");
        }
        for text in ["", "M", "1e6", "-1", "+1", "2 M", "1.5M", "2m", "2MM", "99999999999G"] {
            assert!(parse_number(text).is_err(), "{text}");
        }
        assert_eq!((parse_interval("1k"), parse_interval("999").is_err()), (Ok(1000), true));
    }
}
