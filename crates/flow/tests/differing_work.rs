//! Runs that did different amounts of work: what is proved is said, and nothing else.

use timewise_flow::sketch::sketch;
use timewise_flow::{Analysis, Estimate, Mismatch};
use timewise_profile::{ClockScope, Exit, ModuleKind, Profile, RunId, RunKind, Tally};

/// A program whose sampling run took a second at 3 GHz, and whose counting run executed `instructions` and
/// took `counting_ns`.
fn quality(instructions: u64, counting_ns: u64) -> (Option<Mismatch>, Vec<String>) {
    quality_of("90", instructions, counting_ns)
}

fn quality_of(code: &str, instructions: u64, counting_ns: u64) -> (Option<Mismatch>, Vec<String>) {
    let text = format!(
        "clock cpu-clock:u 3e9 3e9 3e9 1000000
         function f at 0x1000 size 0x1000
         block a at 0x1000 runs {instructions} code {code}
         edge - -> a external 1
         sample 0x1000 1000
         user sampling 1e9
         user counting {counting_ns}
         output sampling 7
         output counting 7"
    );
    let quality = Analysis::new(&sketch(&text).unwrap(), None).quality;
    (quality.mismatch, quality.warnings)
}

#[test]
fn a_counting_run_that_was_faster_did_less() {
    let (mismatch, warnings) = quality(1_000_000_000, 250_000_000);
    assert_eq!(mismatch, Some(Mismatch::CountedLess(0.25)));
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.starts_with("the runs differ: the counting run took 0.25x the CPU time"), "{warning}");
    assert!(warning.contains("too high by 4.0x or more; make the program"), "{warning}");
    assert_eq!(quality(1_000_000_000, 850_000_000), (None, vec![]), "as much as noise may be");
    assert_eq!(quality(1_000_000_000, 0), (None, vec![]), "a run whose time is not known");
}

/// Where code lies may cost it half of its time.
#[test]
fn one_that_took_half_of_the_time_may_have_done_the_same() {
    let (mismatch, warnings) = quality(1_000_000_000, 500_000_000);
    assert_eq!(mismatch, None);
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.starts_with("the counting run took 0.50x the CPU time"), "{warning}");
    assert!(warning.contains("too high by 2.0x or more"), "{warning}");
}

/// `add dword [rbp-4], 1` may take an eighth of its time.
#[test]
fn what_reads_what_it_stores_may_be_faster() {
    assert_eq!(quality_of("8345fc01", 1_000_000_000, 110_000_000), (None, vec![]));
    let (mismatch, _) = quality_of("8345fc01", 1_000_000_000, 31_250_000);
    assert_eq!(mismatch, Some(Mismatch::CountedLess(0.25)));
}

#[test]
fn milliseconds_prove_nothing() {
    let text = "clock cpu-clock:u 3e9 3e9 3e9 1000000
        block a at 0x1000 runs 1000 code 90
        sample 0x1000 50
        user sampling 50e6
        user counting 10e6";
    assert_eq!(Analysis::new(&sketch(text).unwrap(), None).quality.mismatch, None);
}

#[test]
fn more_instructions_than_any_program_executes_in_that_time_are_more_work() {
    let (mismatch, warnings) = quality(30_000_000_000, 5_000_000_000);
    // A thousand samples have an upper limit of 1,064.
    let Some(Mismatch::CountedMore(per_cycle)) = mismatch else { panic!("{mismatch:?}") };
    assert!((per_cycle - 10.0 / 1.064).abs() < 0.01, "{per_cycle}");
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.starts_with("the runs differ: the counting run executed 9.4 instructions"), "{warning}");
    assert_eq!(quality(18_000_000_000, 5_000_000_000), (None, vec![]), "six a cycle may be");
}

#[test]
fn time_without_samples_counts_nevertheless() {
    let text = "clock cpu-clock:u 3e9 3e9 3e9 1000000
        block a at 0x1000 runs 6000000000 code 90
        sample 0x1000 10
        user sampling 2e9
        user counting 5e9";
    assert_eq!(Analysis::new(&sketch(text).unwrap(), None).quality.mismatch, None, "many short processes");
}

#[test]
fn one_run_alone_differs_from_nothing() {
    let text = "clock cpu-clock:u 3e9 3e9 3e9 1000000
        sample 0x1000 1000
        user sampling 1e9";
    let mut profile = sketch(text).unwrap();
    profile.runs.pop();
    profile.processes.pop();
    profile.threads.pop();
    assert_eq!(Analysis::new(&profile, None).quality.mismatch, None);
}

#[test]
fn generated_code_has_a_warning_of_its_own() {
    let text = "clock cpu-clock:u 3e9 3e9 3e9 1000000
        block a at 0x1000 runs 10 code 90
        sample 0x1000 40
        sample 0x2000 60";
    let mut profile = sketch(text).unwrap();
    let missed = Analysis::new(&profile, None).quality.warnings;
    assert!(missed.iter().any(|warning| warning.contains("60.0 % of the sampled time")), "{missed:?}");
    let mut generated = profile.modules[0].clone();
    generated.kind = ModuleKind::Jit;
    profile.modules.push(generated);
    for sample in profile.samples.iter_mut().skip(40) {
        sample.place.as_mut().unwrap().module = timewise_profile::ModuleId(1);
    }
    assert_eq!(Analysis::new(&profile, None).quality.warnings, Vec::<String>::new());
}

