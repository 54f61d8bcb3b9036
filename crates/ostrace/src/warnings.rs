//! What a reader must know of a recording, in words.

use crate::price::Price;
use crate::recorder::Recorder;
use timewise_callers::stacks_left_out;
use timewise_profile::CallStacks;

/// What limits a recording: first of all, what it costs.
pub fn of(recorder: &Recorder, elapsed_ns: u64, price: Price) -> Vec<String> {
    let mut said = vec![cost(recorder.calls, elapsed_ns, price)];
    said.extend(lost(recorder.lost));
    said.extend(recorder.walk.iter().flat_map(|walk| of_stacks(walk.taken())));
    said.extend(recorder.walk.as_ref().and_then(|walk| stacks_left_out(walk.left_out())));
    said.extend((recorder.unnamed() > 0).then(|| {
        format!(
            "{} events do not tell what they were about: names would have taken too much memory",
            recorder.unnamed()
        )
    }));
    said.extend(recorder.without_rights.iter().map(|path| {
        format!(
            "{} ran without the rights that its file gives (setuid, setcap), which the system denies to a program \
             under observation: run timewise as root",
            String::from_utf8_lossy(path)
        )
    }));
    said
}

/// Of more than this share, it is not told how much: what is measured on others' calls is not that exact.
const NEARLY_ALL: f64 = 0.9;

fn cost(calls: u64, elapsed_ns: u64, price: Price) -> String {
    let added = price.added();
    let share = calls as f64 * added.as_nanos() as f64 / elapsed_ns.max(1) as f64;
    let share = match share {
        ..NEARLY_ALL => format!("{:.0} %", 100.0 * share),
        _ => "nearly all".into(),
    };
    format!(
        "recording makes each system call {:.1} µs longer here at least (one that does nothing), which is {share} of the \
         elapsed time: times of what calls often are too long by that",
        added.as_secs_f64() * 1e6,
    )
}

/// The share of call stacks without their outermost callers that is worth a word.
const NOTABLE_LOSS: f64 = 0.05;

fn of_stacks(stacks: &CallStacks) -> impl Iterator<Item = String> {
    let told = |part: u64, why: &str| {
        let share = part as f64 / stacks.taken.max(1) as f64;
        (share >= NOTABLE_LOSS).then(|| format!("{:.1} % of the call stacks {why}", 100.0 * share))
    };
    let deep =
        told(stacks.cut_short, "are deeper than what is taken of them: their outermost callers are unknown");
    let broken = told(
        stacks.broken,
        "end in code that does not tell its caller, without unwind tables or frame pointers",
    );
    deep.into_iter().chain(broken)
}

fn lost(events: u64) -> Option<String> {
    (events > 0).then(|| format!("{events} further events were not kept: there was no room for them"))
}
