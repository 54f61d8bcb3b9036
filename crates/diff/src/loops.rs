//! Which loop of one profile is which of another.

use crate::pairing::Pairing;
use std::collections::HashMap;
use timewise_flow::{Analysis, InstructionId, LoopId};

/// Of a loop's instructions, the share whose partners must lie in the other loop, where the headers do not
/// tell.
const ENOUGH: f64 = 0.5;

/// Pairs the loops of two analyses whose instructions are paired: those whose headers begin with partners, and
/// of the rest those that have most of their code in common.
pub fn pair(base: &Analysis, test: &Analysis, instructions: &Pairing) -> Pairing {
    let mut pairing = Pairing::new(base.forest.loops.len(), test.forest.loops.len());
    // Loops that share a header differ in their depth: outer ones come first in both lists.
    pairing.by_key(|id| instructions.of_base(header(base, id)), |id| Some(header(test, id)));
    let mut found = by_code(base, test, instructions, &pairing);
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    for (_, base, test) in found {
        pairing.pair(base, test);
    }
    pairing
}

/// The first instruction of a loop's header.
fn header(analysis: &Analysis, id: u32) -> u32 {
    let block = analysis.forest.loops[id as usize].header;
    analysis.code.blocks[block.index()].first.0
}

/// Loops of BASE and TEST with the share of their own instructions, without inner loops, that are partners.
fn by_code(
    base: &Analysis,
    test: &Analysis,
    instructions: &Pairing,
    pairing: &Pairing,
) -> Vec<(f64, u32, u32)> {
    let (ours, theirs) = (sizes(base), sizes(test));
    let mut common: HashMap<(LoopId, LoopId), u32> = HashMap::new();
    for id in 0..base.code.instructions.len() as u32 {
        let Some(partner) = instructions.of_base(id) else { continue };
        let innermost = (innermost(base, InstructionId(id)), innermost(test, InstructionId(partner)));
        if let (Some(ours), Some(theirs)) = innermost {
            *common.entry((ours, theirs)).or_default() += 1;
        }
    }
    let free = common.into_iter().filter(|((ours, theirs), _)| pairing.is_free(ours.0, theirs.0));
    let shares = free.map(|((a, b), both)| {
        let all = ours[a.index()].max(theirs[b.index()]);
        (f64::from(both) / f64::from(all), a.0, b.0)
    });
    shares.filter(|(share, ..)| *share >= ENOUGH).collect()
}

fn sizes(analysis: &Analysis) -> Vec<u32> {
    let mut sizes = vec![0; analysis.forest.loops.len()];
    for id in 0..analysis.code.instructions.len() as u32 {
        if let Some(innermost) = innermost(analysis, InstructionId(id)) {
            sizes[innermost.index()] += 1;
        }
    }
    sizes
}

/// The innermost loop around an instruction.
pub fn innermost(analysis: &Analysis, id: InstructionId) -> Option<LoopId> {
    analysis.forest.innermost[analysis.code.instructions[id.index()].block.index()]
}
