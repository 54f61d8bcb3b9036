//! Words of other demanglers, which people know from their tools, where the library has its own.

/// Types of numbers, and what stands behind a number of the type in the source.
const LITERALS: [(&str, &str); 6] = [
    ("(unsigned int)", "u"),
    ("(long)", "l"),
    ("(unsigned long)", "ul"),
    ("(long long)", "ll"),
    ("(unsigned long long)", "ull"),
    ("(int)", ""),
];

/// `16u` for each `(unsigned int)16`.
pub fn with_literals(name: String) -> String {
    let is_literal = |pair: &[u8]| pair[0] == b')' && (pair[1] == b'-' || pair[1].is_ascii_digit());
    if !name.as_bytes().windows(2).any(is_literal) {
        return name;
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name.as_str();
    while let Some(at) = rest.find('(') {
        out += &rest[..at];
        rest = &rest[at..];
        let literal = LITERALS.iter().find_map(|(of, end)| {
            let number = rest.strip_prefix(of)?;
            let digits = number.strip_prefix('-').unwrap_or(number);
            let behind = digits.trim_start_matches(|digit: char| digit.is_ascii_digit());
            (behind.len() < digits.len()).then(|| (&number[..number.len() - behind.len()], *end, behind))
        });
        match literal {
            Some((number, end, behind)) => {
                out += number;
                out += end;
                rest = behind;
            }
            None => {
                out.push('(');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

/// `A::B const&` for `A const&::B`: of a type within another that was named before the library writes what is said of it
/// too early. What stands behind parameters is said of a function.
pub fn with_qualifiers_behind(name: String) -> String {
    const QUALIFIERS: [&str; 4] = [" const", " volatile", "*", "&"];
    let mut ends = name.match_indices("::").map(|(at, _)| &name[..at]);
    if !ends.any(|end| QUALIFIERS.iter().any(|qualifier| end.ends_with(qualifier))) {
        return name;
    }
    let mut out = String::with_capacity(name.len());
    let mut parts = name.split("::");
    out += parts.next().unwrap_or_default();
    for part in parts {
        let mut bare = out.as_str();
        while let Some(shorter) = QUALIFIERS.iter().find_map(|qualifier| bare.strip_suffix(qualifier)) {
            bare = shorter;
        }
        let is_type = bare.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | '>'));
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
        let has_arguments = part[end..].starts_with('<');
        if bare.len() == out.len() || !is_type || end == 0 || has_arguments || bare.ends_with("operator") {
            out += "::";
            out += part;
            continue;
        }
        let said = out.split_off(bare.len());
        out += "::";
        out += &part[..end];
        out += &said;
        out += &part[end..];
    }
    out
}

/// Of the symbol of a thunk what that is, and the encoding of the function that it leads to.
pub fn thunk(symbol: &str) -> Option<(&'static str, &str)> {
    let rest = symbol.strip_prefix("_ZT")?;
    match rest.as_bytes().first()? {
        b'h' => Some(("non-virtual thunk to ", without_offset(rest)?)),
        b'v' => Some(("virtual thunk to ", without_offset(rest)?)),
        b'c' => Some(("covariant return thunk to ", without_offset(without_offset(&rest[1..])?)?)),
        _ => None,
    }
}

/// What follows `hn16_` or `v0_n24_`.
fn without_offset(text: &str) -> Option<&str> {
    let number = |text: &'_ str| -> Option<usize> {
        let (digits, _) = text.split_once('_')?;
        let bare = digits.strip_prefix('n').unwrap_or(digits);
        let is_number = !bare.is_empty() && bare.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then_some(digits.len() + 1)
    };
    let (first, rest) = (text.get(..1)?, text.get(1..)?);
    let rest = &rest[number(rest)?..];
    match first {
        "h" => Some(rest),
        "v" => Some(&rest[number(rest)?..]),
        _ => None,
    }
}
