//! The profilers that papers A and B compare: a policy, and the events that it reports.

use timewise_trace::Psv;

use crate::policy::{LastCommitted, NextCommitting, Policy, Sharing, Stage, Tagged, TimeProportional};

/// Who a profiler blames for a sampled cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blame {
    /// The instructions whose latency is exposed.
    TimeProportional,
    /// The oldest of these.
    TimeProportionalOldest,
    /// The instruction that commits next.
    Next,
    /// Those that commit next, together.
    NextGroup,
    /// The instruction that committed last.
    Last,
    /// The instruction at dispatch.
    Dispatch,
    /// The instruction at fetch.
    Fetch,
}

impl Blame {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::TimeProportional,
        Self::TimeProportionalOldest,
        Self::Next,
        Self::NextGroup,
        Self::Last,
        Self::Dispatch,
        Self::Fetch,
    ];

    /// The policy, having seen nothing.
    pub fn policy(self) -> Box<dyn Policy> {
        match self {
            Self::TimeProportional => Box::new(TimeProportional::new(Sharing::Equal)),
            Self::TimeProportionalOldest => Box::new(TimeProportional::new(Sharing::Oldest)),
            Self::Next => Box::new(NextCommitting::new(Sharing::Oldest)),
            Self::NextGroup => Box::new(NextCommitting::new(Sharing::Equal)),
            Self::Last => Box::new(LastCommitted::default()),
            Self::Dispatch => Box::new(Tagged::new(Stage::Dispatch)),
            Self::Fetch => Box::new(Tagged::new(Stage::Fetch)),
        }
    }
}

/// A profiler of the papers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Technique {
    /// The name that the papers give it.
    pub name: &'static str,
    /// Who it blames.
    pub blame: Blame,
    /// The events that it reports with an instruction; none for those that tell only where time goes.
    pub events: Psv,
}

const fn technique(name: &'static str, blame: Blame, events: Psv) -> Technique {
    Technique { name, blame, events }
}

/// The events of loads that all of paper B's techniques report, and mispredictions.
const LOADS: Psv = Psv::FL_MB.union(Psv::ST_L1).union(Psv::ST_TLB).union(Psv::ST_LLC);
const FRONT: Psv = Psv::DR_L1.union(Psv::DR_TLB);

impl Technique {
    /// The profilers of paper A, section 5, which tell where time goes.
    pub const WHERE: [Self; 7] = [
        technique("TIP", Blame::TimeProportional, Psv::BASE),
        technique("TIP-ILP", Blame::TimeProportionalOldest, Psv::BASE),
        technique("NCI", Blame::Next, Psv::BASE),
        technique("NCI+ILP", Blame::NextGroup, Psv::BASE),
        technique("LCI", Blame::Last, Psv::BASE),
        technique("Dispatch", Blame::Dispatch, Psv::BASE),
        technique("Software", Blame::Fetch, Psv::BASE),
    ];

    /// The techniques of paper B, section 5, which also tell why, with their event sets (table B.1).
    pub const WHY: [Self; 5] = [
        technique("TEA", Blame::TimeProportional, Psv::ALL),
        technique("NCI-TEA", Blame::Next, Psv::ALL),
        technique("IBS", Blame::Dispatch, LOADS.union(FRONT)),
        technique("SPE", Blame::Dispatch, LOADS.union(Psv::FL_EX)),
        technique("RIS", Blame::Fetch, LOADS.union(FRONT).union(Psv::DR_SQ)),
    ];

    /// All of both papers.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::WHERE.into_iter().chain(Self::WHY)
    }
}

#[cfg(test)]
mod tests {
    use super::Technique;

    #[test]
    fn event_sets_are_as_large_as_paper_b_says() {
        let sizes = Technique::WHY.map(|technique| (technique.name, technique.events.count()));
        assert_eq!(sizes, [("TEA", 9), ("NCI-TEA", 9), ("IBS", 6), ("SPE", 5), ("RIS", 7)]);
    }
}
