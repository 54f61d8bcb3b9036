//! The symbols of C++ in pieces. The grammar is not followed in all: whoever changes a symbol by its pieces looks at
//! what it then unfolds to.

use crate::names::LONGEST;

/// What the symbols of C++ begin with.
pub const BEFORE: &str = "_Z";

/// A piece of a symbol: a name with its length, what is one sign in the grammar, or a letter.
#[derive(Debug)]
pub struct Token<'a> {
    /// As it stands there.
    pub text: &'a str,
    /// Which one began what ends here, by its position.
    pub closes: Option<usize>,
}

/// All of it but how it begins.
pub fn tokens(symbol: &str) -> Option<Vec<Token<'_>>> {
    // What it unfolds to is hardly ever shorter.
    let mut rest = symbol.strip_prefix(BEFORE).filter(|rest| rest.len() <= LONGEST)?;
    let mut all: Vec<Token> = Vec::new();
    // What has begun and ends with an `E`.
    let mut open: Vec<(&str, usize)> = Vec::new();
    while !rest.is_empty() {
        let before = all.last().map_or("", |token| token.text);
        let (text, after) = rest.split_at_checked(length(rest, before, &open))?;
        let mut closes = None;
        match text {
            // A name that no other file sees, rather than a number.
            "L" if matches!(open.last(), None | Some(("N" | "Z", _))) => {}
            "J" | "N" | "I" | "X" | "F" | "Z" | "L" | "L_Z" | "Ul" | "DT" | "Dt" | "DO" | "cl" | "il"
            | "tl" => {
                open.push((text, all.len()));
            }
            _ if text.starts_with('E') => closes = open.pop().map(|(_, opened)| opened),
            _ => {}
        }
        all.push(Token { text, closes });
        rest = after;
    }
    Some(all)
}

/// Bytes of what `rest` begins with, behind the token `before` in all that is `open`.
fn length(rest: &str, before: &str, open: &[(&str, usize)]) -> usize {
    let bytes = rest.as_bytes();
    let second = bytes.get(1).copied().unwrap_or_default();
    let within = |what: &str| open.last().is_some_and(|&(opened, _)| opened == what);
    // `_`, `0_`, `A_`.
    let with_number = |from: usize| {
        let number =
            bytes[from..].iter().take_while(|b| b.is_ascii_digit() || b.is_ascii_uppercase()).count();
        if bytes.get(from + number) == Some(&b'_') { from + number + 1 } else { from }
    };
    match bytes[0] {
        b'0'..=b'9' => {
            let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let is_value = within("L") && before != "L";
            match rest[..digits].parse::<usize>() {
                Ok(length) if !is_value && length <= rest.len() - digits => digits + length,
                _ => digits,
            }
        }
        b'L' if rest.starts_with("L_Z") => 3,
        b'V' if second == b'K' => 2,
        b'C' if second.is_ascii_digit() => 2,
        b'D' | b'S' if second.is_ascii_alphabetic() && (bytes[0] == b'D' || second.is_ascii_lowercase()) => 2,
        b'D' if second.is_ascii_digit() => 2,
        b'S' | b'T' | b'A' => with_number(1),
        b'U' if second == b'l' => 2,
        b'U' if second == b't' => with_number(2),
        // Which one of several lambdas.
        b'E' if within("Ul") => with_number(1),
        b'c' | b'i' | b't'
            if second == b'l' && open.iter().any(|(opened, _)| ["X", "DT", "Dt"].contains(opened)) =>
        {
            2
        }
        _ => 1,
    }
}
