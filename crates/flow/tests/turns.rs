//! Which places are counted natively of a program that ran already.

use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_flow::turns::{Limits, places_to_tally};

const LIMITS: Limits = Limits { places: 4, cpu_seconds: 1.0, most_a_second: 10_000.0 };

/// Where places are, of a program that was counted for a second: `work` and `other` take the time, and loop often; each
/// has a block that runs seldom beside its loop, and one further on.
fn chosen(limits: &Limits) -> Vec<u64> {
    let function = |name: &str, at: u64, seldom: u64| {
        let (beside, alone) = (at + 0x10, at + 0x80);
        format!(
            "function {name} at {at:#x} size 0x100
             block {name} at {at:#x} runs 500000000 code 4831c9 75fb
             block {name}_beside at {beside:#x} runs {seldom} code 90 90
             block {name}_alone at {alone:#x} runs {seldom} code 90 90
             edge - -> {name} external 1
             sample {:#x} 1000\n",
            at + 3
        )
    };
    let profile = sketch(&format!(
        "clock cpu-clock:u 3e9 3e9 3e9 250000
         user sampling 1e9
         user counting 1e9
         {}{}",
        function("work", 0x1000, 1000),
        function("other", 0x2000, 1500)
    ))
    .unwrap();
    places_to_tally(&Analysis::new(&profile, None), limits).iter().map(|place| place.offset.0).collect()
}

#[test]
fn places_stand_alone_in_their_lines_and_in_all_functions_that_take_the_time() {
    let mut places = chosen(&LIMITS);
    places.sort_unstable();
    assert_eq!(places, [0x1080, 0x2080]);
}

#[test]
fn what_is_executed_too_seldom_or_too_often_is_no_place() {
    assert_eq!(chosen(&Limits { cpu_seconds: 0.2, ..LIMITS }), [0x2080], "1,250 are to be seen");
    assert_eq!(chosen(&Limits { most_a_second: 2200.0, ..LIMITS }), [0x1080], "1,100 at most each");
    assert_eq!(chosen(&Limits { cpu_seconds: 0.01, ..LIMITS }), [0; 0]);
}
