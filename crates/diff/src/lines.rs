//! Which source line of one profile is which of another: lines move when code is put in above them, so lines
//! are paired by the instructions that were made from them.

use crate::pairing::Pairing;
use std::collections::HashMap;
use timewise_flow::lines::{SourceLine, line_at};
use timewise_flow::{Analysis, InstructionId};
use timewise_profile::ModuleId;

/// A source line as compiled into a module.
pub type ModuleLine = (ModuleId, SourceLine);

/// The lines of an analysis, and which of them each instruction belongs to.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// In order of module, file and number.
    pub all: Vec<ModuleLine>,
    /// Position in `all` of each instruction's line, by instruction; `None` where no line is known.
    pub of: Vec<Option<u32>>,
}

impl Lines {
    /// The lines of everything that was executed.
    pub fn new(analysis: &Analysis) -> Lines {
        let key = |id| {
            let place = analysis.code.place(InstructionId(id));
            line_at(analysis.profile, place).map(|line| (place.module, line))
        };
        let keys: Vec<Option<ModuleLine>> = (0..analysis.code.instructions.len() as u32).map(key).collect();
        let mut all: Vec<ModuleLine> = keys.iter().copied().flatten().collect();
        all.sort_unstable();
        all.dedup();
        let at = |key: ModuleLine| all.binary_search(&key).ok().map(|at| at as u32);
        let of = keys.iter().map(|key| key.and_then(at)).collect();
        Lines { all, of }
    }
}

/// Pairs lines whose instructions are partners, those with the most partners first.
pub fn pair(base: &Lines, test: &Lines, instructions: &Pairing) -> Pairing {
    let mut common: HashMap<(u32, u32), u32> = HashMap::new();
    for (id, line) in base.of.iter().enumerate() {
        let partner = instructions.of_base(id as u32).and_then(|partner| test.of[partner as usize]);
        if let (Some(ours), Some(theirs)) = (line, partner) {
            *common.entry((*ours, theirs)).or_default() += 1;
        }
    }
    let mut common: Vec<((u32, u32), u32)> = common.into_iter().collect();
    common.sort_unstable_by_key(|(lines, both)| (std::cmp::Reverse(*both), *lines));
    let mut pairing = Pairing::new(base.all.len(), test.all.len());
    for ((base, test), _) in common {
        pairing.pair(base, test);
    }
    pairing
}
