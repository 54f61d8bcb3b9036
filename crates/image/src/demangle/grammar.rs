//! The grammar of C++ symbols, <https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling>, with what clang 18 and
//! GCC 14 add for C++20. What comes next tells what it is, so nothing is looked at twice.

use super::constraints::{Kind, Walk};

/// What something may begin with, and what follows:
///
/// | sign | what | | sign | what |
/// | --- | --- | --- | --- | --- |
/// | `t` | a type | | `a` | an argument of a template |
/// | `c` | a type that is converted to | | `i` | arguments in brackets, if any |
/// | `e` | an expression | | `k` | what kind an argument is of |
/// | `n` | a name | | `r` | what is required, if anything |
/// | `s` | a name with its length | | `#` | a number, if any |
/// | `y` | a function or an object | | `d` | a number or an expression, if any, and `_` |
/// | `o` | an operator | | `q` | `r`, `V` and `K`, if any |
/// | `l` | the value of a literal | | `*` | any number of what stands before |
///
/// All others stand for themselves.
type Forms = [(&'static str, &'static str)];

/// What belongs to a type or an object. Thunks were taken apart before.
const SPECIAL_NAMES: &Forms =
    &[("TV TT TI TS", "t"), ("TA", "a"), ("TH TW GV", "n"), ("TC", "t#_t"), ("GR", "n#_")];

const UNQUALIFIED_NAMES: &Forms = &[
    ("CI1 CI2", "t"),
    ("C1 C2 C3 C4 C5 D0 D1 D2 D4 D5", ""),
    ("DC", "s*E"),
    ("Ul", "k*rt*rE#_"),
    ("Ut Ub", "#_"),
];

const BUILTIN_TYPES: &Forms = &[
    ("v w b c a h s t i j l m n o x y f d e g z", ""),
    ("Dd De Df Dh Di Ds Du Da Dc Dn DF16b", ""),
    ("DB DU", "d"),
    ("DF", "#_"),
];

const TYPES: &Forms =
    &[("P R O C G Dp", "t"), ("M", "tt"), ("A Dv", "dt"), ("Dt DT", "eE"), ("Ts Tu Te", "n")];

const EXCEPTIONS: &Forms = &[("Do", ""), ("DO", "eE"), ("Dw", "t*E")];

const ARGUMENTS: &Forms = &[("X", "eE"), ("I J", "a*E")];

const KINDS: &Forms = &[("Ty", ""), ("Tk", "n"), ("Tn", "t"), ("Tp", "k"), ("Tt", "k*rE")];

const EXPRESSIONS: &Forms = &[
    ("pp_ mm_ pp mm ps ng ad de co nt dl da te sz az nx sp tw sZ gs", "e"),
    ("pl mi ml dv rm an or eo aS pL mI mL dV rM aN oR eO ls rs lS rS eq ne lt gt le ge ss aa oo cm pm", "ee"),
    ("ix dt pt ds dx", "ee"),
    ("qu dX", "eee"),
    ("fl fr", "oe"),
    ("fL fR", "oee"),
    ("fpT tr", ""),
    ("fp", "q#_"),
    ("ti st at", "t"),
    ("dc sc cc rc", "te"),
    ("cl cp il pi", "e*E"),
    ("tl", "te*E"),
    ("cv", "ce"),
    // What is converted, if that is not one expression.
    ("_", "e*E"),
    ("di", "se"),
    ("mc so", "telE"),
    ("sP", "a*E"),
    ("u", "sa*E"),
    ("on", "oi"),
    ("L_Z LZ", "yE"),
    ("L", "tlE"),
];

/// What is written for `requires { … }` where that is no constraint.
const REQUIRES: &str = "8requires";

impl Walk<'_> {
    /// Takes one of these forms, if there is one.
    fn form(&mut self, forms: &Forms) -> Option<bool> {
        for (starts, follows) in forms {
            if let Some(start) = starts.split(' ').find(|start| self.starts_with(start)) {
                self.take(start.len())?;
                self.follow(follows)?;
                return Some(true);
            }
        }
        Some(false)
    }

    fn follow(&mut self, follows: &str) -> Option<()> {
        let mut signs = follows.bytes().peekable();
        while let Some(sign) = signs.next() {
            if signs.next_if_eq(&b'*').is_none() {
                self.sign(sign)?;
                continue;
            }
            while if sign == b'k' { self.is_kind() } else { !b"\0E_.Q".contains(&self.peek()) } {
                self.sign(sign)?;
            }
        }
        Some(())
    }

    fn sign(&mut self, sign: u8) -> Option<()> {
        match sign {
            b't' => self.any_type(),
            b'c' => self.type_of_conversion(),
            b'e' => self.within(Self::expression),
            b'n' => self.name(),
            b's' => self.source_name(),
            b'y' => self.encoding(),
            b'o' => self.operator_name(),
            b'l' => self.take_all(b"0123456789abcdefnp_"),
            b'a' => self.within(Self::template_argument),
            b'i' if self.peek() == b'I' => self.template_arguments(),
            b'k' => self.within(|walk| walk.leave_out(|walk| walk.form(KINDS)?.then_some(()))),
            // What it says is left out as well.
            b'r' if self.peek() == b'Q' => self.leave_out(|walk| walk.follow("Qe")),
            b'i' | b'r' => Some(()),
            b'#' => self.take_all(b"n0123456789"),
            b'd' if self.peek().is_ascii_digit() || self.peek() == b'_' => self.follow("#_"),
            b'd' => self.follow("e_"),
            b'q' => self.take_all(b"rVK"),
            itself => (self.peek() == itself).then(|| self.take(1))?,
        }
    }

    fn take_all(&mut self, bytes: &[u8]) -> Option<()> {
        while bytes.contains(&self.peek()) {
            self.take(1)?;
        }
        Some(())
    }
}

