//! Branches taken, by where they stand and lead to, as counting and as tracing has them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use timewise_isa::{Control, walk};
use timewise_profile::{EdgeKind, ModuleKind, Place, Profile};

/// A place that is the same in several profiles: the path of a file, and an offset in it.
pub type Spot = (String, u64);

/// A branch and where it led.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// The branch.
    pub from: Spot,
    /// Where it led.
    pub to: Spot,
}

impl fmt::Display for Edge {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let name = |spot: &Spot| spot.0.rsplit('/').next().unwrap_or_default().to_string();
        let (from, to) = (&self.from, &self.to);
        write!(formatter, "{}+{:#x} to {}+{:#x}", name(from), from.1, name(to), to.1)
    }
}

/// How often each branch in code of files was taken.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    /// The branches.
    pub times: HashMap<Edge, u64>,
    /// Starts of functions, by path and offset.
    pub functions: BTreeMap<Spot, String>,
}

impl Edges {
    /// From exact counts.
    pub fn counted(profile: &Profile) -> Edges {
        let mut edges = Edges::in_functions_of(profile);
        let last = |block: &timewise_profile::Block| {
            let last = walk(&block.code, block.place.offset.0).last();
            last.filter(|step| step.control != Control::Next).map(|step| step.offset)
        };
        for edge in &profile.edge_counts {
            let goes_on =
                matches!(edge.kind, EdgeKind::Fallthrough | EdgeKind::SystemCall | EdgeKind::External);
            let (Some(from), Some(to), false) = (edge.from, edge.to, goes_on) else { continue };
            let (from, to) = (&profile.blocks[from.index()], &profile.blocks[to.index()]);
            let Some(branch) = last(from) else { continue };
            let mut place = from.place;
            place.offset.0 = branch;
            edges.add(profile, place, to.place, edge.count);
        }
        edges
    }

    /// From traces, as often as branches were seen (`false`) or by weight.
    pub fn traced(profile: &Profile, is_weighted: bool) -> Edges {
        let mut edges = Edges::in_functions_of(profile);
        for branch in &profile.taken_branches {
            let times = if is_weighted { branch.weight } else { branch.count };
            edges.add(profile, branch.from, branch.to, times);
        }
        edges
    }

    fn in_functions_of(profile: &Profile) -> Edges {
        let start = |function: &timewise_profile::Function| {
            Some((spot(profile, function.place)?, function.name.clone()))
        };
        Edges { times: HashMap::new(), functions: profile.functions.iter().filter_map(start).collect() }
    }

    fn add(&mut self, profile: &Profile, from: Place, to: Place, times: u64) {
        if let (Some(from), Some(to)) = (spot(profile, from), spot(profile, to))
            && times > 0
        {
            *self.times.entry(Edge { from, to }).or_default() += times;
        }
    }

    /// Adds those of another run of the same program.
    pub fn merge(&mut self, other: Edges) {
        for (edge, times) in other.times {
            *self.times.entry(edge).or_default() += times;
        }
        self.functions.extend(other.functions);
    }

    /// All of them together.
    pub fn total(&self) -> u64 {
        self.times.values().sum()
    }
}

/// A library that finds out how fine the clock is when it is loaded: where it branches depends on the time.
const TIMED: &[u8] = b"/libhwy.so";

/// Where a place lies, if it does in a file.
fn spot(profile: &Profile, place: Place) -> Option<Spot> {
    let module = &profile.modules[place.module.index()];
    let is_timed = module.path.windows(TIMED.len()).any(|part| part == TIMED);
    (module.kind == ModuleKind::File && !is_timed)
        .then(|| (String::from_utf8_lossy(&module.path).into_owned(), place.offset.0))
}
