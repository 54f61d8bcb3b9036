//! `std::__and_<…>::value`, as in the symbol of `std::swap`: GCC writes it in a way that the library does not read. It
//! does read `sizeof` of the same type, by which whatever the rest of the symbol refers back to stays where it is.

use super::tokens::{BEFORE, tokens};

/// What begins a member of a type, what stands for it, and how that comes out.
const MEMBER: [&str; 3] = ["s", "r", "St"];
const INSTEAD: &str = "stSt";
const UNFOLDED: &str = "sizeof (std::";

/// A symbol that the library reads, and the name of the member that is left out. `None` where there is none, or several.
pub fn without_members(symbol: &str) -> Option<(String, &str)> {
    let tokens = tokens(symbol)?;
    let texts: Vec<&str> = tokens.iter().map(|token| token.text).collect();
    if texts.windows(2).any(|pair| pair == ["s", "t"]) {
        return None;
    }
    let mut out = String::from(BEFORE);
    let mut left_out = Vec::new();
    let mut member = None;
    for (at, text) in texts.iter().enumerate() {
        if texts[at..].starts_with(&MEMBER) {
            // Its name and its arguments, and then that of the member.
            let arguments = Some(at + 4).filter(|&at| texts.get(at) == Some(&"I"))?;
            let end = tokens.iter().position(|token| token.closes == Some(arguments))?;
            let name = texts.get(end + 1)?.trim_start_matches(|digit: char| digit.is_ascii_digit());
            if name.is_empty() || member.is_some_and(|member| member != name) {
                return None;
            }
            member = Some(name);
            out += INSTEAD;
            left_out.extend([at, at + 1, at + 2, end + 1]);
        }
        if !left_out.contains(&at) {
            out += text;
        }
    }
    member.map(|member| (out, member))
}

/// The name of such a symbol with the member.
pub fn with_members(name: &str, member: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = name;
    // What each bracket that is open ends with.
    let mut open: Vec<bool> = Vec::new();
    while let Some(next) = rest.chars().next() {
        if let Some(of) = rest.strip_prefix(UNFOLDED) {
            open.push(true);
            out += "std::";
            rest = of;
            continue;
        }
        rest = &rest[next.len_utf8()..];
        match next {
            '(' => open.push(false),
            ')' if open.pop()? => {
                out += "::";
                out += member;
                continue;
            }
            _ => {}
        }
        out.push(next);
    }
    Some(out)
}
