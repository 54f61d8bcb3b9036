//! The constraints of C++20, which the library does not read (gimli-rs/cpp_demangle#310): of a symbol with `requires`,
//! or with a concept in front of an argument, another is made that has none and means the same function otherwise.
//!
//! What stands in a symbol for the first time has a number, by which the rest refers to it. What is left out has one no
//! longer, so that each reference is written anew, and in full where what it refers to was left out.

use super::tokens::BEFORE;
use crate::names::LONGEST;

/// Types in types, and the like, that are followed: more than the library unfolds.
const DEEPEST: u32 = 96;

/// The symbol without constraints; `None` if it has none, is none of C++, or refers to what cannot be told.
pub fn without_constraints(symbol: &str) -> Option<String> {
    let mut walk = Walk { text: symbol.as_bytes(), ..Walk::default() };
    if symbol.len() > LONGEST || !walk.accept(BEFORE)? {
        return None;
    }
    walk.encoding()?;
    if walk.peek() == b'.' {
        walk.take(symbol.len() - walk.at)?;
    }
    let is_whole = walk.at == symbol.len() && walk.out != symbol.as_bytes();
    String::from_utf8(walk.out).ok().filter(|_| is_whole)
}

/// Where something begins, and the number of the first thing in it to which can be referred.
pub type Place = (usize, usize);

/// What something is to which can be referred.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// A type.
    Type,
    /// What a nested name begins with.
    Prefix,
    /// What stands in front of arguments outside of a nested name.
    Template,
}

struct Referable {
    kind: Kind,
    place: Place,
    end: usize,
    has_arguments: bool,
    /// The number in what is written, if it was not left out.
    written: Option<usize>,
}

/// A way through a symbol, on which it is written anew.
#[derive(Default)]
pub struct Walk<'a> {
    text: &'a [u8],
    at: usize,
    out: Vec<u8>,
    /// How many parts that are left out this is within.
    left_out: u32,
    /// The number of the first thing in the last one.
    left_out_from: usize,
    /// From which number on it is not sure what has which: in constraints of its members clang counts a class twice.
    unsure_from: Option<usize>,
    depth: u32,
    /// Where the last arguments of a template end.
    pub arguments_end: usize,
    /// In the type of a conversion, where arguments are those of the operator.
    pub is_conversion: bool,
    referable: Vec<Referable>,
    /// The number of what comes next to which can be referred: one in `referable` where something is written once more.
    next: usize,
    /// How many there are in what is written.
    numbers: usize,
}

