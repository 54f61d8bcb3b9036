//! Conditions, judged on runs whose events are known.

use crate::made::{made, run};
use timewise_eventtree::{Gate, GateError, Verdict};
use timewise_profile::OsEventKind::{Begin, Call, End};
use timewise_profile::ends::EndedOtherwise;
use timewise_profile::{Exit, Profile};

/// Runs with so many calls each, and of so many nanoseconds.
fn runs(all: &[(u64, u64)]) -> Profile {
    let one = |&(calls, elapsed_ns): &(u64, u64)| {
        let calls = (0..calls).map(|at| made(Call, "openat", 1 + at));
        let events: Vec<_> =
            [made(Begin, "", 0)].into_iter().chain(calls).chain([made(End, "", 1000)]).collect();
        let mut profile = run(&[(None, "/bin/app", &events)]);
        profile.runs[0].elapsed_ns = elapsed_ns;
        profile
    };
    let mut profiles = all.iter().map(one);
    let mut joined = profiles.next().unwrap();
    profiles.for_each(|next| joined.append(next));
    joined
}

fn judge(gate: &str, base: &[(u64, u64)], test: &[(u64, u64)]) -> Result<Verdict, GateError> {
    gate.parse::<Gate>().unwrap().judge(&runs(base), &runs(test))
}

#[test]
fn more_calls_are_more_than_none() {
    let verdict = judge("calls:openat>0%", &[(4, 9)], &[(5, 9)]).unwrap();
    assert_eq!((verdict.base, verdict.test, verdict.fails), (4.0, 5.0, true));
    let fails = |gate, test| judge(gate, &[(4, 9), (4, 9)], &[(test, 9), (test, 9)]).unwrap().fails;
    assert!(fails("calls:openat>24%", 5) && !fails("calls:openat>25%", 5) && !fails("calls:openat>0%", 4));
    assert!(!fails("calls:read>0%", 5));
    // Of 6 events in all, one more.
    assert!(fails("events>16%", 5) && !fails("events>17%", 5));
}

#[test]
fn what_varies_by_itself_fails_nothing() {
    let base = [(4, 100), (9, 180), (5, 110)];
    let fails = |gate, test: &[(u64, u64)]| judge(gate, &base, test).unwrap().fails;
    assert!(!fails("calls:openat>0%", &[(8, 9), (5, 9), (7, 9)]));
    assert!(!fails("elapsed>1%", &[(4, 150), (4, 120), (4, 160)]));
    assert!(fails("elapsed>1%", &[(4, 500), (4, 520), (4, 510)]));
    assert_eq!(judge("elapsed>1%", &base, &[(4, 500)]), Err(GateError::OneRun));
}

#[test]
fn what_ended_otherwise_or_was_not_kept_is_not_judged() {
    let gate: Gate = "events>0%".parse().unwrap();
    let ended = |exit| {
        let mut profile = runs(&[(4, 9), (4, 9)]);
        profile.runs[1].exit = exit;
        profile.runs[0].exit = Exit::Code(0);
        profile
    };
    let (fine, crashed) = (Exit::Code(0), Exit::Signal(11));
    assert!(gate.judge(&ended(fine), &ended(fine)).is_ok());
    let judged = gate.judge(&ended(fine), &ended(crashed));
    assert_eq!(judged, Err(EndedOtherwise { base: fine, test: crashed }.into()));
    let mut full = ended(fine);
    full.runs[1].lost_samples = 7;
    assert_eq!(gate.judge(&ended(fine), &full), Err(GateError::Truncated(7)));
}

#[test]
fn conditions_read_back_as_they_were_written() {
    for text in ["elapsed>5%", "events>0.5%", "calls:openat>0%"] {
        assert_eq!(text.parse::<Gate>().map(|gate| gate.to_string()), Ok(text.to_string()));
    }
    for text in ["", "elapsed", "elapsed>5", "calls>1%", "calls:>1%", "events>-1%", "events>NaN%", "time>1%"]
    {
        assert_eq!(text.parse::<Gate>(), Err(GateError::Grammar(text.to_string())), "{text}");
    }
}
