//! Names in less room than they take, so that what tells most of them stays.

use crate::table::cut;
use timewise_flow::short_name::before_matching;

const LEFT_OUT: char = '…';

/// What names of operators begin with.
const OPERATOR: &str = "operator";

/// Less than so many letters of a path tell nothing.
const FEW: usize = 4;

/// A function: what compilers add to the names of clones goes first, then what it returns, its parameters, template
/// arguments, the brackets of both, and the beginning of its path.
///
/// `std::vector<int, std::allocator<int> >::push_back(int&&)` becomes `std::vector<…>::push_back(…)`, and
/// `std::vector::push_back…` or `…tor::push_back` in still less room. One without a name, `libc.so.6+0x1a2b`, keeps its
/// offset.
pub fn function(name: &str, width: usize) -> String {
    let is_offset = |(_, offset): (&str, &str)| offset.chars().all(|digit| digit.is_ascii_hexdigit());
    if name.rsplit_once("+0x").is_some_and(is_offset) {
        return place(name, width);
    }
    let fits = |name: &String| name.chars().count() <= width;
    let mut shorter = name.to_string();
    for step in [without_clone, without_returned, without_parameters, without_arguments] {
        if fits(&shorter) {
            return shorter;
        }
        shorter = step(&shorter);
    }
    if fits(&shorter) {
        return shorter;
    }
    let bare = without_brackets(&shorter);
    if bare.chars().count() < width && bare.len() < shorter.len() {
        return format!("{bare}{LEFT_OUT}");
    }
    let Some((path, own)) = split_path(&bare) else { return cut(&bare, width) };
    let room = width.saturating_sub("…::".chars().count() + own.chars().count());
    if room < FEW {
        return cut(&format!("{LEFT_OUT}{own}"), width);
    }
    let before = path.chars().count().saturating_sub(room);
    let kept: String = path.chars().skip(before).collect();
    format!("{LEFT_OUT}{}::{own}", kept.trim_start_matches([':', ' ']))
}

/// A function in a sentence, which is to be read in one go.
pub fn in_sentence(name: &str) -> String {
    const WIDTH: usize = 60;
    function(name, WIDTH)
}

/// A place, such as `table.c:97`, `table.c:95-103` or `libc.so.6+0x1a2b`: what stands last stays whole.
pub fn place(name: &str, width: usize) -> String {
    let length = name.chars().count();
    let Some(at) = name.rfind([':', '+']).filter(|_| length > width) else { return cut(name, width) };
    let (file, last) = name.split_at(at);
    match width.saturating_sub(last.chars().count()) {
        // An offset tells more than the beginning of a module's name, a line without its file nothing.
        1..FEW if last.starts_with('+') => format!("{LEFT_OUT}{last}"),
        ..FEW => cut(name, width),
        room => cut(file, room) + last,
    }
}

/// A place and a function, as in `table.c:97 in f`: each gets half of the room, or what the other leaves.
pub fn place_in_function(name: &str, width: usize) -> String {
    const IN: &str = " in ";
    let Some((at, of)) = name.split_once(IN) else { return place(name, width) };
    let room = width.saturating_sub(IN.len());
    let lengths = [at, of].map(|part| part.chars().count());
    let half = room / 2;
    let for_function = room.saturating_sub(lengths[0]).max(half).min(lengths[1]);
    let for_place = room.saturating_sub(for_function);
    format!("{}{IN}{}", place(at, for_place), function(of, for_function))
}

/// A path, as in `table.c:95 98 103 … 120 121`: where it begins and where it ends stay, and of what is between as much
/// as there is room for.
pub fn path(name: &str, width: usize) -> String {
    let length = |words: &[&str]| words.iter().map(|word| word.chars().count() + 1).sum::<usize>();
    if name.chars().count() <= width {
        return name.to_string();
    }
    let mark = LEFT_OUT.to_string();
    let words: Vec<&str> = name.split(' ').filter(|word| *word != mark).collect();
    let (mut head, mut tail) = (1, 1);
    let shown = |head: usize, tail: usize| {
        let left_out = if head + tail < words.len() { &[mark.as_str()][..] } else { &[] };
        [&words[..head], left_out, &words[words.len() - tail..]].concat()
    };
    let fits = |head, tail| head + tail <= words.len() && length(&shown(head, tail)) <= width + 1;
    if words.len() < 3 || !fits(head, tail) {
        return place(words[0], width);
    }
    loop {
        match (head <= tail && fits(head + 1, tail), fits(head, tail + 1)) {
            (true, _) => head += 1,
            (false, true) => tail += 1,
            (false, false) => break,
        }
    }
    shown(head, tail).join(" ")
}

