//! Hints follow from what was measured, and only where the interval says so.

use timewise_flow::Analysis;
use timewise_flow::hints::{Finding, hints};
use timewise_flow::sketch::sketch;

fn found(text: &str) -> Vec<(&'static str, u64)> {
    let profile =
        sketch(&format!("clock cpu-clock:u 1e9 1e9 1e9 1000000\nfunction f at 0x1000 size 0x100\n{text}"))
            .unwrap();
    let analysis = Analysis::new(&profile, None);
    let named = |finding: &Finding| {
        let kind = match finding {
            Finding::Division(_) => "division",
            Finding::SlowLoad(_) => "slow load",
            Finding::CostlyBranch(..) => "branch",
            Finding::ShortTrips(_) => "trips",
        };
        (kind, analysis.code.place(finding.instruction(&analysis)).offset.0)
    };
    hints(&analysis).iter().map(named).collect()
}

/// A million rounds of: a load, a division, two instructions. A sample is a million cycles, so that one sample for
/// an instruction is a cycle for each of its executions.
fn round(samples: &str) -> String {
    format!(
        "block body at 0x1000 runs 1000000 code 488b3433 48f7f1 4831c1 75eb
         edge - -> body external 1
         edge body -> body branch 999999
         edge body -> - return 1
         {samples}"
    )
}

#[test]
fn slow_loads_and_divisions_are_named_when_their_interval_says_so() {
    // A sample names the instruction behind the one that is charged.
    assert_eq!(
        found(&round("sample 0x1004 400\nsample 0x1007 100")),
        [("slow load", 0x1000), ("division", 0x1004)]
    );
    assert_eq!(found(&round("sample 0x1004 24\nsample 0x1007 6")), [], "24 (15-36) cycles and 6 (2-13) each");
    assert_eq!(
        found(&round("sample 0x1004 40\nsample 0x1007 8000")),
        [("division", 0x1004)],
        "too little time"
    );
    assert_eq!(found(&round("sample 0x100a 400")), [], "an exclusive or is neither");
}

/// Sixty cycles each may be the division's, a thousand are not.
#[test]
fn a_division_that_takes_longer_than_any_waits_for_its_load() {
    let loads = |samples: &str| found(&round(samples).replace("48f7f1", "48f733"));
    assert_eq!(loads("sample 0x1007 60"), [("division", 0x1004)]);
    assert_eq!(loads("sample 0x1007 1000"), [("slow load", 0x1004)]);
    assert_eq!(found(&round("sample 0x1007 1000")), [("division", 0x1004)], "it loads nothing");
}

#[test]
fn without_counts_or_samples_there_are_no_hints() {
    assert_eq!(found(&round("")), []);
    assert_eq!(found("sample 0x1004 400"), []);
}

#[test]
fn runs_that_did_different_work_give_no_hints() {
    let differ = "sample 0x1004 400\nuser sampling 10e9\nuser counting 1e9";
    assert_eq!(found(&round(differ)), []);
}

/// A comparison, and a branch behind it that goes one way in `taken` of a million cases.
fn goes(taken: u64, comparison: &str, samples: &str) -> String {
    let rest = 1_000_000 - taken;
    format!(
        "block top at 0x1000 runs 1000000 code {comparison} 7507
         block left at 0x1005 runs {rest} code 31c0 4831c9 eb04
         block right at 0x100c runs {taken} code 31d2 4831c9 90
         edge - -> top external 1000000
         edge top -> left fallthrough {rest}
         edge top -> right branch {taken}
         {samples}"
    )
}

/// One with memory, with samples right behind the branch.
fn fused(taken: u64, cycles: u64) -> String {
    goes(taken, "397808", &format!("sample 0x1005 {cycles}"))
}

#[test]
fn a_load_that_is_fused_with_a_branch_is_told_where_wrong_predictions_do_not_explain_it() {
    assert_eq!(found(&fused(0, 400)), [("slow load", 0x1000)]);
    assert_eq!(found(&fused(500_000, 400)), [("slow load", 0x1000)]);
    assert_eq!(found(&fused(500_000, 15)), [("branch", 0x1003)]);
    assert_eq!(found(&fused(0, 10)), [], "ten cycles are no slow load");
    let locked = fused(0, 400).replace("397808", "f0832b01").replace("0x1005", "0x1006");
    assert_eq!(found(&locked), [], "what is locked is neither fused nor a load alone");
}

