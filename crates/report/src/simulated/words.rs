//! Components of cycle stacks in words.

use timewise_attribution::{Component, Kind, State};
use timewise_trace::Psv;

/// What events mean to a reader who does not know their short names.
const MEANINGS: [(Psv, &str); 9] = [
    (Psv::DR_L1, "instruction cache miss"),
    (Psv::DR_TLB, "instruction TLB miss"),
    (Psv::DR_SQ, "store queue full"),
    (Psv::FL_MB, "misprediction"),
    (Psv::FL_EX, "exception"),
    (Psv::FL_MO, "load before an older store"),
    (Psv::ST_L1, "L1 miss"),
    (Psv::ST_TLB, "TLB miss"),
    (Psv::ST_LLC, "last-level cache miss"),
];

/// What an event means, one of the nine.
pub fn meaning(event: Psv) -> &'static str {
    MEANINGS.iter().find(|(known, _)| *known == event).map_or("", |(_, meaning)| meaning)
}

/// The events that can be why an instruction has cycles in a state: one that was fetched late and then waits for its
/// operands does not wait for its fetch, nor does what follows a mispredicted branch wait for the branch's own load.
fn explaining(state: Option<State>) -> Psv {
    match state {
        // What it was subject to was hidden: commit did not wait for it.
        Some(State::Computing) => Psv::BASE,
        Some(State::Stalled) => Psv::ST_L1 | Psv::ST_TLB | Psv::ST_LLC,
        Some(State::Drained) => Psv::DR_L1 | Psv::DR_TLB | Psv::DR_SQ,
        Some(State::Mispredicted | State::Flushed) => Psv::FL_MB | Psv::FL_EX | Psv::FL_MO,
        None => Psv::ALL,
    }
}

/// Why an instruction of such a kind had the cycles of a component.
pub fn reason(component: Component, kind: Kind) -> String {
    let events = component.events() & explaining(component.state());
    // Who misses the last level has missed the first.
    let is_told = |event: &Psv| !(*event == Psv::ST_L1 && events.contains(Psv::ST_LLC));
    let mut words: Vec<&str> = MEANINGS
        .iter()
        .filter(|(event, _)| events.contains(*event) && is_told(event))
        .map(|(_, meaning)| *meaning)
        .collect();
    if words.is_empty() {
        words.push(match (component.state(), kind) {
            (Some(State::Stalled), Kind::Load) => "waits for operands or an L1 hit",
            (Some(State::Stalled), Kind::Store) => "waits for what it stores",
            (Some(State::Stalled), Kind::Other) => "waits for operands or its result",
            (Some(State::Drained), _) => "the front end is late",
            (Some(State::Mispredicted), _) => "misprediction",
            (Some(State::Flushed), _) => "flushes the pipeline",
            (Some(State::Computing), _) => "commits",
            (None, _) => "executes",
        });
    }
    words.join(" + ")
}

/// The short name of a commit state.
pub fn state_name(state: Option<State>) -> &'static str {
    match state {
        Some(State::Computing) => "computing",
        Some(State::Stalled) => "stalled",
        Some(State::Drained) => "drained",
        Some(State::Mispredicted) => "mispredicted",
        Some(State::Flushed) => "flushed",
        None => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::reason;
    use timewise_attribution::{Component, Kind, State};
    use timewise_trace::Psv;

    #[test]
    fn combined_events_are_told_together() {
        let stalled = |events| reason(Component::new(State::Stalled, events), Kind::Load);
        assert_eq!(stalled(Psv::ST_L1 | Psv::ST_TLB), "L1 miss + TLB miss");
        assert_eq!(stalled(Psv::ST_L1 | Psv::ST_LLC), "last-level cache miss");
        assert_eq!(stalled(Psv::BASE), "waits for operands or an L1 hit");
        assert_eq!(reason(Component::new(State::Computing, Psv::ST_L1), Kind::Load), "commits");
    }

    #[test]
    fn events_are_told_where_they_explain_the_state() {
        let all = |state| reason(Component::new(state, Psv::DR_L1 | Psv::FL_MB | Psv::ST_L1), Kind::Load);
        assert_eq!(all(State::Stalled), "L1 miss");
        assert_eq!(all(State::Drained), "instruction cache miss");
        assert_eq!(all(State::Mispredicted), "misprediction");
        let late = Component::new(State::Stalled, Psv::DR_L1);
        assert_eq!(reason(late, Kind::Other), "waits for operands or its result");
    }
}