impl Walk<'_> {
    /// The byte that comes next, 0 at the end.
    pub fn peek(&self) -> u8 {
        self.peek_behind(0)
    }

    /// The one that comes so many bytes later.
    pub fn peek_behind(&self, count: usize) -> u8 {
        self.text.get(self.at + count).copied().unwrap_or_default()
    }

    /// Whether `what` comes next.
    pub fn starts_with(&self, what: &str) -> bool {
        self.text[self.at..].starts_with(what.as_bytes())
    }

    /// Goes on, and writes what is passed unless it is left out.
    pub fn take(&mut self, count: usize) -> Option<()> {
        let end = self.at.checked_add(count)?;
        let taken = self.text.get(self.at..end)?;
        if self.left_out == 0 {
            self.out.extend_from_slice(taken);
        }
        self.at = end;
        (self.out.len() <= LONGEST).then_some(())
    }

    /// Whether `what` comes next, and is taken.
    pub fn accept(&mut self, what: &str) -> Option<bool> {
        let is_next = self.starts_with(what);
        if is_next {
            self.take(what.len())?;
        }
        Some(is_next)
    }

    /// `what` of the grammar, unless it is too deep within others.
    pub fn within(&mut self, what: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.depth += 1;
        let is_taken = self.depth <= DEEPEST && what(self).is_some();
        self.depth -= 1;
        is_taken.then_some(())
    }

    /// `what` of the grammar, of which nothing is written.
    pub fn leave_out(&mut self, what: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        if self.left_out == 0 {
            self.left_out_from = self.next;
        }
        self.left_out += 1;
        let is_taken = what(self);
        self.left_out -= 1;
        is_taken
    }

    /// Writes what stands for something that is left out.
    pub fn write(&mut self, instead: &str) {
        if self.left_out == 0 {
            self.out.extend_from_slice(instead.as_bytes());
        }
    }

    /// Here.
    pub fn place(&self) -> Place {
        (self.at, self.next)
    }

    /// To what began at `place`, and ends here, can be referred.
    pub fn refer_to(&mut self, kind: Kind, place: Place) {
        if self.next == self.referable.len() {
            // Behind those of a nested name there is an `E`.
            let has_arguments = [self.arguments_end, self.arguments_end + 1].contains(&self.at);
            self.referable.push(Referable { kind, place, end: self.at, has_arguments, written: None });
        }
        if self.left_out == 0 {
            self.referable[self.next].written.get_or_insert(self.numbers);
            self.numbers += 1;
        }
        self.next += 1;
    }

    /// The library refers to something more than the symbol does.
    pub fn refer_to_more(&mut self) {
        self.numbers += usize::from(self.left_out == 0);
    }

    /// `S_`, `S0_`, `SA_`, or the letter of what all know; `kind` is what it is a part of.
    pub fn reference(&mut self, kind: Kind) -> Option<()> {
        if self.peek_behind(1).is_ascii_lowercase() {
            return self.take(2);
        }
        let mut number = None;
        self.leave_out(|walk| {
            walk.take(1)?;
            while !walk.accept("_")? {
                let digit = char::from(walk.peek()).to_digit(36)? as usize;
                number = Some(number.unwrap_or(0_usize).checked_mul(36)?.checked_add(digit)?);
                walk.take(1)?;
            }
            Some(())
        })?;
        let number = number.map_or(Some(0), |number| number.checked_add(1))?;
        if self.left_out > 0 {
            if number >= self.next {
                self.unsure_from.get_or_insert(self.left_out_from);
            }
            return Some(());
        }
        // What is written once more is a part of what came before.
        let end = self.unsure_from.map_or(self.next, |unsure_from| unsure_from.min(self.next));
        let referable = self.referable.get(number).filter(|_| number < end)?;
        if referable.has_arguments && self.peek() == b'I' && !self.is_conversion {
            return None;
        }
        match referable.written {
            Some(0) => self.write("S_"),
            Some(written) => self.write(&format!("S{}_", radix36(written - 1))),
            None => self.within(|walk| walk.write_in_full(number, kind))?,
        }
        Some(())
    }

    /// What was left out where it stood first, as a part of a type or of the beginning of a name.
    fn write_in_full(&mut self, number: usize, within: Kind) -> Option<()> {
        let Referable { kind, place, end, .. } = self.referable[number];
        let back = (self.text, self.at, self.next, self.is_conversion);
        (self.text, self.at, self.next, self.is_conversion) = (&self.text[..end], place.0, place.1, false);
        match (kind, within, self.peek()) {
            // A name within a function cannot be the beginning of another, nor can what is no name.
            (Kind::Type, Kind::Prefix, first) if !first.is_ascii_digit() && !b"NSTD".contains(&first) => {
                return None;
            }
            (Kind::Type, Kind::Prefix, b'N') => {
                self.at += 1;
                self.components()?;
                self.refer_to(kind, place);
            }
            (Kind::Type, ..) => self.any_type()?,
            _ => {
                let is_alone = (kind, within) == (Kind::Prefix, Kind::Type);
                self.write(if is_alone { "N" } else { "" });
                self.components()?;
                self.refer_to(kind, place);
                self.write(if is_alone { "E" } else { "" });
            }
        }
        (self.text, self.at, self.next, self.is_conversion) = back;
        Some(())
    }
}

fn radix36(number: usize) -> String {
    let digit = char::from(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 36]);
    let before = if number < 36 { String::new() } else { radix36(number / 36) };
    format!("{before}{digit}")
}

