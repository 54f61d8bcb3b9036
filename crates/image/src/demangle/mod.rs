//! Names as they stand in the source, from names as linkers want them.

mod constraints;
mod grammar;
mod members;
mod packs;
mod tokens;
mod wording;

use crate::names::LONGEST;
use cpp_demangle::{DemangleOptions, Symbol};
use std::fmt::{self, Write};

/// Longer symbols of constructors stay as the library unfolds them, and so do those in which this many places may be the
/// end of the name: each is tried.
const LONGEST_MENDED: usize = 2048;
const MOST_ENDS: usize = 32;

/// The name in the source language's terms: Rust (without the hash) and C++ are unfolded, a version
/// suffix (`@GLIBC_2.14`) is dropped, anything else stays.
pub fn demangle(symbol: &str) -> String {
    let (symbol, linkage) = match symbol.strip_suffix("@plt") {
        Some(bare) => (bare, "@plt"),
        None => (without_version(symbol), ""),
    };
    let name = rust(symbol).or_else(|| cpp(symbol)).unwrap_or_else(|| symbol.to_string());
    name + linkage
}

/// `memcpy` for `memcpy@@GLIBC_2.14`.
pub(crate) fn without_version(symbol: &str) -> &str {
    match symbol.find('@') {
        Some(at) if at > 0 => &symbol[..at],
        _ => symbol,
    }
}

fn rust(symbol: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(symbol).ok()?;
    let mut out = Bounded(String::new());
    write!(out, "{demangled:#}").ok()?;
    Some(out.0)
}

fn cpp(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") && !symbol.starts_with("_GLOBAL_") {
        return None;
    }
    readable_cpp(symbol).or_else(|| readable_cpp(&constraints::without_constraints(symbol)?))
}

fn readable_cpp(symbol: &str) -> Option<String> {
    if let Some((thunk, encoding)) = wording::thunk(symbol).filter(|(_, encoding)| !encoding.starts_with('T'))
    {
        return cpp(&format!("_Z{encoding}")).map(|function| thunk.to_string() + &function);
    }
    let mended = with_return_type(symbol);
    let symbol = mended.as_deref().unwrap_or(symbol);
    let name = with_packs(symbol).or_else(|| {
        let (symbol, member) = members::without_members(symbol)?;
        members::with_members(&with_packs(&symbol)?, member)
    })?;
    Some(wording::with_literals(wording::with_qualifiers_behind(name)))
}

fn with_packs(symbol: &str) -> Option<String> {
    let unfold = |symbol: &str| unfolded(symbol, &DemangleOptions::new());
    let plain = unfold(symbol)?;
    Some(packs::expanded(symbol, &plain, unfold).unwrap_or(plain))
}

fn unfolded(symbol: &str, options: &DemangleOptions) -> Option<String> {
    let parsed = Symbol::new(symbol).ok()?;
    let mut out = Bounded(String::new());
    parsed.structured_demangle(&mut out, options).ok()?;
    Some(out.0)
}

/// The symbol of a constructor that is a template, with a type that it returns in front of its parameters. It has none,
/// but the library takes the first parameter for one and leaves that away (gimli-rs/cpp_demangle#129). `None` for all others.
fn with_return_type(symbol: &str) -> Option<String> {
    let from = ["C1I", "C2I", "C3I"].iter().filter_map(|constructor| symbol.find(constructor)).min()?;
    if symbol.len() > LONGEST_MENDED {
        return None;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    // The name ends with the template's arguments and itself, where a type alone makes a whole symbol of it.
    let ends =
        (from..symbol.len() - 1).filter(|&at| symbol.as_bytes()[at..].starts_with(b"EE")).map(|at| at + 2);
    let ends = ends.take(MOST_ENDS);
    let mut names = ends.filter_map(|end| Some((end, unfolded(&format!("{}v", &symbol[..end]), &options)?)));
    let (end, name) = names.next()?;
    is_templated_constructor(&name).then(|| format!("{}v{}", &symbol[..end], &symbol[end..]))
}

/// Whether the last part of a name has arguments of a template, and is called as what it is a part of.
fn is_templated_constructor(name: &str) -> bool {
    let mut depth = 0;
    let mut parts = vec![0];
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'{' => depth += 1,
            b'>' | b')' | b'}' => depth -= 1,
            b':' if depth == 0 => parts.push(at + 1),
            _ => {}
        }
    }
    // Of two colons there is nothing between.
    let [.., whole, _, own] = parts[..] else { return false };
    let class = name[whole..].split(['<', ':']).next();
    let (constructor, arguments) = name[own..].split_once('<').unzip();
    arguments.is_some() && class == constructor
}