/// Names.
impl Walk<'_> {
    /// A function with its parameters, or an object.
    pub fn encoding(&mut self) -> Option<()> {
        self.within(|walk| {
            if matches!(walk.peek(), b'T' | b'G') {
                return walk.form(SPECIAL_NAMES)?.then_some(());
            }
            walk.follow("nt*r")
        })
    }

    fn name(&mut self) -> Option<()> {
        match self.peek() {
            b'N' => {
                self.take(1)?;
                self.take_all(b"HrVKRO")?;
                self.components()?;
                self.follow("E")
            }
            b'Z' => self.local_name(),
            b'S' if self.peek_behind(1) != b't' => {
                self.reference(Kind::Type)?;
                self.follow("i")
            }
            _ => {
                let place = self.place();
                self.accept("St")?;
                self.unqualified_name()?;
                if self.peek() == b'I' {
                    self.refer_to(Kind::Template, place);
                }
                self.follow("i")
            }
        }
    }

    /// The components of a nested name. To the last one refers who refers to the whole.
    pub fn components(&mut self) -> Option<()> {
        let place = self.place();
        let mut is_referable = false;
        while !matches!(self.peek(), 0 | b'E') {
            if is_referable {
                self.refer_to(Kind::Prefix, place);
            }
            is_referable = self.peek() != b'S';
            match (self.peek(), self.peek_behind(1)) {
                (b'S', b't') => self.take(2)?,
                (b'S', _) => self.reference(Kind::Prefix)?,
                (b'T', _) => self.template_parameter()?,
                (b'I', _) => self.template_arguments()?,
                (b'D', b't' | b'T') => self.form(TYPES)?.then_some(())?,
                _ => self.unqualified_name()?,
            }
            // A variable, in what initialises it.
            self.accept("M")?;
        }
        Some(())
    }

    fn local_name(&mut self) -> Option<()> {
        self.follow("ZyE")?;
        if self.accept("d")? {
            return self.follow("#_n");
        }
        if !self.accept("s")? {
            self.name()?;
        }
        // Which one of several.
        match (self.peek(), self.peek_behind(1)) {
            (b'_', b'_') => self.follow("__#_"),
            (b'_', b'0'..=b'9') => self.take(2),
            _ => Some(()),
        }
    }

    fn unqualified_name(&mut self) -> Option<()> {
        // A friend that is defined in a class.
        if self.peek() == b'F' {
            self.leave_out(|walk| walk.take(1))?;
        }
        self.accept("L")?;
        if self.peek().is_ascii_digit() {
            self.source_name()?;
        } else if !self.form(UNQUALIFIED_NAMES)? {
            self.operator_name()?;
        }
        while self.accept("B")? {
            self.source_name()?;
        }
        Some(())
    }

    fn operator_name(&mut self) -> Option<()> {
        let follows = match (self.peek(), self.peek_behind(1)) {
            (b'c', b'v') => "c",
            (b'l', b'i') | (b'v', b'0'..=b'9') => "s",
            (b'a'..=b'z', _) => "",
            _ => return None,
        };
        self.take(2)?;
        self.follow(follows)
    }

    fn source_name(&mut self) -> Option<()> {
        let mut length = 0_usize;
        while let Some(digit) = char::from(self.peek()).to_digit(10) {
            length = length.checked_mul(10)?.checked_add(digit as usize)?;
            self.take(1)?;
        }
        if length > 0 { self.take(length) } else { None }
    }
}

/// Templates.
impl Walk<'_> {
    fn template_arguments(&mut self) -> Option<()> {
        let is_conversion = std::mem::replace(&mut self.is_conversion, false);
        self.follow("Ia*rE")?;
        self.is_conversion = is_conversion;
        (self.arguments_end, _) = self.place();
        Some(())
    }

    fn template_argument(&mut self) -> Option<()> {
        if self.is_kind() {
            self.follow("k")?;
        }
        if self.peek() == b'L' {
            return self.expression();
        }
        if self.form(ARGUMENTS)? { Some(()) } else { self.any_type() }
    }

    /// Whether what comes next says what kind of argument follows.
    fn is_kind(&self) -> bool {
        self.peek() == b'T' && b"yknpt".contains(&self.peek_behind(1))
    }

    /// `T_`, `T0_`, or that of a template which this one is within: the library knows only what is innermost.
    fn template_parameter(&mut self) -> Option<()> {
        self.follow("T")?;
        if self.peek() == b'L' {
            self.leave_out(|walk| walk.follow("L#_"))?;
        }
        self.follow("#_")
    }
}