#[cfg(test)]
mod tests {
    use super::{radix36, without_constraints};
    use crate::demangle::demangle;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    /// As `llvm-cxxfilt` has them, but for what is required, and with arguments for parameters.
    #[test]
    fn what_is_required_is_left_out() {
        for (symbol, want) in [
            (
                "_ZN2DB5Field6createIcQeqstT_Li1EEEvPKS2_m",
                "void DB::Field::create<char>(char const*, unsigned long)",
            ),
            ("_ZN1AIiE1fEvQ1CIT_E", "A<int>::f()"),
            (
                "_Z4halfIdQoosr3stdE14floating_pointIT_Esr3stdE7same_asIS0_lEES0_S0_",
                "double half<double>(double)",
            ),
            ("_Z1gIiQrqXcvT__ETRS0_Q1CIS0_EXpscvS0__ENR1CEEvv", "void g<int>()"),
            ("_Z3fn1IiEvT_QrQS0__XpsfL0p_Xpsfp_E", "void fn1<int>(int)"),
            ("_ZN2A2IiE1BIiE1fIiiEEvvQ2C2IT_TL1_0_E", "void A2<int>::B<int>::f<int, int>()"),
            ("_ZN1SILi1EEF3barIiEEiR4Base", "int S<1>::bar<int>(Base&)"),
            ("_ZN3FooIdEC2IiEET_QrqQ1CITL0__EE", "Foo<double>::Foo<int>(int)"),
            ("_ZNK1AILj6EEcvS_IXT_EEILj5EEEvQltTL0__T_", "A<6u>::operator A<5u><5u>() const"),
            (
                "_Z6mappedIZ4mainE3$_0lQsr3stdE9invocableIT_iEE3GenIiES1_T0_.resume",
                "Gen<int> mapped<main::$_0, long>(main::$_0, long) [clone .resume]",
            ),
        ] {
            assert_eq!(demangle(symbol), want);
        }
    }

    /// As `llvm-cxxfilt` has them, with arguments for parameters.
    #[test]
    fn kinds_of_arguments_are_left_out() {
        for (symbol, want) in [
            ("_Z5twiceITkSt8integraliET_S0_", "int twice<int>(int)"),
            ("_Z3sumITpTkSt8integralJilcEElDpT_", "long sum<int, long, char>(int, long, char)"),
            ("_Z2f5ITk1CicTk1EfTk1FsQ1DIT0_EEvT1_T2_", "void f5<int, char, float, short>(float, short)"),
            ("_Z3fn3IiTk2C2IDtfL0p_EEiEvT_T0_", "void fn3<int, int>(int, int)"),
            ("_Z2f7ITnDk1CLi5EEvv", "void f7<5>()"),
            ("_ZN3geo4makeITtTpTyESt6vectoriQ5HoldsIT_T0_EEEDaS3_", "auto geo::make<std::vector, int>(int)"),
            ("_ZN3geo4halfIlEEDkSt8integralT_", "auto geo::half<long>(long)"),
            ("_ZNK5l_tplMUlTyT_E_clIiEEDaS0_", "auto l_tpl::{lambda(auto:1)#1}::operator()<int>(int) const"),
            (
                "_ZNK9l_tpl_tplMUlTtTyTnjER3TPLIT_EE_clI1UEEDaS3_",
                "auto l_tpl_tpl::{lambda(TPL<auto:1>&)#1}::operator()<U>(TPL<U>&) const",
            ),
            (
                "_ZZ1fvENKUlTkSt8integralT_Q1CIS_EE_clIiEEDaS_",
                "auto f()::{lambda(auto:1)#1}::operator()<int>(int) const",
            ),
        ] {
            assert_eq!(demangle(symbol), want);
        }
    }

