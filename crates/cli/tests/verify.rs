//! `timewise verify` of real profiles: true ones pass, damaged ones do not, and files that changed are named.

use crate::command::Place;
use timewise_profile::{Clock, ClockScope, Profile};

const PROGRAM: &str = r#"
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) static unsigned collatz(unsigned n) { return n < 2 ? 0 : 1 + collatz(n % 2 ? 3 * n + 1 : n / 2); }
int main(void) {
    unsigned steps = 0;
    for (unsigned n = 1; n < 1000; n++) steps += collatz(n);
    if (fork() == 0) return collatz(27);
    wait(0);
    return printf("%u\n", steps) < 0;
}
"#;

/// A true profile, in a place of its own.
fn counted() -> Place {
    let place = Place::new();
    place.write("steps.c", PROGRAM);
    let done = place.shell("cc -g -O1 steps.c -o steps && timewise count -q -- ./steps");
    assert_eq!((done.status, done.stdout.as_str()), (Some(0), "59431\n"), "{}", done.stderr);
    place
}

/// Saves the profile with `damage`; what `verify` says of it, with its status.
fn verdict(place: &Place, damage: impl FnOnce(&mut Profile)) -> (Option<i32>, String) {
    let mut profile = place.profile();
    damage(&mut profile);
    profile.save(&place.path().join("damaged.tw")).unwrap();
    let said = place.shell("timewise verify damaged.tw");
    assert_eq!(said.stderr, "");
    (said.status, said.stdout)
}

#[test]
fn true_profiles_pass_and_damaged_ones_do_not() {
    let place = counted();
    let (status, said) = verdict(&place, |_| {});
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("\nconsistent: "), "{said}");
    assert!(!said.contains("not compared"), "{said}");
    let wrong = |what: &str, damage: fn(&mut Profile)| {
        let (status, said) = verdict(&place, damage);
        assert_eq!(status, Some(3), "{what}: {said}");
        assert!(said.contains(&format!("\nNot so: {what}")) && said.contains("\nnot consistent: "), "{said}");
    };
    wrong("blocks entered", |profile| profile.edge_counts[7].count += 1);
    wrong("blocks of whole", |profile| profile.blocks[7].instructions += 1);
    wrong("blocks that stand", |profile| *profile.blocks[7].code.last_mut().unwrap() ^= 1);
    wrong("edges that go", |profile| {
        let call = profile.edge_counts.iter_mut().find(|edge| edge.kind == timewise_profile::EdgeKind::Call);
        call.unwrap().kind = timewise_profile::EdgeKind::Return;
    });
    wrong("costs of calls", |profile| profile.call_costs[0].instructions += 1 << 40);
    wrong("sums that agree", |profile| *profile.threads[0].instructions.as_mut().unwrap() += 1);
}

#[test]
fn programs_that_read_json_get_all_of_it() {
    let place = counted();
    let said = place.shell("timewise verify --format json");
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(said.status, Some(0));
    assert_eq!((&json["schema"], &json["consistent"]), (&"timewise-verify/1".into(), &true.into()));
    let checks = json["checks"].as_array().unwrap();
    let looked_at = |check: &&serde_json::Value| check["checked"].as_u64().unwrap() > 0;
    // Nothing was sampled, no branch traced, and no event of the system recorded.
    assert_eq!(checks.iter().filter(looked_at).count(), checks.len() - 3);
}

#[test]
fn time_that_was_not_sampled_is_told_and_no_contradiction() {
    let place = counted();
    let unsampled = |profile: &mut Profile| {
        profile.runs[0].user_ns = 10_000_000_000;
        profile.runs[0].clock = Some(Clock {
            event: "cpu-clock:u".into(),
            counts_cycles: false,
            precise_level: 0,
            frequency_hz: 250,
            scope: Some(ClockScope::Threads),
            core_hz: 3e9,
            core_hz_low: 3e9,
            core_hz_high: 3e9,
        });
    };
    let told = "the samples stand for 0.00 s, the system accounted 10.00 s";
    let (status, said) = verdict(&place, unsampled);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains(told), "{said}");
    let said = place.shell("timewise verify --format json damaged.tw").stdout;
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    let sentences = json["time_disagreements"].as_array().unwrap();
    assert!(sentences.len() == 1 && sentences[0].as_str().unwrap().starts_with(told), "{said}");
    assert_eq!(json["consistent"], true);
}

#[test]
fn files_that_are_gone_or_changed_are_named() {
    let place = counted();
    let rebuilt = place.shell("cc -O2 -DOTHER steps.c -o steps && timewise verify");
    assert_eq!(rebuilt.status, Some(0), "{}", rebuilt.stdout);
    assert!(rebuilt.stdout.contains("/steps: it was built again since"), "{}", rebuilt.stdout);
    let gone = place.shell("rm steps && timewise verify");
    assert_eq!(gone.status, Some(0), "{}", gone.stdout);
    assert!(gone.stdout.contains("/steps: it is gone"), "{}", gone.stdout);
}

#[test]
fn what_is_no_profile_is_bad_input() {
    let place = Place::new();
    let said = place.shell("timewise verify none.tw");
    assert_eq!((said.status, said.stderr.lines().count()), (Some(2), 1), "{}", said.stderr);
}
