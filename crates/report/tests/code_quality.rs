//! What the screens of `timewise mix` and `timewise waste` say of counts that are not exact.

use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::Profile;
use timewise_report::mix::{self, Mixed};
use timewise_report::{Style, waste};

/// Both screens of a program whose counts are as `change` says.
fn screens(change: impl FnOnce(&mut Profile)) -> [String; 2] {
    let mut profile = sketch(
        "function f at 0x1000 size 0x10
         block a at 0x1000 runs 10 code 4889d8 4889c8
         edge - -> a external 10",
    )
    .unwrap();
    change(&mut profile);
    let analysis = Analysis::new(&profile, None);
    let found = timewise_workload::waste(&analysis);
    [
        mix::text(&Mixed::new(&analysis), None, Style::default()),
        waste::text(&analysis, &found, None, Style::default()),
    ]
}

#[test]
fn counts_that_are_not_exact_are_said_to_be_so() {
    for text in screens(|_| {}) {
        assert!(!text.contains("warning"), "{text}");
    }
    for text in screens(|profile| profile.processes[1].count_uncertainty = 1) {
        assert!(text.contains("executions of a block are exact to within 1"), "{text}");
    }
    for text in screens(|profile| profile.runs[1].counts_complete = false) {
        assert!(text.contains("warning: counts are not complete"), "{text}");
    }
}
