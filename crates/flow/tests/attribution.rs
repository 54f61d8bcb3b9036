//! Who is charged with samples at the head of a block.

use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::{CodeVersion, ModuleId, Offset, Place};

/// Samples charged to the instructions at `offsets`; one sample is 1000 cycles.
fn charged(facts: &str, offsets: &[u64]) -> Vec<f64> {
    let clock = "clock cpu-clock:u 1e9 1e9 1e9 1000\nfunction f at 0x1000 size 0x1000\n";
    let profile = sketch(&format!("{clock}{facts}")).unwrap();
    let analysis = Analysis::new(&profile, None);
    let total: f64 = analysis.attributed.at.iter().map(|weight| weight.samples).sum();
    let taken: f64 = analysis.samples.at.iter().map(|weight| weight.samples).sum();
    assert!((total - taken).abs() < 1e-6 * taken, "{taken} samples became {total}");
    let at = |&offset: &u64| {
        let place = Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) };
        analysis.attributed.at[analysis.code.instruction_at(place).unwrap().index()].samples
    };
    offsets.iter().map(at).collect()
}

#[track_caller]
fn near(got: f64, want: f64) {
    assert!((got - want).abs() <= 0.01 * want.max(1.0), "{got} is not {want}");
}

/// `samples` at a block that jumps at 0x1000 and 0x1010 lead to, 900 and 100 times.
fn two_jumps(samples: u32) -> Vec<f64> {
    let facts = format!(
        "block a at 0x1000 runs 900 code eb3e
         block b at 0x1010 runs 100 code eb2e
         block c at 0x1040 runs 1000 code 90
         edge a -> c jump 900
         edge b -> c jump 100
         sample 0x1040 {samples}"
    );
    charged(&facts, &[0x1000, 0x1010])
}

#[test]
fn equal_instructions_share_by_count() {
    for samples in [1, 100, 10_000] {
        let shares = two_jumps(samples);
        near(shares[0], 0.9 * f64::from(samples));
        near(shares[1], 0.1 * f64::from(samples));
    }
}

#[test]
fn a_division_outweighs_a_jump_taken_as_often() {
    let facts = "block a at 0x1000 runs 1000 code eb3e
         block b at 0x103d runs 1000 code 48f7f1
         block c at 0x1040 runs 2000 code 90
         edge a -> c jump 1000
         edge b -> c fallthrough 1000
         sample 0x1040 20";
    let shares = charged(facts, &[0x1000, 0x103d]);
    assert!(shares[1] > 18.0, "{shares:?}");
}

#[test]
fn a_cheap_candidate_takes_no_more_than_is_believable() {
    // The jump's 100,000 executions cost 100,000 cycles at most; the load takes the rest.
    let facts = "block a at 0x1000 runs 100000 code eb3e
         block b at 0x103d runs 1000 code 488b00
         block c at 0x1040 runs 101000 code 90
         edge a -> c jump 100000
         edge b -> c fallthrough 1000
         sample 0x1040 1000";
    let shares = charged(facts, &[0x1000, 0x103d]);
    assert!(shares[0] > 25.0 && shares[0] < 100.0, "{shares:?}");
}

/// A round of `dec; jne` takes a cycle and, where others use the core as well, two: that is no reason to think that the
/// `mov` before the loop took a thousand.
#[test]
fn what_exceeds_all_that_is_believable_was_slow_alike() {
    for cycles in [1, 2] {
        let facts = format!(
            "block a at 0x1000 runs 1000 code 4889f8
             block b at 0x1003 runs 100000000 code 48ffc875fb
             edge a -> b fallthrough 1000
             edge b -> b branch 99999000
             sample 0x1003 {}",
            100_000 * cycles
        );
        let samples = charged(&facts, &[0x1000, 0x1006]);
        assert!(samples[0] < 10.0, "{samples:?}");
        near(samples[1], f64::from(100_000 * cycles));
    }
}

#[test]
fn a_repeated_string_operation_is_its_own_cause() {
    let facts = "block a at 0x1000 runs 10 code 4889c1 f3a4 90
         edge - -> a call 10
         sample 0x1003 500
         sample 0x1005 7";
    assert_eq!(charged(facts, &[0x1000, 0x1003, 0x1005]), [0.0, 507.0, 0.0]);
}

#[test]
fn where_nothing_came_before_the_sampled_instruction_is_charged() {
    let facts = "block a at 0x1000 runs 3 code 90 90\nedge - -> a external 3\nsample 0x1000 5";
    assert_eq!(charged(facts, &[0x1000, 0x1001]), [5.0, 0.0]);
}

#[test]
fn calls_and_returns_are_predecessors() {
    let facts = "block caller at 0x1000 runs 10 code 90 e8fa0f0000
         block after at 0x1006 runs 10 code 90 c3
         block callee at 0x1100 runs 10 code 90 c3
         edge caller -> callee call 10
         edge callee -> after return 10
         sample 0x1100 4
         sample 0x1006 6";
    assert_eq!(charged(facts, &[0x1001, 0x1101]), [4.0, 6.0]);
}

#[test]
fn an_uncertain_division_widens_only_what_it_divides() {
    let profile = sketch(
        "clock cpu-clock:u 1e9 1e9 1e9 1000
         function f at 0x1000 size 0x100
         block a at 0x103a runs 1000 code 488b00
         block b at 0x103d runs 1000 code 488b00
         block c at 0x1040 runs 2000 code 90 c3
         edge a -> c jump 1000
         edge b -> c fallthrough 1000
         sample 0x1040 1000",
    )
    .unwrap();
    let analysis = Analysis::new(&profile, None);
    let width = |cost: &timewise_flow::Cost| {
        let cycles = analysis.ruler.cycles(cost);
        (cycles.high - cycles.low) / cycles.value
    };
    let each = width(&analysis.by_instruction()[0]);
    let together = width(&analysis.by_routine()[0]);
    assert!(each > 0.3 && together < 0.13, "{each} {together}");
}
