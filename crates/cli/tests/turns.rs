//! `run --pid` samples and counts a program in turns, and tells how much more it did natively.

use crate::command::{MEANWHILE, Place};
use timewise_flow::Analysis;
use timewise_profile::RunKind;

/// What breakpoints tell of how much more a program does natively is what it says itself of how much it did in the turns.
#[test]
fn it_does_as_much_more_natively_as_breakpoints_tell() {
    if timewise_sampler::tally::cost_of_a_hit().is_none() {
        return eprintln!("skipped: breakpoints are refused here, or never delivered");
    }
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/levels.c");
    let built = place.shell(&format!("cc -O1 -g '{source}' -o levels"));
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let outcome = place.shell(&format!(
        "{MEANWHILE} ./levels > log & pid=$!; trap 'kill -KILL $pid' EXIT
         worked 5; timewise run --pid $pid --for 12s; status=$?; worked 5; exit $status"
    ));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let profile = place.profile();
    // Newest first; the last line may not be whole.
    let log = place.read("log");
    let pair = |line: &str| {
        let (time, done) = line.split_once(' ')?;
        Some((time.parse().ok()?, done.parse().ok()?))
    };
    let log: Vec<(i64, f64)> = log.lines().rev().skip(1).filter_map(pair).collect();
    let done_until = |time: i64| {
        let before = log.partition_point(|(later, _)| *later > time);
        let ((begin, less), (end, more)) = (log[before], log[before - 1]);
        less + (more - less) * (time - begin) as f64 / (end - begin) as f64
    };
    let done_in = |kind: RunKind| {
        let runs = profile.runs.iter().filter(|run| run.kind == kind);
        let ends = runs.map(|run| (run.started_unix_ns, run.started_unix_ns + run.elapsed_ns as i64));
        ends.map(|(begin, end)| done_until(end) - done_until(begin)).sum::<f64>()
    };
    let said = done_in(RunKind::Sampling) / done_in(RunKind::Counting);
    let Some(turns) = Analysis::new(&profile, None).quality.turns else {
        let natively = profile.runs.iter().filter(|run| run.kind == RunKind::Sampling);
        let used_ns: u64 = natively.map(|run| run.user_ns).sum();
        // Of little time nothing can be told.
        assert!(used_ns < 3_000_000_000, "{}", outcome.stderr);
        return eprintln!("skipped: it had a processor for {used_ns} ns of six seconds");
    };
    // On a busy machine some of its time was better than other, and it was counted for little of it.
    assert!((0.8 * turns.factor.low..1.25 * turns.factor.high).contains(&said), "{said}, but {turns:?}");
}
