//! Small profiles written by hand.

use super::*;
use timewise_flow::sketch::sketch;
use timewise_profile::{Profile, Run};

/// Removable executions and all, of each wasted instruction.
fn removable(profile: &Profile) -> Vec<[u64; 2]> {
    profile.check().unwrap();
    let found = waste(&Analysis::new(profile, None));
    found.instructions.iter().map(|wasted| [wasted.removable, wasted.of]).collect()
}

/// Blocks that lead round though something leads into them: no program does that so often, but a damaged profile may say it.
#[test]
fn counts_that_lead_round_for_ever_are_not_followed() {
    let profile = sketch(
        "function main at 0x1000 size 0x40
         block X at 0x1000 runs 5 code 4889d8 4889c8
         block A at 0x1006 runs 5 code 4889d8 4889c8
         block B at 0x100c runs 5 code 4889d8 4889c8
         edge X -> A fallthrough 5
         edge A -> B fallthrough 5
         edge B -> A fallthrough 5",
    );
    // Nothing reads `rax` at all.
    assert_eq!(removable(&profile.unwrap()), [[5, 5]; 6]);
}

/// `mov rax,rbx` is dead where the path goes by the block that overwrites `rax`, and in three runs it went elsewhere once.
#[test]
fn what_is_needed_once_in_several_runs_is_not_removable_each_time() {
    let profile = |elsewhere: u64| {
        let mut profile = sketch(&format!(
            "function main at 0x1000 size 0x40
             block head at 0x1000 runs 300 code 4889d8 7405
             block over at 0x1005 runs {} code 4889c8 eb03
             block end at 0x100a runs 300 code c3
             edge - -> head external 300
             edge head -> over fallthrough {0}
             edge over -> end jump {0}
             edge head -> end branch {elsewhere}
             edge end -> - return 300
             path - head over end ~ {0}
             path - head end ~ {elsewhere}",
            300 - elsewhere
        ))
        .unwrap();
        let run = profile.runs[1].clone();
        profile.runs.extend([run.clone(), Run { ..run }]);
        profile
    };
    assert_eq!(removable(&profile(0)), [[100, 100]]);
    assert_eq!(removable(&profile(1)), [[99, 100]]);
    assert_eq!(removable(&profile(30)), [[90, 100]]);
}

/// `g` is only ever reached by a jump from `f`, and its paths were counted.
#[test]
fn what_another_function_always_leads_to_is_told_once() {
    let profile = sketch(
        "function f at 0x1000 size 0x10\n\
         function g at 0x1010 size 0x10\n\
         block A at 0x1000 runs 10 code b801000000 eb09\n\
         block B at 0x1010 runs 10 code b905000000 b906000000 01c8 c3\n\
         edge - -> A external 10\n\
         edge A -> B jump 10\n\
         edge B -> - return 10\n\
         path - B - 10\n",
    )
    .unwrap();
    // The first of two values for one register.
    assert_eq!(removable(&profile), [[10, 10]]);
}
