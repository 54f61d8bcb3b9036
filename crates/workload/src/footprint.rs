//! How much code it takes to account for most of what was executed (CQ section 0.2.3).

use std::cmp::Reverse;
use std::collections::BTreeSet;
use timewise_flow::{Analysis, InstructionId};

/// Code of which a share of all executed instructions is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Instructions.
    pub instructions: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Cache lines of 64 bytes that they touch.
    pub lines: u64,
    /// Pages of 4,096 bytes.
    pub pages: u64,
    /// Functions.
    pub functions: u64,
}

/// The share that the paper asks for.
pub const SHARE: f64 = 0.95;

/// The fewest instructions that account for a share of all that were executed, 0 to 1.
pub fn footprint(analysis: &Analysis, share: f64) -> Footprint {
    let code = &analysis.code;
    let executions = |id: &InstructionId| code.executions(*id);
    let mut all: Vec<InstructionId> = (0..code.instructions.len() as u32).map(InstructionId).collect();
    all.retain(|id| executions(id) > 0);
    all.sort_by_key(|id| (Reverse(executions(id)), *id));
    let enough = share * code.instructions_executed() as f64;
    let (mut executed, mut footprint) = (0.0, Footprint::default());
    let (mut lines, mut pages, mut functions) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for id in all {
        if executed >= enough {
            break;
        }
        executed += executions(&id) as f64;
        let (place, length) = (code.place(id), u64::from(code.instructions[id.index()].step.length));
        footprint.instructions += 1;
        footprint.bytes += length;
        for byte in [place.offset.0, place.offset.0.saturating_add(length.saturating_sub(1))] {
            lines.insert((place.module, place.version, byte / 64));
            pages.insert((place.module, place.version, byte / 4096));
        }
        functions.insert(analysis.owner[analysis.block_of(id).index()]);
    }
    let count = |length: usize| length as u64;
    footprint.lines = count(lines.len());
    footprint.pages = count(pages.len());
    footprint.functions = count(functions.len());
    footprint
}
