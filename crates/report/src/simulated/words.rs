//! Components of cycle stacks in words.

use timewise_attribution::{Component, Kind, State};
use timewise_flow::{Analysis, InstructionId};
use timewise_isa::{Control, Order, Work};
use timewise_trace::Psv;

/// What an instruction may wait for that was subject to no event: as much as the instruction itself tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// It is one step of memory for all others (`lock`, `xchg`).
    Locked,
    /// It pops where it goes.
    Return,
    /// What others of its kind wait for.
    Kind(Kind),
}

impl Waiting {
    /// That of an instruction.
    pub fn of(analysis: &Analysis, id: InstructionId) -> Waiting {
        let instruction = &analysis.code.instructions[id.index()];
        let block = &analysis.profile.blocks[instruction.block.index()];
        let bytes = || &block.code[(instruction.step.offset - block.place.offset.0) as usize..];
        let has_order = |order| timewise_isa::form(bytes(), 0).is_some_and(|form| form.order == order);
        match instruction.step.control {
            Control::Return { .. } => Waiting::Return,
            _ if instruction.step.work == Work::Serial && has_order(Order::Locked) => Waiting::Locked,
            _ => Waiting::Kind(analysis.kind_of(id)),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Waiting::Locked => "locked: waits for older stores",
            Waiting::Return => "waits for its return address",
            Waiting::Kind(Kind::Load) => "waits for operands, an older store, or an L1 hit",
            Waiting::Kind(Kind::Store) => "waits for what it stores",
            Waiting::Kind(Kind::Other) => "waits for operands or its result",
        }
    }
}

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

/// Why an instruction that may wait for this had the cycles of a component.
pub fn reason(component: Component, waiting: Waiting) -> String {
    let events = component.events() & explaining(component.state());
    // Who misses the last level has missed the first.
    let is_told = |event: &Psv| !(*event == Psv::ST_L1 && events.contains(Psv::ST_LLC));
    let mut words: Vec<&str> = MEANINGS
        .iter()
        .filter(|(event, _)| events.contains(*event) && is_told(event))
        .map(|(_, meaning)| *meaning)
        .collect();
    if words.is_empty() {
        words.push(match component.state() {
            Some(State::Stalled) => waiting.words(),
            Some(State::Drained) => "the front end is late",
            Some(State::Mispredicted) => "misprediction",
            Some(State::Flushed) => "flushes the pipeline",
            Some(State::Computing) => "commits",
            None => "executes",
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
    use super::{Waiting, reason};
    use timewise_attribution::{Component, Kind, State};
    use timewise_trace::Psv;

    #[test]
    fn combined_events_are_told_together() {
        let stalled = |events| reason(Component::new(State::Stalled, events), Waiting::Kind(Kind::Load));
        assert_eq!(stalled(Psv::ST_L1 | Psv::ST_TLB), "L1 miss + TLB miss");
        assert_eq!(stalled(Psv::ST_L1 | Psv::ST_LLC), "last-level cache miss");
        assert_eq!(stalled(Psv::BASE), "waits for operands, an older store, or an L1 hit");
        assert_eq!(
            reason(Component::new(State::Computing, Psv::ST_L1), Waiting::Kind(Kind::Load)),
            "commits"
        );
    }

    #[test]
    fn events_are_told_where_they_explain_the_state() {
        let all = |state| {
            reason(Component::new(state, Psv::DR_L1 | Psv::FL_MB | Psv::ST_L1), Waiting::Kind(Kind::Load))
        };
        assert_eq!(all(State::Stalled), "L1 miss");
        assert_eq!(all(State::Drained), "instruction cache miss");
        assert_eq!(all(State::Mispredicted), "misprediction");
        let late = Component::new(State::Stalled, Psv::DR_L1);
        assert_eq!(reason(late, Waiting::Kind(Kind::Other)), "waits for operands or its result");
    }
}
