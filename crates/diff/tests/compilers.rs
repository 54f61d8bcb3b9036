//! Builds by two compilers compared: the same source, of which hardly two instructions are equal.

use timewise_diff::comparison::Row;
use timewise_diff::{Comparison, Grain, Thing};
use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::Profile;

/// A loop over a table in `sum`, and one in `main`: the code of one compiler.
fn one() -> Profile {
    sketch(
        "clock cpu-clock:u 3e9 3e9 3e9 250000
         function sum at 0x1000 size 0x40 file /src/a.c line 3
         function main at 0x2000 size 0x40 file /src/a.c line 20
         block enter at 0x1000 runs 10 code 4831c9
         block round at 0x1003 runs 1000 code 488b3433 4883c001 75eb
         block leave at 0x100d runs 10 code c3
         block start at 0x2000 runs 1 code 31c0
         block call at 0x2002 runs 10 code 4883c001 75eb
         block end at 0x2008 runs 1 code c3
         edge - -> start external 1
         edge start -> call fallthrough 1
         edge call -> enter call 10
         edge enter -> round fallthrough 10
         edge round -> round branch 990
         edge round -> leave fallthrough 10
         edge call -> call branch 9
         edge call -> end fallthrough 1
         line 0x1000 /src/a.c 4
         line 0x1003 /src/a.c 6
         line 0x1007 /src/a.c 7
         line 0x100d /src/a.c 9
         line 0x2000 /src/a.c 21
         line 0x2002 /src/a.c 23
         line 0x2008 /src/a.c 25
         sample 0x1003 100",
    )
    .unwrap()
}

/// The code of another one, which inlines `sum`, and attributes a part of its loop to a line that the first left out. Two
/// instructions of line 25 are by chance those that the first has for line 23.
fn other() -> Profile {
    sketch(
        "clock cpu-clock:u 3e9 3e9 3e9 250000
         function main at 0x2000 size 0x80 file /src/a.c line 20
         block start at 0x2000 runs 1 code ffc1 ffc9
         block enter at 0x2004 runs 10 code 4d85c0
         block round at 0x2007 runs 1000 code 660fefc0 660f6fc8 0f1f00 7fe1
         block next at 0x2014 runs 10 code 4d29c8 7de1
         block end at 0x2019 runs 1 code 4883c001 75e8
         block back at 0x201f runs 1 code c3
         edge - -> start external 1
         edge start -> enter fallthrough 1
         edge enter -> round fallthrough 10
         edge round -> round branch 990
         edge round -> next fallthrough 10
         edge next -> enter branch 9
         edge next -> end fallthrough 1
         edge end -> back fallthrough 1
         line 0x2000 /src/a.c 21
         line 0x2004 /src/a.c 23
         line 0x2007 /src/a.c 6
         line 0x200b /src/a.c 5
         line 0x200f /src/a.c 7
         line 0x2014 /src/a.c 23
         line 0x2019 /src/a.c 25
         sample 0x2007 120",
    )
    .unwrap()
}

fn compared<T>(with: impl FnOnce(&Comparison) -> T) -> T {
    compared_with(&other(), with)
}

fn compared_with<T>(test: &Profile, with: impl FnOnce(&Comparison) -> T) -> T {
    let base = one();
    let (base, test) = (Analysis::new(&base, None), Analysis::new(test, None));
    with(&Comparison::new(&base, &test).unwrap())
}

/// Numbers of lines that are one, in BASE and in TEST.
fn numbers(comparison: &Comparison) -> Vec<(Option<u32>, Option<u32>)> {
    let number = |thing: Option<Thing>| match thing {
        Some(Thing::Line((_, line))) => Some(line.line),
        _ => None,
    };
    let rows = comparison.rows(Grain::Line).into_iter();
    let mut lines: Vec<_> = rows.map(|row| (number(row.what.base), number(row.what.test))).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn lines_keep_their_numbers_where_functions_do() {
    let same = [6, 7, 21, 23, 25].map(|line| (Some(line), Some(line)));
    let expected =
        [&[(None, Some(5)), (Some(4), None)][..], &same[..2], &[(Some(9), None)], &same[2..]].concat();
    assert_eq!(compared(numbers), expected);
}

/// With three lines more above `main`, which is declared so much further down.
#[test]
fn lines_move_as_functions_do() {
    let moved = |line: &mut u32| *line += if *line >= 20 { 3 } else { 0 };
    let mut test = other();
    test.lines.iter_mut().for_each(|row| moved(&mut row.line));
    test.functions.iter_mut().for_each(|function| moved(&mut function.line));
    let lines = compared_with(&test, numbers);
    for line in [21, 23, 25] {
        assert!(lines.contains(&(Some(line), Some(line + 3))), "{lines:?}");
    }
}

#[test]
fn loops_of_the_same_lines_are_the_same_though_one_was_inlined() {
    compared(|comparison| {
        let rounds = |analysis: &Analysis, thing: Option<Thing>| match thing {
            Some(Thing::Loop(id)) => Some(analysis.forest.loops[id.index()].iterations),
            _ => None,
        };
        let both =
            |row: Row| (rounds(comparison.base, row.what.base), rounds(comparison.test, row.what.test));
        let mut loops: Vec<_> = comparison.rows(Grain::Loop).into_iter().map(both).collect();
        loops.sort_unstable();
        assert_eq!(loops, [(Some(10), Some(10)), (Some(1000), Some(1000))]);
    });
}

/// What of it is count and what cost is told by instructions that both sides have.
#[test]
fn time_of_what_was_compiled_otherwise_is_not_divided() {
    compared(|comparison| {
        for row in comparison.rows(Grain::Loop) {
            let parts = (row.change.by_count, row.change.by_cost);
            assert!(row.change.time.is_some() && parts == (None, None), "{row:?}");
        }
        assert_eq!((comparison.whole().by_count, comparison.whole().by_cost), (None, None));
    });
}

/// An instance of a template whose argument got another name is the same function, if its code is.
#[test]
fn templates_are_known_by_their_code_where_arguments_changed() {
    let named = |name: &str| {
        let mut profile = one();
        let sum = profile.functions.iter_mut().find(|function| function.name == "sum").unwrap();
        (sum.name, sum.symbol) = (name.into(), format!("_Z{name}"));
        profile
    };
    let pairs = |base: &str, test: &str| {
        let (base, test) = (named(base), named(test));
        let (base, test) = (Analysis::new(&base, None), Analysis::new(&test, None));
        let rows = Comparison::new(&base, &test).unwrap().rows(Grain::Function);
        rows.iter().filter(|row| row.what.base.is_some() && row.what.test.is_some()).count()
    };
    assert_eq!(pairs("ns::sum<Old>(Old)", "ns::sum<New, 3>(New)"), 2);
}
