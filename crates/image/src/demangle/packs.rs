//! Parameter packs: of `void f(T const&...)` for `int` and `long` the library makes `f<int, long>(int, long const&)`,
//! and of one that is empty `K<int, >` (gimli-rs/cpp_demangle#132).
//!
//! A symbol is given marks that survive unfolding: a number at either end of each pack, and qualifiers in place of that
//! by which one is expanded and of what is said of its elements. The rest of a symbol refers back to none of these
//! otherwise than to what stood there before, so it stays as it is; where what comes out is not what came out without
//! marks, they are at the wrong places, and the name stays.

use super::tokens::{BEFORE, tokens};
use crate::names::LONGEST;
use std::ops::Range;

/// The ends of a pack, in the symbol and when it is unfolded.
const BEGIN: (&str, &str) = ("Lj4294967201E", "(unsigned int)4294967201");
const END: (&str, &str) = ("Lj4294967202E", "(unsigned int)4294967202");

/// What stands in place of `Dp`, and comes out behind what is expanded.
const EXPANDED: (&str, &str) = ("U13pack_expanded", " pack_expanded");

/// The same for what is said of a type: what stands in the symbol, what instead, how that comes out, and what is meant.
const SAID: [(&str, &str, &str, &str); 7] = [
    ("R", "U6pack_R", " pack_R", "&"),
    ("O", "U6pack_O", " pack_O", "&&"),
    ("P", "U6pack_P", " pack_P", "*"),
    ("K", "U6pack_K", " pack_K", " const"),
    ("V", "U6pack_V", " pack_V", " volatile"),
    ("VK", "U7pack_VK", " pack_VK", " volatile const"),
    ("r", "U6pack_r", " pack_r", " __restrict"),
];

/// The same in what was unfolded, a character each.
const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';
const REPEAT: char = '\u{3}';

/// The name of `symbol` with its packs expanded; `plain` is what `unfold` makes of it. `None` if it has none, or if it
/// cannot be told how.
pub fn expanded(symbol: &str, plain: &str, unfold: impl Fn(&str) -> Option<String>) -> Option<String> {
    // What stands in a name one by one, and is there, is right.
    if !symbol.contains("Dp") && !symbol.contains("JE") {
        return None;
    }
    let mut text = unfold(&marked(symbol)?)?;
    text = text.replace(EXPANDED.1, &REPEAT.to_string());
    text = text.replace(&format!(", {}", END.1), &CLOSE.to_string()).replace(END.1, &CLOSE.to_string());
    text = text.replace(&format!("{}, ", BEGIN.1), &OPEN.to_string()).replace(BEGIN.1, &OPEN.to_string());
    for (.., unfolded, meant) in SAID {
        text = text.replace(unfolded, meant);
    }
    // The library puts what is said of a pack behind any of its elements.
    let bare = |text: &str| {
        let text = text.replace(" const", "").replace(" volatile", "").replace(" __restrict", "");
        text.replace([OPEN, CLOSE, REPEAT, '&', '*', '.', ' ', '(', ')'], "")
    };
    (bare(&text) == bare(plain)).then_some(())?;
    while let Some(at) = text.find(REPEAT) {
        text = repeated(&text, at).filter(|text| text.len() <= LONGEST)?;
    }
    Some(without_marks(&text))
}

fn without_marks(text: &str) -> String {
    let empty = format!("{OPEN}{CLOSE}");
    let mut text = text.to_string();
    loop {
        let shorter = text.replace(&format!("{OPEN}{empty}{CLOSE}"), &empty);
        let shorter = shorter.replace(&format!(", {empty}"), "").replace(&format!("{empty}, "), "");
        if shorter == text {
            break;
        }
        text = shorter;
    }
    let mut out = String::with_capacity(text.len());
    for part in text.split([OPEN, CLOSE]) {
        // Two brackets that a mark was between.
        if out.ends_with('>') && part.starts_with('>') {
            out.push(' ');
        }
        out += part;
    }
    out
}

/// The symbol with marks; `None` if it has no packs.
fn marked(symbol: &str) -> Option<String> {
    let tokens = tokens(symbol)?;
    let mut out = String::from(BEFORE);
    let mut is_repeated = false;
    for token in &tokens {
        let said = SAID.iter().find(|(of, ..)| is_repeated && *of == token.text);
        is_repeated = token.text == "Dp" || said.is_some();
        if token.closes.is_some_and(|opened| tokens[opened].text == "J") {
            out += END.0;
        }
        out += match (token.text, said) {
            ("Dp", _) => EXPANDED.0,
            (_, Some((_, mark, ..))) => mark,
            (text, _) => text,
        };
        if token.text == "J" {
            out += BEGIN.0;
        }
    }
    tokens.iter().any(|token| token.text == "J").then_some(out)
}