/// One of registers, with samples behind its successors' first instructions.
fn branch(taken: u64, behind: u64) -> String {
    goes(taken, "4839d8", &format!("sample 0x1007 {behind}\nsample 0x100e {behind}"))
}

#[test]
fn a_branch_whose_successors_carry_its_cost_is_named() {
    assert_eq!(found(&branch(500_000, 5)), [("branch", 0x1003)]);
    assert_eq!(found(&branch(500_000, 1)), [], "a cycle each is nothing");
    assert_eq!(found(&branch(1_000, 5)), [], "it goes one way nearly always");
    assert_eq!(found(&branch(70_000, 5)), [], "70,000 wrong predictions take less than 10 million cycles");
}

/// Behind a branch to both sides a load waits for it to be fetched, as anything does.
#[test]
fn a_load_behind_a_branch_is_slow_if_it_takes_longer_than_wrong_predictions_explain() {
    let loads = |taken, cycles: u64| {
        let behind = branch(taken, 0).replace("code 31c0 4831c9", "code 8b06 90 31c9");
        found(&format!("{behind}\nsample 0x1007 {cycles}"))
    };
    assert_eq!(loads(500_000, 10), [("branch", 0x1003)]);
    assert_eq!(loads(500_000, 200), [("slow load", 0x1005)], "400 cycles each are no wrong prediction");
    assert_eq!(loads(0, 40), [("slow load", 0x1005)], "nothing is predicted wrongly");
}

/// A load first at each of two targets of an indirect jump, with samples on it.
#[test]
fn behind_an_indirect_jump_a_load_waits_for_wrong_predictions_too() {
    let goes = |first: u64, cycles: u64| {
        let other = 1_000_000 - first;
        found(&format!(
            "block top at 0x1000 runs 1000000 code 31c0 ffe0
             block one at 0x1004 runs {first} code 8b06 90 31c9
             block two at 0x1009 runs {other} code 8b06 90 31c9
             edge - -> top external 1000000
             edge top -> one jump {first}
             edge top -> two jump {other}
             sample 0x1006 {cycles}"
        ))
    };
    let slow = [("slow load", 0x1004)];
    assert_eq!(goes(500_000, 10), [], "20 cycles each are a wrong prediction");
    assert_eq!(goes(500_000, 200), slow, "400 cycles each are none");
    assert_eq!(goes(1_000_000, 40), slow, "it always leads there");
}

/// A loop entered so often for so many rounds in all, with samples on its round.
fn short(invocations: u64, all: u64, samples: u64) -> String {
    format!(
        "block top at 0x1000 runs {invocations} code 31c0
         block body at 0x1002 runs {all} code 4831c9 4831c1 75f8
         block tail at 0x100a runs {invocations} code 4831c9
         edge - -> top external {invocations}
         edge top -> body fallthrough {invocations}
         edge body -> body branch {}
         edge body -> tail fallthrough {invocations}
         sample 0x1005 {samples}",
        all - invocations
    )
}

#[test]
fn loops_of_few_rounds_are_named_if_a_round_costs() {
    let trips = |finding: &(&str, u64)| finding.0 == "trips";
    let named = |text: &str| found(text).iter().filter(|finding| trips(finding)).count();
    assert_eq!(named(&short(1_000_000, 3_000_000, 60)), 1);
    assert_eq!(named(&short(1_000_000, 3_000_000, 20)), 0, "7 cycles a round");
    assert_eq!(named(&short(2_000_000, 2_500_000, 60)), 1, "it goes round in one case of four");
    assert_eq!(named(&short(2_000_000, 2_300_000, 60)), 0, "it hardly ever goes round");
    assert_eq!(named(&short(100_000, 3_000_000, 60)), 0, "30 rounds");
    assert_eq!(named(&short(1, 3, 60)), 0, "rounds so long that their beginning and end do not matter");
}