#[test]
fn the_end_of_every_run_is_compared() {
    let mut profile = sketch("block a at 0x1000 runs 10 code 90").unwrap();
    let mut again = profile.runs[1].clone();
    again.exit = timewise_profile::Exit::Code(3);
    profile.runs.push(again);
    let warnings = Analysis::new(&profile, None).quality.warnings;
    let want = "the runs differ: sampling ended with status 0, counting ended with status 3";
    assert_eq!(warnings, [want]);
}

/// A program that ran already, a second natively and one under count, in which a block was executed so often.
fn in_turns(executions: u64) -> Profile {
    let text = format!(
        "clock cpu-clock:u 3e9 3e9 3e9 1000000
         function f at 0x1000 size 0x1000
         block a at 0x1000 runs {executions} code 90
         edge - -> a external 1
         sample 0x1000 1000
         user sampling 8e8
         user counting 9e8"
    );
    let mut profile = sketch(&text).unwrap();
    assert_eq!(Analysis::new(&profile, None).quality.mismatch, None);
    for run in &mut profile.runs {
        (run.exit, run.elapsed_ns, run.kernel_ns) = (Exit::Unknown, 1_000_000_000, 0);
    }
    profile
}

/// Natively as busy as under count, it did less there by what counting slows it.
#[test]
fn turns_of_a_program_that_ran_already_are_no_equal_work() {
    let mut profile = in_turns(1_000_000_000);
    let quality = Analysis::new(&profile, None).quality;
    assert_eq!(quality.mismatch, Some(Mismatch::InTurns { native: Some(0.8), counted: Some(0.9) }));
    let [warning] = &quality.warnings[..] else { panic!("{:?}", quality.warnings) };
    assert!(warning.contains("0.80 processors natively and 0.90 under count"), "{warning}");
    // It used time that it had left.
    assert!(warning.contains("by more than these 1.12x") && !warning.contains("always busy"), "{warning}");
    let counting = profile.runs.iter_mut().find(|run| run.kind == RunKind::Counting).unwrap();
    counting.user_ns = 790_000_000;
    let warnings = Analysis::new(&profile, None).quality.warnings;
    assert!(
        warnings[0].contains("0.79 under count: what it did less of") && warnings.len() == 1,
        "{warnings:?}"
    );
    // Of a turn in which it ended, nobody knows what it used.
    profile.runs.iter_mut().filter(|run| run.kind == RunKind::Counting).for_each(|run| run.user_ns = 0);
    let mismatch = Analysis::new(&profile, None).quality.mismatch;
    assert_eq!(mismatch, Some(Mismatch::InTurns { native: Some(0.8), counted: None }));
    // Nor where there is none to know it of.
    profile.runs[0].kind = RunKind::Branches;
    let mismatch = Analysis::new(&profile, None).quality.mismatch;
    assert_eq!(mismatch, Some(Mismatch::InTurns { native: None, counted: None }));
}

/// Breakpoints tell how much more it did natively: costs are of as much, and their intervals hold what is not known of it.
#[test]
fn what_a_program_that_ran_already_does_natively_divides_its_costs() {
    let mut profile = in_turns(1000);
    let unscaled = Analysis::new(&profile, None);
    let before = unscaled.ruler.each(unscaled.ruler.cycles(&unscaled.whole()), 1000).unwrap();
    // Natively 250 in a tenth of a second, so 2,000 in 0.8: twice as much.
    let place = profile.blocks[0].place;
    let (executions, cpu_ns) = (250, 100_000_000);
    let tally = Tally { run: RunId(0), place, executions, cpu_ns, variance: 625 };
    profile.tallies = vec![tally, Tally { executions: 200, cpu_ns: 80_000_000, variance: 4, ..tally }];
    let analysis = Analysis::new(&profile, None);
    let turns = analysis.quality.turns.unwrap();
    assert_eq!((turns.places, analysis.quality.mismatch), (1, None));
    let Estimate { value, low, high } = turns.factor;
    let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-3, "{got} {want}");
    near(value, 2.0);
    // 1.96 standard deviations of 25 are 49.
    near(low, 2.0 * 201.0 / 250.0);
    near(high, 2.0 * 299.0 / 250.0);
    let after = analysis.ruler.each(analysis.ruler.cycles(&analysis.whole()), 1000).unwrap();
    near(after.value, before.value / value);
    near(after.low, before.low / high);
    near(after.high, before.high / low);
    let [warning] = &analysis.quality.warnings[..] else { panic!("{:?}", analysis.quality.warnings) };
    assert!(warning.contains("natively it did 2.00 times (1.61 to 2.39)"), "{warning}");
    assert!(analysis.quality.costs_hold());
}

/// Samples of 1 s of a program that used 2 s.
#[test]
fn costs_do_not_hold_where_time_is_missing() {
    let text = "clock cpu-clock:u 3e9 3e9 3e9 1000000
         block a at 0x1000 runs 1000 code 90
         sample 0x1000 1000
         user sampling 2e9
         user counting 2e9";
    let mut profile = sketch(text).unwrap();
    assert!(Analysis::new(&profile, None).quality.costs_hold(), "nothing was lost");
    profile.runs[0].lost_samples = 800;
    let quality = Analysis::new(&profile, None).quality;
    assert!((quality.missing_share - 800.0 / 1800.0).abs() < 1e-9 && !quality.costs_hold(), "{quality:?}");
    // Those of others, unless nothing but samples tells of the time, as in what perf recorded.
    profile.runs[0].user_ns = 1_000_000_000;
    assert_eq!(Analysis::new(&profile, None).quality.missing_share, quality.missing_share);
    profile.runs[0].clock.as_mut().unwrap().scope = Some(ClockScope::Processors);
    assert_eq!(Analysis::new(&profile, None).quality.missing_share, 0.0);
}
