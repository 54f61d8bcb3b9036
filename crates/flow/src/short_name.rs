//! What people call a function whose full name is long: `push_back` for
//! `std::vector<int, std::allocator<int> >::push_back(int&&)`.

/// Whether `asked` is the function called `full` without its parameters, and perhaps without its template
/// arguments, its return type and the first parts of its path.
pub fn answers_to(full: &str, asked: &str) -> bool {
    let bare = without_parameters(full);
    let generic = bare.strip_suffix('>').and_then(|_| before_matching(bare, '<', '>'));
    let ends_as_asked = |name: &str| {
        let rest = name.strip_suffix(asked);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with("::") || rest.ends_with(' '))
    };
    !asked.is_empty() && (ends_as_asked(bare) || generic.is_some_and(ends_as_asked))
}

/// A demangled name without what GCC and LLVM add to those of clones: `sort` of `sort.constprop.0.isra.1`, `f(int)` of
/// `f(int) [clone .part.0]`, `g` of `g.llvm.1234`; and as [`without_abi`].
pub fn without_clones(name: &str) -> &str {
    let name = without_abi(name);
    const CLONES: [&str; 6] = [".constprop.", ".isra.", ".part.", ".llvm.", ".lto_priv.", ".localalias"];
    let Some(begins) = CLONES.iter().filter_map(|clone| name.find(clone)).min() else { return name };
    let plain = &name[..begins];
    // As demanglers write it.
    plain.strip_suffix("[clone ").map_or(plain, str::trim_end)
}

/// The name of a function of Go without what its linker adds to symbols of those that take arguments on the stack, as all do
/// that are written in assembler: `runtime.futex` of `runtime.futex.abi0`. The table that is left where symbols were
/// stripped has the name alone.
pub fn without_abi(name: &str) -> &str {
    name.strip_suffix(".abi0").unwrap_or(name)
}

/// The name of what is an instance of a template, or belongs to one, without the arguments, its parameters and its return
/// type: `std::vector::push_back` of `void std::vector<int>::push_back(int&&)`. `None` of all else.
pub fn without_arguments(full: &str) -> Option<String> {
    let bare = without_parameters(full);
    let (mut name, mut depth) = (String::new(), 0_usize);
    let mut before = None;
    for character in bare.chars() {
        match character {
            // What `operator<<` and `operator->` are called by are no brackets.
            '<' | '>' if name.ends_with("operator") || before == Some('-') => name.push(character),
            '<' if depth == 0 && name.ends_with("operator<") => name.push(character),
            '<' => depth += 1,
            '>' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => name.push(character),
            _ => {}
        }
        before = Some(character);
    }
    let name = name.trim_end();
    let generic = name.rsplit_once(' ').map_or(name, |(_, name)| name);
    (depth == 0 && generic.len() < bare.len() && bare.contains('<')).then(|| generic.to_string())
}

/// `ns::f` for `ns::f(int) const`.
fn without_parameters(full: &str) -> &str {
    let mut name = full;
    while let Some(shorter) = [" const", " volatile", "&"].iter().find_map(|end| name.strip_suffix(end)) {
        name = shorter.trim_end();
    }
    match name.strip_suffix(')').and_then(|_| before_matching(name, '(', ')')) {
        // What has no name before its parameters is no C++ function.
        Some(bare) if !bare.is_empty() && !bare.ends_with("operator") => bare,
        _ => full,
    }
}

/// What stands before the bracket that the last one of `name` closes.
pub fn before_matching(name: &str, open: char, close: char) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, character) in name.char_indices().rev() {
        if character == close {
            depth += 1;
        } else if character == open {
            depth -= 1;
            if depth == 0 {
                return Some(&name[..at]);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_templates_may_be_left_out() {
        for (full, want) in [
            ("void std::vector<int, std::allocator<int> >::push_back(int&&)", Some("std::vector::push_back")),
            (
                "void std::__introsort_loop<int*, long, Less<A> >(int*, int*, long, Less<A>)",
                Some("std::__introsort_loop"),
            ),
            ("std::operator<< <char>(std::ostream&, char)", Some("std::operator<<")),
            ("Box<int>::operator->()", Some("Box::operator->")),
            ("f(std::vector<int>)", None),
            ("a->b", None),
            ("odd>", None),
        ] {
            assert_eq!(without_arguments(full).as_deref(), want, "{full}");
        }
    }

    #[test]
    fn parameters_template_arguments_and_paths_may_be_left_out() {
        for (full, asked) in [
            ("thrower(int)", "thrower"),
            ("a::b::f(void (*)(int)) const", "a::b::f"),
            ("a::b::f(int) const &", "b::f"),
            ("std::vector<int, std::allocator<int> >::push_back(int&&)", "push_back"),
            ("void sort<int*>(int*, int*)", "sort"),
            ("void sort<int*>(int*, int*)", "sort<int*>"),
            ("(anonymous namespace)::f()", "f"),
            ("X::operator()(int)", "operator()"),
            ("X::operator()(int)", "X::operator()"),
            ("core::fmt::Write::write_fmt", "Write::write_fmt"),
        ] {
            assert!(answers_to(full, asked), "{full} {asked}");
        }
    }

    #[test]
    fn compilers_mark_clones() {
        for (name, want) in [
            ("sort.constprop.0.isra.1", "sort"),
            ("operator.part", "operator.part"),
            (".part.2", ""),
            ("ns::f(long) [clone .constprop.0]", "ns::f(long)"),
            ("long mix<long>(int) [clone .isra.0] [clone .part.1]", "long mix<long>(int)"),
            ("f(int) [clone .cold]", "f(int) [clone .cold]"),
            ("[clone .part.0]", ""),
            ("runtime.futex.abi0", "runtime.futex"),
            ("main.abi0s", "main.abi0s"),
            ("crc32", "crc32"),
        ] {
            assert_eq!(without_clones(name), want);
        }
    }

    #[test]
    fn other_functions_do_not_answer() {
        for (full, asked) in [
            ("thrower(int)", "hrower"),
            ("thrower(int)", "throw"),
            ("a::b::f(int)", "a::b"),
            ("a::f(b::g)", "g"),
            ("f(int)", ""),
            ("(anonymous namespace)", "anonymous"),
            ("operator>(A, B)", "A"),
            ("a>>b", "c"),
            (")", "x"),
            (">", "x"),
        ] {
            assert!(!answers_to(full, asked), "{full} {asked}");
        }
    }
}