/// A string that refuses to grow past [`LONGEST`].
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::demangle;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    #[test]
    fn languages() {
        assert_eq!(demangle("main"), "main");
        assert_eq!(
            demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
            "core::fmt::Write::write_fmt"
        );
        assert_eq!(demangle("_RNvCskwGfYPst2Cb_3foo16example_function"), "foo::example_function");
        assert_eq!(
            demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"),
            "std::vector<int, std::allocator<int> >::push_back(int&&)"
        );
        assert_eq!(demangle("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(demangle("_ZN1Q1fIdEEvid"), "void Q::f<double>(int, double)");
        assert_eq!(demangle("_ZdlPv@plt"), "operator delete(void*)@plt");
        assert_eq!(demangle("runtime.(*mheap).alloc"), "runtime.(*mheap).alloc");
        assert_eq!(demangle("_Z"), "_Z");
    }

    /// As `c++filt` has them.
    #[test]
    fn constructors_that_are_templates_keep_all_parameters() {
        for (symbol, want) in [
            ("_ZN1QC2IdEEid", "Q::Q<double>(int, double)"),
            ("_ZN1QC1IdEEPKcd", "Q::Q<double>(char const*, double)"),
            ("_ZN1QC1IJidEEEPKcDpT_", "Q::Q<int, double>(char const*, int, double)"),
            (
                "_ZNSt6vectorIiSaIiEEC2IPivEET_S4_RKS0_",
                "std::vector<int, std::allocator<int> >::vector<int*, void>(int*, int*, std::allocator<int> const&)",
            ),
            ("_ZN1QC2IdEEid.constprop.0", "Q::Q<double>(int, double) [clone .constprop.0]"),
            ("_ZN1QC2Eid", "Q::Q(int, double)"),
        ] {
            assert_eq!(demangle(symbol), want);
        }
    }

    /// As `c++filt` has them.
    #[test]
    fn packs_are_expanded() {
        for (symbol, want) in [
            ("_Z1fIJilcEElDpRKT_", "long f<int, long, char>(int const&, long const&, char const&)"),
            ("_Z1gIJliEElDpOT_", "long g<long, int>(long&&, int&&)"),
            ("_Z1gIJRKiiEElDpOT_", "long g<int const&, int>(int const&, int&&)"),
            ("_ZN1KIiJEE1hEPS0_", "K<int>::h(K<int>*)"),
            ("_Z1gIiJEEvT_DpOT0_", "void g<int>(int)"),
            ("_Z1gIJEEvDpT_", "void g<>()"),
            ("_Z1fIJiEEvSt5tupleIJDpT_EE", "void f<int>(std::tuple<int>)"),
            ("_Z1fIJicEEvDpSt4pairIT_T_E", "void f<int, char>(std::pair<int, int>, std::pair<char, char>)"),
            ("_Z1fIJA3_cPFvRiEEEvDpOT_", "void f<char [3], void (*)(int&)>(char (&&) [3], void (*&&)(int&))"),
            ("_Z1fIJA3_cEEvDpRKT_", "void f<char [3]>(char const (&) [3])"),
            ("_Z1fIJRA3_KcEEvDpOT_", "void f<char const (&) [3]>(char const (&) [3])"),
            (
                "_Z1fIJN1a1BESt6vectorIiSaIiEEEEvDpRKT_",
                "void f<a::B, std::vector<int, std::allocator<int> > >(a::B const&, std::vector<int, std::allocator<int> > const&)",
            ),
            (
                "_Z1fIJSt5tupleIJiSt5tupleIJEEEEEEvDpT_",
                "void f<std::tuple<int, std::tuple<> > >(std::tuple<int, std::tuple<> >)",
            ),
        ] {
            assert_eq!(demangle(symbol), want);
        }
    }

    /// As `c++filt` has them.
    #[test]
    fn words_are_those_of_other_tools() {
        for (symbol, want) in [
            ("_ZThn16_N1R1wEv", "non-virtual thunk to R::w()"),
            ("_ZTv0_n24_N1A1fEv", "virtual thunk to A::f()"),
            ("_ZTch0_h16_N1A1fEv", "covariant return thunk to A::f()"),
            ("_ZTcv0_n24_v0_n32_N1A1fEv", "covariant return thunk to A::f()"),
            ("_ZThn16_", "_ZThn16_"),
            ("_Z1fR1AILj16EEm", "f(A<16u>&, unsigned long)"),
            ("_Z1fR1AILm16ELln1ELy3ELx4ELi5EE", "f(A<16ul, -1l, 3ull, 4ll, 5>&)"),
            ("_Z1fR1AR1BPKNS1_1DERNS_1CE", "f(A&, B&, B::D const*, A::C&)"),
        ] {
            assert_eq!(demangle(symbol), want);
        }
    }

    /// As `c++filt` has them.
    #[test]
    fn members_of_the_standard_librarys_types_are_read() {
        for (symbol, want) in [
            (
                "_ZSt4swapIiENSt9enable_ifIXsrSt6__and_IJSt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleIS4_E\
                 St18is_move_assignableIS4_EEE5valueEvE4typeERS4_SE_",
                "std::enable_if<std::__and_<std::__not_<std::__is_tuple_like<int> >, std::is_move_constructible<int>, \
                 std::is_move_assignable<int> >::value, void>::type std::swap<int>(int&, int&)",
            ),
            (
                "_ZSt9__fill_a1IPiiEN9__gnu_cxx11__enable_ifIXsrSt11__is_scalarIT0_E7__valueEvE6__typeET_S8_RKS4_",
                "__gnu_cxx::__enable_if<std::__is_scalar<int>::__value, void>::__type std::__fill_a1<int*, int>(int*, \
                 int*, int const&)",
            ),
        ] {
            assert_eq!(demangle(symbol), want);
        }
    }

    proptest! {
        /// Whatever a symbol is, it has a name.
        #[test]
        fn no_symbol_is_too_odd(
            parts in vec(select(vec![
                "J", "E", "Dp", "I", "N", "T_", "S_", "S0_", "R", "K", "O", "1f", "3abc", "L", "Lj3E", "i", "F", "v", "St", "X",
                "Ul", "E_", "_", "Z", "A3_", "DT", "sr", "srSt3abcI", "E5value", "Th8_", "\u{e4}", "9", "cl", "1,", "1(", "1>", "P",
                "Q", "Tk", "Tn", "Tp", "Ty", "Tt", "TL0__", "rq", "rQ", "1CIT_E",
            ]), 0..24),
            before in select(vec!["_Z1fI", "_ZN", "_Z", "_ZTh", "_Z1fIJicEEvDp", "_Z1fIiQ"]),
        ) {
            let name = demangle(&format!("{before}{}", parts.concat()));
            prop_assert!(!name.contains("pack_") && !name.contains(['\u{1}', '\u{2}', '\u{3}']), "{}", name);
        }
    }

    #[test]
    fn names_that_unfold_without_end_stay_folded() {
        // Each parameter is a pair of the one before it.
        let mut symbol = String::from("_Z1f1PIiiE");
        for step in 0..60 {
            let last = if step == 0 { "S0_".into() } else { format!("S{}_", radix36(step)) };
            symbol += &format!("S_I{last}{last}E");
        }
        assert!(demangle(&symbol).len() <= super::LONGEST);
    }

    fn radix36(number: u32) -> char {
        char::from_digit(number % 36, 36).unwrap().to_ascii_uppercase()
    }
}
