//! How functions are called in full, and where they are declared, by debug information.

use crate::programs::{MANY, build_many as build, run};
use std::collections::BTreeSet;
use std::path::Path;
use timewise_image::Symboliser;

/// As demanglers write them, but that templates have no type that they return.
const NAMES: [&str; 17] = [
    "(anonymous namespace)::deep::S::made<double>(double)",
    "(anonymous namespace)::deep::S::method(short) const",
    "(anonymous namespace)::deep::S::uses(long (*)(int, ...), int (&) [3], (anonymous namespace)::deep::Kind)",
    "Holder<main::{lambda(int)#1}>::call(main::{lambda(int)#1}*)",
    "Holder<main::{lambda(int)#2}>::call(main::{lambda(int)#2}*)",
    "apply<main::{lambda(int)#1}>(main::{lambda(int)#1})",
    "apply<main::{lambda(int)#2}>(main::{lambda(int)#2})",
    "b::step(char const*)",
    "b::step(int)",
    "c::step(unsigned long, int)",
    "exported",
    "main",
    "main::Local::method(int)",
    "main::{lambda(int)#1}::operator()(int) const",
    "main::{lambda(int)#2}::operator()(int) const",
    "with_symbol(int)",
    "with_symbol(int)::{lambda(int)#1}::operator()(int) const",
];

/// The names of all functions that code of `main` is of.
fn names_in_main(program: &Path) -> BTreeSet<String> {
    let symboliser = Symboliser::open(program, &[]).unwrap();
    let main = symboliser.functions().all().iter().find(|function| function.symbol == "main").unwrap();
    let frames = (main.offset..main.end()).flat_map(|offset| symboliser.frames(offset));
    frames.filter_map(|frame| Some(frame.function?.to_string())).collect()
}

#[test]
fn names_without_symbols_say_what_they_are_in_and_take() {
    let directory = tempfile::tempdir().unwrap();
    for (name, flags) in [
        ("five", &["-gdwarf-5"][..]),
        ("four", &["-gdwarf-4"]),
        ("whole", &["-g", "-flto"]),
        ("split", &["-g", "-gsplit-dwarf"]),
    ] {
        let found = names_in_main(&build(directory.path(), name, flags));
        let expected: BTreeSet<String> = NAMES.map(String::from).into();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn names_say_what_is_known() {
    let directory = tempfile::tempdir().unwrap();
    // Types stand elsewhere, and so does what templates were made for.
    let found = names_in_main(&build(directory.path(), "types", &["-g", "-fdebug-types-section"]));
    for name in NAMES.iter().filter(|name| !name.starts_with("Holder") && !name.contains("Kind")) {
        assert!(found.contains(*name), "{name}: {found:?}");
    }
    // Nothing says what functions are in and take.
    let found = names_in_main(&build(directory.path(), "lines", &["-g1"]));
    assert!(found.contains("step") && found.contains("method"), "{found:?}");
}

#[test]
fn functions_are_where_they_are_declared() {
    let directory = tempfile::tempdir().unwrap();
    for (name, flag) in [("five", "-gdwarf-5"), ("four", "-gdwarf-4"), ("split", "-gsplit-dwarf")] {
        let program = build(directory.path(), name, &["-g", flag]);
        let symboliser = Symboliser::open(&program, &[]).unwrap();
        for (symbol, declared) in [
            ("_ZN5Outer6methodEi", "Outer::method(int n)"),
            ("_ZL14without_symboli", "without_symbol(int n)"),
            ("main", "int main("),
        ] {
            let function = symboliser.functions().all().iter().find(|f| f.symbol == symbol).unwrap();
            let found = symboliser.in_source(function.offset).unwrap();
            let line = 1 + MANY.lines().position(|line| line.starts_with(declared)).unwrap();
            assert_eq!(found.line as usize, line, "{name}: {symbol}");
            let lines = symboliser.lines_of(function.offset..function.end());
            assert!(lines.iter().all(|row| row.line != found.line) || symbol == "main", "{lines:?}");
            // It is one file, and called the same.
            assert_eq!(found.file, lines[0].file, "{name}");
        }
    }
}

#[test]
fn functions_without_symbols_have_names() {
    let directory = tempfile::tempdir().unwrap();
    let program = build(directory.path(), "bare", &["-g"]);
    run("strip", ["--strip-unneeded".as_ref(), "--keep-section=.debug*".as_ref(), program.as_os_str()]);
    let symboliser = Symboliser::open(&program, &[]).unwrap();
    let all = symboliser.functions().all();
    let names: Vec<_> = all
        .iter()
        .filter(|function| function.symbol.is_empty())
        .filter_map(|function| symboliser.in_source(function.offset)?.name)
        .collect();
    assert!(names.iter().any(|name| &**name == "without_symbol(int)"), "{names:?}");
}