/// With what ends at the mark at `end` once for each element of the packs in it.
fn repeated(text: &str, end: usize) -> Option<String> {
    let start = start_of_item(text, end)?;
    let pattern = &text[start..end];
    let packs = packs_in(pattern)?;
    let count = packs.first()?.elements.len();
    if packs.iter().any(|pack| pack.elements.len() != count) {
        return None;
    }
    let items: Vec<String> = (0..count).map(|element| with_element(pattern, &packs, element)).collect();
    // It may be within another, and is one thing there if it is none.
    Some(format!("{}{OPEN}{}{CLOSE}{}", &text[..start], items.join(", "), &text[end + REPEAT.len_utf8()..]))
}

/// Where the parameter or argument begins that ends at `end`.
fn start_of_item(text: &str, end: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, character) in text[..end].char_indices().rev() {
        match character {
            // These may have brackets that do not pair.
            'r' if text[..=at].ends_with("operator") => return None,
            '>' if text[..at].ends_with('-') => return None,
            ')' | '>' | '}' | ']' | CLOSE => depth += 1,
            '(' | '<' | '{' | '[' | OPEN if depth > 0 => depth -= 1,
            '(' | '<' | '{' | '[' | OPEN => return Some(at + 1),
            ' ' if depth == 0 && text[..at].ends_with(',') => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// A pack in a pattern.
struct Pack<'a> {
    /// Where it is, with its marks.
    place: Range<usize>,
    elements: Vec<&'a str>,
}

/// The outermost packs in `text`, from left to right.
fn packs_in(text: &str) -> Option<Vec<Pack<'_>>> {
    let mut packs = Vec::new();
    let mut from = 0;
    while let Some(begin) = text[from..].find(OPEN) {
        let start = from + begin;
        let (elements, length) = elements_of(&text[start + 1..])?;
        from = start + 1 + length + 1;
        packs.push(Pack { place: start..from, elements });
    }
    Some(packs)
}

/// The elements of the pack that `text` is the rest of, and how long they are.
fn elements_of(text: &str) -> Option<(Vec<&str>, usize)> {
    let mut elements = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, character) in text.char_indices() {
        match character {
            'r' if text[..=at].ends_with("operator") => return None,
            '>' if text[..at].ends_with('-') => return None,
            CLOSE if depth == 0 => {
                if at > 0 {
                    elements.push(text.get(start..at)?);
                }
                return Some((elements, at));
            }
            '(' | '<' | '{' | '[' | OPEN => depth += 1,
            ')' | '>' | '}' | ']' | CLOSE => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                elements.push(text.get(start..at)?);
                start = at + ", ".len();
            }
            _ => {}
        }
    }
    None
}

/// The pattern for one element of its packs.
fn with_element(pattern: &str, packs: &[Pack], element: usize) -> String {
    let mut out = String::new();
    let mut from = 0;
    for pack in packs {
        out += &pattern[from..pack.place.start];
        let rest = &pattern[pack.place.end..];
        let length = rest.len() - behind_what_is_said(rest).len();
        out += &saying(pack.elements[element], &rest[..length]);
        from = pack.place.end + length;
    }
    out + &pattern[from..]
}

fn behind_what_is_said(mut text: &str) -> &str {
    while let Some(rest) = SAID.iter().find_map(|(.., meant)| text.strip_prefix(meant)) {
        text = rest;
    }
    text
}

/// `int const&` for `int` and ` const&`; a reference to a reference is one, and what is said of a pointer to a function
/// is said within its brackets.
fn saying(of: &str, said: &str) -> String {
    if said.is_empty() {
        return of.to_string();
    }
    let is_outermost = |at: usize| of[..at].matches('<').count() == of[..at].matches('>').count();
    let inside = ["(*", "(&"].iter().filter_map(|sign| of.find(sign)).min();
    let inside = inside.filter(|&at| is_outermost(at)).and_then(|at| Some(at + of[at..].find(')')?));
    let (before, after) = match inside {
        Some(at) => of.split_at(at),
        None => match of.rfind(" [").filter(|_| of.ends_with(']')) {
            Some(at) => {
                // What is said of its elements comes first.
                let outside = said.find(['*', '&']).unwrap_or(said.len());
                let (elements, array) = said.split_at(outside);
                let array = if array.is_empty() { String::new() } else { format!(" ({array})") };
                return format!("{}{elements}{array}{}", &of[..at], &of[at..]);
            }
            None => (of, ""),
        },
    };
    let bare = before.trim_end_matches('&');
    match (said.trim_start_matches(" const").starts_with('&'), &before[bare.len()..]) {
        (true, "&") => format!("{bare}&{after}"),
        (true, "&&") => format!("{bare}{}{after}", said.trim_start_matches(" const")),
        _ => format!("{before}{said}{after}"),
    }
}