/// `f(int)` for `f(int) [clone .isra.0] [clone .cold]`: whichever it is, while `short_name::without_clones` leaves parts
/// that seldom run as they are.
fn without_clone(name: &str) -> String {
    name.split_once(" [clone ").map_or(name, |(original, _)| original).to_string()
}

/// `a::f<int>(int)` for `void a::f<int>(int)`: of what is made of templates the name begins with what it returns.
fn without_returned(name: &str) -> String {
    let bare = name.strip_suffix(" const").unwrap_or(name);
    let function = parameters(bare).map(|open| &bare[..open]).filter(|function| function.ends_with('>'));
    let Some(function) = function.and_then(|function| before_matching(function, '<', '>')) else {
        return name.to_string();
    };
    let function = function.trim_end();
    let (mut begin, mut depth) = (0, 0_usize);
    for (at, character) in function.char_indices() {
        let before = &function[..at];
        match character {
            '<' | '>' if is_sign_behind(before) => {}
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && !before.ends_with(OPERATOR) => begin = at + 1,
            _ => {}
        }
    }
    if depth == 0 { name[begin..].to_string() } else { name.to_string() }
}

/// `f(…)` for `f(int, int) const`; a name without parameters stays.
fn without_parameters(name: &str) -> String {
    let bare = name.strip_suffix(" const").unwrap_or(name);
    match parameters(bare) {
        Some(open) if open + 2 < bare.len() => format!("{}({LEFT_OUT})", &bare[..open]),
        _ => name.to_string(),
    }
}

/// `a<…>::f` for `a<b<c>>::f`. What stands in brackets that follow no name stays, such as
/// the type in `<Type as Trait>::f`.
fn without_arguments(name: &str) -> String {
    let mut out = String::new();
    let mut depth = 0_usize;
    let mut outside = 0_usize;
    let mut before = ' ';
    for character in name.chars() {
        let is_bracket = !is_sign_behind(&out);
        match character {
            '<' if depth > 0 => depth += 1,
            '<' if is_bracket
                && (before.is_alphanumeric() || matches!(before, '_' | ':') || ends_with_operator(&out)) =>
            {
                depth = 1;
                out.extend(['<', LEFT_OUT]);
            }
            '<' if is_bracket => {
                outside += 1;
                out.push('<');
            }
            '>' if depth > 0 && before != '-' => {
                depth -= 1;
                if depth == 0 {
                    out.push('>');
                }
            }
            '>' if outside > 0 && is_bracket => {
                outside -= 1;
                out.push('>');
            }
            _ if depth > 0 => {}
            _ => out.push(character),
        }
        before = character;
    }
    // What does not pair was no bracket.
    if depth + outside == 0 { out } else { name.to_string() }
}

/// Whether an angle behind this belongs to a sign, as in `operator<<` and `->`, and is no bracket.
fn is_sign_behind(before: &str) -> bool {
    let name = before.strip_suffix(['<', '>']).unwrap_or(before);
    before.ends_with('-') || name.ends_with(OPERATOR)
}

/// Whether a name ends with an operator and its sign, as `operator()` and `operator< `.
fn ends_with_operator(name: &str) -> bool {
    let sign = name.rsplit_once(OPERATOR).map_or("", |(_, sign)| sign);
    !sign.is_empty() && sign.chars().all(|character| "()[]<>=!+-*/%^&|~, ".contains(character))
}

/// `a::f::{lambda#1}` for `a<…>::f<…>(int)::{lambda(int)#1}(…)`.
fn without_brackets(name: &str) -> String {
    let (mut out, mut depth) = (String::new(), 0_usize);
    for character in name.chars() {
        match character {
            '(' if depth > 0 || !out.is_empty() && !out.ends_with("::") && !out.ends_with(OPERATOR) => {
                depth += 1
            }
            ')' if depth > 0 => depth -= 1,
            _ if depth == 0 => out.push(character),
            _ => {}
        }
    }
    let bare = if depth == 0 { out } else { name.to_string() };
    bare.replace("::<…>", "").replace(" <…>", "").replace("<…>", "")
}

/// The path of a name, and its last part.
fn split_path(name: &str) -> Option<(&str, &str)> {
    let at = name[..parameters(name).unwrap_or(name.len())].rfind("::")?;
    Some((&name[..at], &name[at + 2..]))
}