    #[test]
    fn what_was_left_out_is_written_where_it_stands_next() {
        for (symbol, want) in [
            // `vector<T>::iterator` is a type there, of which the beginning of a name comes back as well.
            (
                "_Z1fIiQ1KINSt6vectorIT_E8iteratorEEEvS3_S2_NS2_5otherE",
                "_Z1fIiEvNSt6vectorIT_E8iteratorES2_NS2_5otherE",
            ),
            ("_Z1fIiQ1KIN1a1bEEEvS0_1c", "_Z1fIiEvN1aE1c"),
            ("_Z1fIiQ1KIN1a1bEEEvNS1_1cE", "_Z1fIiEvN1a1b1cE"),
            ("_Z1fI1aQ1KIT0_IT_EEEvNS1_1bES1_IS2_E", "_Z1fI1aEvNT0_1bES1_IT_E"),
            ("_Z1fIiQ1KIPKT_EEvS0_S1_", "_Z1fIiEvT_KT_"),
            // A pointer is no beginning of a name.
            ("_Z1fIiQ1KIPKT_EEvNS2_1bE", ""),
            // Numbers are not what they should be.
            ("_ZN1FIdE1fITk1CIS_IT_ES9_EiEEvS0_", "_ZN1FIdE1fIiEEvS0_"),
            ("_ZN1FIdE1fITk1CIS_IT_ES9_EiEEvS3_", ""),
            ("_ZN1nFltILb1EQ3AnyINS_4TreeIT_EEEEEbNS1_IiE2ItILb0EEENS6_IXT_EEE", ""),
        ] {
            let written = without_constraints(symbol).unwrap_or_default();
            assert_eq!(written, want, "{symbol}");
        }
    }

    #[test]
    fn numbers_have_several_digits() {
        let parameters: String = (0..60).map(|number| format!("3x{number:02}")).collect();
        let symbol = format!("_Z1fITk1CIPPvEiEv{parameters}S1Q_S1_");
        assert_eq!(without_constraints(&symbol), Some(format!("_Z1fIiEv{parameters}S1N_Pv")));
    }

    #[test]
    fn what_cannot_be_told_stays() {
        for symbol in ["_Z1fIiQ", "_Z1fITkEvv", "_Z1fIiQ1CIS9_EEvS3_", "_Z1fIiQ1CIT_EvS_"] {
            assert_eq!(demangle(symbol), symbol);
        }
    }

    #[test]
    fn what_is_deep_or_unfolds_without_end_stays() {
        for (before, part, after) in [
            ("_Z1fIiQ", "nt", "T_Evv"),
            ("_Z1fIiQ1CI", "P", "iEEvv"),
            ("_Z1fIiQ1CI", "1aI", "iEEvv"),
            ("_Z", "Z", "1fvEEvv"),
            ("_Z1fI", "Tp", "Tyi"),
            ("_ZN1fI", "J", "i"),
        ] {
            let symbol = format!("{before}{}{after}", part.repeat(1500));
            assert_eq!(without_constraints(&symbol), None);
        }
        // Each is a pair of the one before it, and all but the last are only there.
        for steps in [20, 40] {
            let pairs: String = (0..steps).map(|step| format!("1pIS{0}_S{0}_E", radix36(2 * step))).collect();
            let symbol = format!("_Z1fIiQ1CIPi{pairs}EEvS{}_", radix36(2 * steps));
            assert_eq!(demangle(&symbol), symbol);
        }
    }

    proptest! {
        /// Nothing is left of what a symbol requires.
        #[test]
        fn nothing_is_left_out_twice(
            parts in vec(select(vec![
                "Q", "Tk", "Tn", "Tp", "Ty", "Tt", "TL0__", "T_", "S_", "S0_", "S1_", "SB_", "1C", "3abc", "I", "E", "N", "F", "J", "i",
                "v", "Da", "Dk", "P", "K", "Ul", "E_", "Z", "u", "rq", "rQ", "X", "R", "sr", "St", "L", "Li1E", "fp_", "cl", "gt", "cv",
                "_", "aa", "9", "M", "A", "\u{e4}", ".", "DT", "C2", "1CIT_E", "INS_", "1CIPiE",
            ]), 0..32),
            before in select(vec!["_Z1fI", "_Z1fIi", "_Z1fIiEvQ", "_Z1fIiQ1CIPKNT_1aEE", "_ZN1aIiE", "_Z", "_ZTI", "_ZZ1fvENKUl"]),
        ) {
            if let Some(written) = without_constraints(&format!("{before}{}", parts.concat())) {
                prop_assert_eq!(without_constraints(&written), None, "{}", written);
            }
        }
    }
}
