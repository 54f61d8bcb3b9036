//! Which function a block belongs to.

use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;

/// For each routine: its name, and how many blocks it has.
fn routines(facts: &str) -> Vec<(String, usize)> {
    let profile = sketch(facts).unwrap();
    let analysis = Analysis::new(&profile, None);
    let ids = (0..analysis.routines.len() as u32).map(timewise_flow::RoutineId);
    ids.map(|id| (analysis.name_of(id), analysis.routines[id.index()].blocks.len())).collect()
}

#[test]
fn a_cold_part_belongs_to_its_function() {
    let facts = "function f at 0x1000 size 0x20
         function f.cold at 0x2000 size 0x20
         function g at 0x2020 size 0x20
         block a at 0x1000 runs 5
         block b at 0x2000 runs 1
         block c at 0x2020 runs 1
         edge a -> b branch 1
         edge b -> a jump 1";
    assert_eq!(routines(facts), [("f".into(), 2), ("g".into(), 1)]);
}

/// Without symbols, code connected by jumps is one function, and what is called begins another, also
/// where a tail call jumps to it.
#[test]
fn stripped_code_is_split_at_call_targets() {
    let facts = "block a at 0x1000 runs 1 code 90 e8fa0f0000
         block b at 0x1006 runs 1 code 7502
         block c at 0x1008 runs 1 code e9f30f0000
         block callee at 0x2000 runs 2 code 90
         block tail at 0x2010 runs 2 code c3
         edge - -> a external 1
         edge a -> callee call 1
         edge callee -> tail jump 2
         edge tail -> b return 1
         edge b -> c fallthrough 1
         edge c -> callee jump 1";
    assert_eq!(routines(facts), [("sketch+0x1000".into(), 3), ("sketch+0x2000".into(), 2)]);
}

/// `exit` is called last in `a`, and does not come back.
#[test]
fn what_is_called_begins_a_function_also_behind_a_call_that_does_not_return() {
    let facts = "block a at 0x1000 runs 1 code 90 e8fa0f0000
         block next at 0x1006 runs 1 code e8f5ffffff
         block exit at 0x2000 runs 1 code 0f05
         block caller at 0x3000 runs 1 code e801e0ffff
         edge - -> caller external 1
         edge caller -> next call 1
         edge next -> a call 1
         edge a -> exit call 1";
    let names = ["sketch+0x1000", "sketch+0x1006", "sketch+0x2000", "sketch+0x3000"];
    assert_eq!(routines(facts).iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
}

#[test]
fn the_innermost_of_two_overlapping_functions_wins() {
    let facts = "function outer at 0x1000 size 0x100
         function inner at 0x1040 size 0x20
         block a at 0x1000 runs 1
         block b at 0x1040 runs 1
         block c at 0x1060 runs 1";
    assert_eq!(routines(facts), [("outer".into(), 2), ("inner".into(), 1)]);
}
