//! Whether a profile's counts are true to themselves, to the code that they are of, and to the files that
//! hold this code.
//!
//! Each [`Kind`] of check looks at everything that it can look at and reports each [`Finding`]; nothing is
//! corrected or left out because another check failed. What [`Profile::check`] demands of every profile that is
//! loaded (ids that refer to rows, sums that fit) is taken for granted.

mod blocks;
mod branches;
mod costs;
mod edges;
mod events;
mod sums;

use crate::analysis::Analysis;
use std::collections::BTreeMap;
use timewise_profile::{BlockId, ModuleId, Place, ProcessId, Profile};

/// What is checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A block is entered, executed and left equally often, in each process.
    Conservation,
    /// A block's code is as many whole instructions as it says, of which only the last leads elsewhere.
    Decoding,
    /// A block's code stands in the module's file.
    Files,
    /// An edge goes where the last instruction of its block can lead, in the way that the edge says.
    Edges,
    /// A sample on counted code lies at the start of an instruction.
    Samples,
    /// A call's cost belongs to a call that was made, and is not more than the process executed.
    Costs,
    /// A traced branch stands in the module's file, and leads where it does there.
    Branches,
    /// Instructions by block, by function, by thread and in all are the same number.
    Totals,
    /// What the operating system did stands in the order of time.
    Events,
}

impl Kind {
    /// All of them, in the order in which they are reported.
    pub const ALL: [Kind; 9] = [
        Kind::Conservation,
        Kind::Decoding,
        Kind::Files,
        Kind::Edges,
        Kind::Samples,
        Kind::Costs,
        Kind::Branches,
        Kind::Totals,
        Kind::Events,
    ];
}

/// Something that contradicts something else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Where in the code; `None` if it concerns no single place.
    pub place: Option<Place>,
    /// In which process; `None` if in all.
    pub process: Option<ProcessId>,
    /// What contradicts what, in words.
    pub what: String,
}

/// What came of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Which.
    pub kind: Kind,
    /// How many things it looked at.
    pub checked: u64,
    /// What it found, in order of process and place as far as these are given.
    pub findings: Vec<Finding>,
}

impl Check {
    fn new(kind: Kind) -> Check {
        Check { kind, checked: 0, findings: Vec::new() }
    }

    fn find(&mut self, place: Option<Place>, process: Option<ProcessId>, what: String) {
        self.findings.push(Finding { place, process, what });
    }
}

/// The code of one module as it stands in a file now.
pub trait FileCode {
    /// The bytes at link-time offsets from `offset` on; `None` if the file does not hold as many.
    fn code(&self, offset: u64, length: usize) -> Option<&[u8]>;
}

/// All checks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// One for each kind, in the order of [`Kind::ALL`].
    pub checks: Vec<Check>,
}

impl Verdict {
    /// Whether nothing was found.
    pub fn is_consistent(&self) -> bool {
        self.checks.iter().all(|check| check.findings.is_empty())
    }
}

/// Checks a profile. Of `files`, those whose code can be compared; blocks and branches of other modules are not.
pub fn verify(analysis: &Analysis, files: &BTreeMap<ModuleId, Box<dyn FileCode>>) -> Verdict {
    let profile = analysis.profile;
    let check = |kind| match kind {
        Kind::Conservation => conservation(profile),
        Kind::Decoding => blocks::decoding(profile),
        Kind::Files => blocks::files(profile, files),
        Kind::Edges => edges::check(profile, &analysis.code),
        Kind::Samples => blocks::samples(profile, &analysis.code),
        Kind::Costs => costs::check(analysis),
        Kind::Branches => branches::check(profile, files),
        Kind::Totals => sums::check(analysis),
        Kind::Events => events::check(profile),
    };
    Verdict { checks: Kind::ALL.map(check).into() }
}

/// Where somebody else ended threads, a profile says by how much its counts may be off: so far it is no
/// contradiction.
fn conservation(profile: &Profile) -> Check {
    let mut check = Check::new(Kind::Conservation);
    check.checked = profile.block_counts.len() as u64;
    for one in profile.imbalances() {
        let allowed = u64::from(profile.processes[one.process.index()].count_uncertainty);
        let off = one.entered.abs_diff(one.executed).max(one.left.abs_diff(one.executed));
        if off > allowed {
            let what = format!("entered {}, executed {}, left {}", one.entered, one.executed, one.left);
            check.find(Some(place_of(profile, one.block)), Some(one.process), what);
        }
    }
    check
}

fn place_of(profile: &Profile, block: BlockId) -> Place {
    profile.blocks[block.index()].place
}

/// Instructions that each process executed, by its blocks.
fn executed(profile: &Profile) -> Vec<u64> {
    let mut all = vec![0u64; profile.processes.len()];
    for count in &profile.block_counts {
        let length = u64::from(profile.blocks[count.block.index()].instructions);
        let sum = &mut all[count.process.index()];
        *sum = sum.saturating_add(count.executions.saturating_mul(length));
    }
    all
}