/// Where the parameters begin that a name ends with.
fn parameters(name: &str) -> Option<usize> {
    let bare = name.strip_suffix(')').and_then(|_| before_matching(name, '(', ')'))?;
    Some(bare.len()).filter(|&begin| begin > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_keep_what_tells_them_apart() {
        let push = "std::vector<int, std::allocator<int> >::push_back(int&&)";
        let serialise = "<&mut serde_json::ser::Serializer<W,F> as serde::ser::Serializer>::serialize_str";
        for (name, width, want) in [
            (push, 56, push),
            (push, 53, "std::vector<int, std::allocator<int> >::push_back(…)"),
            (push, 30, "std::vector<…>::push_back(…)"),
            (push, 27, "std::vector::push_back…"),
            (push, 20, "…vector::push_back"),
            (
                "a::f(b)::{lambda(c, d (*)(e))#1}::operator()(c, d (*)(e)) const",
                31,
                "a::f::{lambda#1}::operator()…",
            ),
            ("a::(anonymous namespace)::f(b, c)", 29, "a::(anonymous namespace)::f…"),
            (
                "auto std::ranges::less::operator()<int, int>(int&&, int&&) const",
                24,
                "…anges::less::operator()",
            ),
            (
                "auto std::ranges::less::operator()<int, int>(int&&, int&&) const",
                42,
                "std::ranges::less::operator()<int, int>(…)",
            ),
            ("a<int>::b* c::f<a<int>, d (*)(e)>(a<int>, d (*)(e))", 20, "c::f<…>(…)"),
            ("std::ostream& std::operator<< <char>(std::ostream&, char)", 22, "std::operator<< <…>(…)"),
            ("std::ostream& std::operator<< <char>(std::ostream&, char)", 21, "std::operator<<…"),
            ("void* a::operator new<int>(int)", 30, "a::operator new<int>(int)"),
            (serialise, 40, "…serde::ser::Serializer>::serialize_str"),
            (serialise, 12, "…serialize_…"),
            ("core::slice::<impl [T]>::partition_point", 36, "core::slice::<…>::partition_point"),
            ("memmove_avx_unaligned_erms", 12, "memmove_avx…"),
            ("f(int, long)", 8, "f(…)"),
            (
                "a<b>::f(int) const [clone .isra.0] [clone .cold]",
                48,
                "a<b>::f(int) const [clone .isra.0] [clone .cold]",
            ),
            ("a<b>::f(int) const [clone .isra.0] [clone .cold]", 18, "a<b>::f(int) const"),
            ("a<b>::f(int) const [clone .isra.0]", 12, "a<b>::f(…)"),
            ("interp-stripped+0x1090", 17, "interp-st…+0x1090"),
            ("(anonymous namespace)::f()", 12, "…mespace)::f"),
            ("a::operator<<(b, c)", 16, "a::operator<<(…)"),
        ] {
            assert_eq!(function(name, width), want, "{width}");
        }
    }

    #[test]
    fn places_keep_their_lines() {
        assert_eq!(place("memmove-vec-unaligned-erms.S:362", 16), "memmove-vec…:362");
        assert_eq!(place("table.c:95-103", 14), "table.c:95-103");
        assert_eq!(place("libc.so.6+0x1a2b3c", 14), "libc…+0x1a2b3c");
        assert_eq!(place("libc.so.6+0x1a2b3c", 10), "…+0x1a2b3c");
        assert_eq!(place("a_long_module_name", 8), "a_long_…");
        let both = "memmove-vec-unaligned-erms.S:362 in __memmove_avx_unaligned_erms";
        assert_eq!(place_in_function(both, 34), "memmove-ve…:362 in __memmove_avx_…");
        assert_eq!(place_in_function("fig1.c:23-26 in a::b::calculate", 24), "fig…:23-26 in …calculate");
    }

    #[test]
    fn paths_keep_how_they_begin_and_end() {
        let lines = "table.c:95 98 103 110 … 114 116 120";
        assert_eq!(path(lines, 35), lines);
        assert_eq!(path(lines, 28), "table.c:95 98 103 … 116 120");
        assert_eq!(path(lines, 22), "table.c:95 98 … 120");
        assert_eq!(path(lines, 12), "table.c:95");
        assert_eq!(path("lib.so+0x1a2b3c 0x1a2b40", 20), "lib.so+0x1a2b3c");
        assert_eq!(path("lib.so+0x1a2b3c", 10), "…+0x1a2b3c");
    }

    #[test]
    fn names_of_any_kind_fit() {
        let names = [
            "<&mut a::B<W,F> as c::D>::e",
            "a::operator->()",
            "bool a<b>::operator< <c>(d) const",
            "<<<<",
            ">>::>>",
            "((((",
            "))))",
            "ä::ö<ü>::ß(é)",
            "",
        ];
        for name in names {
            for width in 1..40 {
                for shorten in [function, place, place_in_function, path] {
                    let shorter = shorten(name, width);
                    assert!(shorter.chars().count() <= width, "{name} {width}: {shorter}");
                }
            }
        }
    }
}
