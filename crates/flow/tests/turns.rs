//! Which places are counted natively of a program that ran already.

use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_flow::turns::{Limits, places_to_tally};

const LIMITS: Limits = Limits { places: 4, cpu_seconds: 1.0, most_a_second: 10_000.0 };

/// Where places are, of a program that was counted for a second: `work` and `other` take the time, both below `all` or each
/// by itself, and loop often; each has a block that runs seldom beside its loop, and one further on.
fn places(limits: &Limits, are_below_all: bool) -> Vec<u64> {
    let (callers, caller, kind) = match are_below_all {
        true => ("from 0x3005", "all", "call"),
        false => ("", "-", "external"),
    };
    let function = |name: &str, at: u64, seldom: u64| {
        let (beside, alone) = (at + 0x10, at + 0x80);
        format!(
            "function {name} at {at:#x} size 0x100
             block {name} at {at:#x} runs 500000000 code 4831c9 75fb
             block {name}_beside at {beside:#x} runs {seldom} code 90 90
             block {name}_alone at {alone:#x} runs {seldom} code 90 90
             edge {caller} -> {name} {kind} 1200
             sample {:#x} 1000 {callers}\n",
            at + 3
        )
    };
    let profile = sketch(&format!(
        "clock cpu-clock:u 3e9 3e9 3e9 250000
         user sampling 1e9
         user counting 1e9
         function all at 0x3000 size 0x100
         block all at 0x3000 runs 1200 code 4831c9 ffd0
         block back at 0x3005 runs 1200 code 90
         edge - -> all external 1200
         {}{}",
        function("work", 0x1000, 1000),
        function("other", 0x2000, 1500)
    ))
    .unwrap();
    places_to_tally(&Analysis::new(&profile, None), limits).iter().map(|place| place.offset.0).collect()
}

fn chosen(limits: &Limits) -> Vec<u64> {
    let mut places = places(limits, true);
    places.sort_unstable();
    places
}

#[test]
fn places_stand_alone_in_their_lines_and_in_all_functions_that_take_the_time() {
    assert_eq!(chosen(&LIMITS), [0x1080, 0x2080, 0x3000]);
    assert_eq!(places(&LIMITS, false), [0; 0], "neither tells of the other");
}

#[test]
fn what_is_executed_too_seldom_or_too_often_is_no_place() {
    assert_eq!(chosen(&Limits { cpu_seconds: 0.22, ..LIMITS }), [0x2080, 0x3000], "1,136 are to be seen");
    assert_eq!(
        chosen(&Limits { cpu_seconds: 0.2, ..LIMITS }),
        [0; 0],
        "1,250, so none of what stands for all"
    );
    assert_eq!(chosen(&Limits { most_a_second: 2500.0, ..LIMITS }), [0x1080, 0x3000], "1,250 at most each");
    assert_eq!(chosen(&Limits { cpu_seconds: 0.01, ..LIMITS }), [0; 0]);
}
