//! A real profile of which bytes were changed: it is refused in one clear line, or every command has an answer.

use crate::command::Place;
use timewise_diff::Comparison;
use timewise_eventtree::CodeOf;
use timewise_export as export;
use timewise_flow::Analysis;
use timewise_profile::Profile;
use timewise_report::annotate::{self, SourceText};
use timewise_report::mix::{self, Mixed};
use timewise_report::{By, Request, Sort, Style, csv, diff, events, html, json, listing, summary, waste};

/// A program with a loop, calls, branches and a thread, so that every table has rows.
const PROGRAM: &str = r#"
#include <pthread.h>
static volatile unsigned sink;
static unsigned step(unsigned n) { return n % 7 ? n * 3 + 1 : n / 7; }
static void *work(void *unused) {
    for (unsigned i = 0; i < 30000000; i++) sink = step(i + sink);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    work(0);
    return pthread_join(thread, 0);
}
"#;

/// Bytes of the file's pages; the first holds what the file says of itself.
const PAGE: usize = 16384;

/// A profile of the program, and the bytes of its file.
fn recorded(place: &Place) -> (Profile, Vec<u8>) {
    place.write("busy.c", PROGRAM);
    let made = place.shell(
        "cc -g -O1 -pthread busy.c -o busy && timewise ostrace record -q -o events.tw -- ./busy &&
         timewise run -F 2000 -- ./busy",
    );
    assert_eq!(made.status, Some(0), "{}", made.stderr);
    let path = place.path().join("profile.tw");
    let mut profile = place.profile();
    profile.append(Profile::load(&place.path().join("events.tw")).unwrap());
    profile.save(&path).unwrap();
    assert!(!profile.os_events.is_empty());
    assert!(profile.samples.iter().any(|sample| sample.stack.is_some()) && !profile.call_costs.is_empty());
    (profile, std::fs::read(path).unwrap())
}

/// Numbers that seem to come from nowhere, the same each time (Marsaglia: Xorshift RNGs).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Changes a few bytes, on any pages alike: small tables have one each.
fn damage(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..=random.below(4) {
        let page = random.below(whole.len() / PAGE) * PAGE;
        let used: Vec<usize> = (page..page + PAGE).filter(|&at| whole[at] != 0).collect();
        if !used.is_empty() {
            let at = used[random.below(used.len())];
            bytes[at] = match random.below(3) {
                0 => bytes[at] ^ 1 << random.below(8),
                1 => [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
                _ => random.below(256) as u8,
            };
        }
    }
    bytes
}

/// Asks everything that a command can ask of a profile.
fn ask(profile: &Profile, former: &Analysis) {
    let analysis = Analysis::new(profile, None);
    for by in By::ALL {
        listing::report(&analysis, by, Some(25), Style::default());
        json::report(&analysis, by).unwrap();
        csv::report(&analysis, by).unwrap();
    }
    for by in [By::Function, By::Loop] {
        let request = Request { sort: Sort::Total, ..by.into() };
        listing::report(&analysis, request, None, Style::default());
    }
    summary::summary(&analysis, Style::default());
    summary::next(&analysis, None);
    html::page(&analysis, &|_, _| SourceText::Unknown).unwrap();
    let waste = timewise_workload::waste(&analysis);
    waste::text(&analysis, &waste, None, Style::default());
    waste::json(&analysis, &waste).unwrap();
    mix::csv(&Mixed::new(&analysis)).unwrap();
    let code: CodeOf = &|_, function| Some(vec![0x90; function.size.min(64) as usize]);
    let tree = timewise_eventtree::Comparison::new(profile, Some(former.profile));
    events::text(&tree, code, None, Style::default());
    events::json(&tree, code).unwrap();
    events::csv(&tree, code).unwrap();
    let calls = timewise_eventtree::calls(profile);
    events::calls_text(profile, &calls, timewise_eventtree::runs(profile), None, Style::default());
    if let Ok(routine) = annotate::find(&analysis, "work") {
        annotate::text(&analysis, routine, &|_, _| SourceText::Unknown, Style::default());
        annotate::json(&analysis, routine).unwrap();
    }
    export::callgrind::export(&analysis);
    export::folded::export(&analysis);
    export::pprof::export(&analysis);
    export::firefox::export(&analysis).unwrap();
    export::speedscope::export(&analysis).unwrap();
    export::csv::export(&analysis).unwrap();
    if let Ok(comparison) = Comparison::new(former, &analysis) {
        for by in diff::By::ALL {
            diff::text(&comparison, by, Some(25), Style::default());
        }
    }
    let mut twice = profile.clone();
    twice.append(profile.clone());
}

/// Damages the file so many times; how many of the files could be read.
fn damaged(cases: usize) -> usize {
    let place = Place::new();
    let (profile, whole) = recorded(&place);
    let former = Analysis::new(&profile, None);
    let path = place.path().join("damaged.tw");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut read = 0;
    for _ in 0..cases {
        std::fs::write(&path, damage(&whole, &mut random)).unwrap();
        match Profile::load(&path) {
            Ok(odd) => {
                ask(&odd, &former);
                read += 1;
            }
            Err(error) => {
                let message = error.to_string();
                assert!(
                    message.starts_with("cannot read the profile") && !message.contains('\n'),
                    "{message}"
                );
            }
        }
    }
    read
}

/// Files to damage: more, by `DAMAGED_PROFILES`, for who changed what reads or analyses profiles.
fn cases() -> usize {
    std::env::var("DAMAGED_PROFILES").map_or(40, |cases| cases.parse().expect("a number of files"))
}

#[test]
fn changed_bytes_are_refused_or_read() {
    let (cases, read) = (cases(), damaged(cases()));
    // Else nothing but the first check of all was tried.
    assert!(read > cases / 13, "{read} of {cases} were read");
}

#[test]
fn commands_refuse_or_answer() {
    let place = Place::new();
    let (_, whole) = recorded(&place);
    let mut random = Random(7);
    for case in 0..8 {
        place.write("damaged.tw", damage(&whole, &mut random));
        for command in [
            "report damaged.tw",
            "report damaged.tw --by instruction --format csv",
            "annotate damaged.tw work",
            "mix damaged.tw",
            "waste damaged.tw --format json",
            "export damaged.tw --to pprof",
            "diff profile.tw damaged.tw",
            "verify damaged.tw",
            "ostrace report damaged.tw --by tree",
            "ostrace compare profile.tw damaged.tw",
        ] {
            let outcome = place.shell(&format!("timewise {command}"));
            assert!(matches!(outcome.status, Some(0 | 2 | 3)), "{case} {command}: {}", outcome.stderr);
            assert!(outcome.stderr.lines().count() <= 1, "{case} {command}: {}", outcome.stderr);
        }
    }
}
