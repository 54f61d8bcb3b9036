//! What is said of two runs that were not alike: one warning, with what follows from it.

use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;

/// Warnings about a program of two blocks, of which one was counted.
fn warnings(facts: &str) -> Vec<String> {
    let common = "clock cpu-clock:u 1e9 1e9 1e9 1000
        function f at 0x1000 size 0x1000
        block a at 0x1000 runs 3 code 90 90
        edge - -> a external 3\n";
    Analysis::new(&sketch(&format!("{common}{facts}")).unwrap(), None).quality.warnings
}

const MISSED: &str = "20.0 % of the sampled time fell on code that the counting run never executed, and costs per \
                      execution are off by as much as the counts differ";

#[test]
fn runs_alike_need_no_warning() {
    assert!(warnings("sample 0x1001 99\nsample 0x2000 1\noutput sampling 7\noutput counting 7").is_empty());
}

#[test]
fn all_differences_are_one_warning() {
    let samples = "sample 0x1001 80\nsample 0x2000 20";
    let facts = format!("{samples}\nexit counting 1\noutput sampling 7\noutput counting 8");
    let ends = "sampling ended with status 0, counting ended with status 1";
    let want = format!("the runs differ: {ends}; they printed different output; {MISSED}");
    assert_eq!(warnings(&facts), [want]);
    assert_eq!(warnings(samples), [format!("the runs differ: {MISSED}")]);
}

#[test]
fn what_rounds_to_nothing_is_not_said() {
    let facts = "sample 0x1001 9999\nsample 0x2000 1\nexit counting 1";
    let want = "the runs differ: sampling ended with status 0, counting ended with status 1";
    assert_eq!(warnings(facts), [want]);
    assert_eq!(warnings("exit counting 1"), [want], "without samples nothing is known of the time");
}