/// Types.
impl Walk<'_> {
    /// A type of any kind.
    pub fn any_type(&mut self) -> Option<()> {
        self.within(|walk| {
            let place = walk.place();
            if walk.is_referable_type()? {
                walk.refer_to(Kind::Type, place);
            }
            Some(())
        })
    }

    fn type_of_conversion(&mut self) -> Option<()> {
        let is_conversion = std::mem::replace(&mut self.is_conversion, true);
        self.any_type()?;
        self.is_conversion = is_conversion;
        Some(())
    }

    /// Takes a type. Can be referred to it?
    fn is_referable_type(&mut self) -> Option<bool> {
        let place = self.place();
        if self.form(BUILTIN_TYPES)? {
            return Some(false);
        }
        if self.form(TYPES)? {
            return Some(true);
        }
        match (self.peek(), self.peek_behind(1)) {
            // Of a vendor's type, to which the library does not refer, a class is made.
            (b'u', _) => {
                self.leave_out(|walk| walk.take(1))?;
                self.source_name()?;
                if self.peek() == b'I' {
                    self.refer_to_more();
                }
                self.follow("i")?;
            }
            (b'U', b'0'..=b'9') => self.follow("Usit")?,
            (b'r' | b'V' | b'K', _) => {
                self.follow("q")?;
                if self.is_function_type() { self.function_type()? } else { self.any_type()? }
            }
            _ if self.is_function_type() => self.function_type()?,
            // `auto` and `decltype(auto)` with a concept.
            (b'D', kind @ (b'k' | b'K')) => {
                self.write(if kind == b'k' { "Da" } else { "Dc" });
                self.leave_out(|walk| walk.take(2).and_then(|()| walk.name()))?;
                return Some(false);
            }
            (b'T', _) => {
                self.template_parameter()?;
                if self.peek() == b'I' && !self.is_conversion {
                    self.refer_to(Kind::Template, place);
                    self.template_arguments()?;
                }
            }
            (b'S', second) if second != b't' => {
                self.reference(Kind::Type)?;
                if self.peek() != b'I' || self.is_conversion {
                    return Some(false);
                }
                self.template_arguments()?;
            }
            _ => self.name()?,
        }
        Some(true)
    }

    fn is_function_type(&self) -> bool {
        ["F", "Do", "DO", "Dw", "Dx"].iter().any(|start| self.starts_with(start))
    }

    fn function_type(&mut self) -> Option<()> {
        self.form(EXCEPTIONS)?;
        self.accept("Dx")?;
        self.follow("F")?;
        self.accept("Y")?;
        while !self.accept("E")? && !self.accept("RE")? && !self.accept("OE")? {
            self.any_type()?;
        }
        Some(())
    }
}

/// Expressions.
impl Walk<'_> {
    fn expression(&mut self) -> Option<()> {
        match (self.peek(), self.peek_behind(1)) {
            (b'T', _) => self.template_parameter(),
            (b'0'..=b'9', _) => self.follow("si"),
            (b'd', b'n') => {
                self.take(2)?;
                self.follow(if self.peek().is_ascii_digit() { "si" } else { "t" })
            }
            (b's', b'r') => self.qualified_name(),
            (b'f', b'L') if self.peek_behind(2).is_ascii_digit() => self.follow("fL#pq#_"),
            (b'n', b'w' | b'a') => {
                self.take(2)?;
                self.follow("e*_t")?;
                if self.accept("E")? { Some(()) } else { self.follow("e") }
            }
            (b'r', b'q' | b'Q') => {
                self.write(REQUIRES);
                self.leave_out(Self::requirements)
            }
            _ => self.form(EXPRESSIONS)?.then_some(()),
        }
    }

    /// A name that is looked for in a type, or in others.
    fn qualified_name(&mut self) -> Option<()> {
        self.take(2)?;
        let is_nested = self.accept("N")?;
        let is_type = !self.peek().is_ascii_digit();
        if is_type {
            self.any_type()?;
        }
        if is_nested || !is_type {
            while !self.accept("E")? {
                self.follow("si")?;
            }
        }
        self.follow("e")
    }

    /// `requires { … }`, with parameters or without.
    fn requirements(&mut self) -> Option<()> {
        let has_parameters = self.peek_behind(1) == b'Q';
        self.take(2)?;
        self.follow(if has_parameters { "t*_" } else { "" })?;
        while !self.accept("E")? {
            match self.peek() {
                b'X' => {
                    self.follow("Xe")?;
                    self.accept("N")?;
                    if self.accept("R")? {
                        self.name()?;
                    }
                }
                b'T' => self.follow("Tt")?,
                _ => self.follow("Qe")?,
            }
        }
        Some(())
    }
}
