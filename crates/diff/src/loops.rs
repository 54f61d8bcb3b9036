//! Which loop of one profile is which of another.

use crate::lines::Lines;
use crate::pairing::Pairing;
use std::collections::HashMap;
use timewise_flow::{Analysis, InstructionId, LoopId};

/// Of a loop's instructions, the share whose partners must lie in the other loop, where the headers do not
/// tell. Likewise of its lines.
const ENOUGH: f64 = 0.5;

/// A line that more loops have, as one of a function that is inlined everywhere, does not tell them apart.
const MOST_COPIES: usize = 128;

/// Pairs the loops of two analyses whose instructions are paired: those whose headers begin with partners, and
/// of the rest those that have most of their code in common.
pub fn pair(base: &Analysis, test: &Analysis, instructions: &Pairing) -> Pairing {
    let mut pairing = Pairing::new(base.forest.loops.len(), test.forest.loops.len());
    // Loops that share a header differ in their depth: outer ones come first in both lists.
    pairing.by_key(|id| instructions.of_base(header(base, id)), |id| Some(header(test, id)));
    pairing.best_first(by_code(base, test, instructions, &pairing));
    pairing
}

/// Pairs loops in whose instructions two compilers have little in common by their source: those of paired functions that
/// have the same first and last line, then those that have most of their own lines in common, in functions that are a pair
/// first. Of several that have as many, as where a loop was inlined more than once, those that ran most alike.
pub fn pair_by_lines(
    (base, base_lines): (&Analysis, &Lines),
    (test, test_lines): (&Analysis, &Lines),
    lines: &Pairing,
    routines: &Pairing,
    pairing: &mut Pairing,
) {
    by_range((base, base_lines), (test, test_lines), lines, routines, pairing);
    let (ours, theirs) = (own_lines(base, base_lines), own_lines(test, test_lines));
    let mut of_line: HashMap<u32, Vec<u32>> = HashMap::new();
    for partner in pairing.free_of_test() {
        let own = theirs[partner as usize].iter();
        own.for_each(|line| of_line.entry(*line).or_default().push(partner));
    }
    of_line.retain(|_, loops| loops.len() <= MOST_COPIES);
    let mut found: Vec<(bool, f64, f64, u32, u32)> = Vec::new();
    for id in pairing.free_of_base() {
        let mut common: HashMap<u32, usize> = HashMap::new();
        for line in ours[id as usize].iter().filter_map(|line| lines.of_base(*line)) {
            let loops = of_line.get(&line).into_iter().flatten();
            loops.for_each(|partner| *common.entry(*partner).or_default() += 1);
        }
        for (partner, both) in common {
            let all = ours[id as usize].len().max(theirs[partner as usize].len());
            let share = both as f64 / all as f64;
            if share >= ENOUGH {
                let routine = |of: &Analysis, id: u32| of.forest.loops[id as usize].routine.0;
                let is_moved = routines.of_base(routine(base, id)) != Some(routine(test, partner));
                found.push((is_moved, -share, apart(base, test, id, partner), id, partner));
            }
        }
    }
    found.sort_by(|a, b| {
        let by_place = a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2));
        by_place.then((a.3, a.4).cmp(&(b.3, b.4)))
    });
    found.into_iter().for_each(|(.., base, test)| pairing.pair(base, test));
}

/// Loops of paired functions that have the same first and last line, the outer one first of several.
fn by_range(
    (base, base_lines): (&Analysis, &Lines),
    (test, test_lines): (&Analysis, &Lines),
    lines: &Pairing,
    routines: &Pairing,
    pairing: &mut Pairing,
) {
    let source = |analysis: &Analysis, of: &Lines, id: u32| {
        let routine = analysis.forest.loops[id as usize].routine;
        let module = analysis.routines[routine.index()].place.module;
        let (first, last) = analysis.lines_of_loop(LoopId(id))?;
        let at = |line| of.all.binary_search(&(module, line)).ok().map(|at| at as u32);
        Some((routine.0, at(first)?, at(last)?))
    };
    let ours = |id| {
        let (routine, first, last) = source(base, base_lines, id)?;
        Some((routines.of_base(routine)?, lines.of_base(first)?, lines.of_base(last)?))
    };
    pairing.by_key(ours, |id| source(test, test_lines, id));
}

/// The lines of each loop that are in no inner loop, in order.
fn own_lines(analysis: &Analysis, lines: &Lines) -> Vec<Vec<u32>> {
    let mut own = vec![Vec::new(); analysis.forest.loops.len()];
    for (id, line) in lines.of.iter().enumerate() {
        if let (Some(innermost), Some(line)) = (innermost(analysis, InstructionId(id as u32)), line) {
            own[innermost.index()].push(*line);
        }
    }
    for lines in &mut own {
        lines.sort_unstable();
        lines.dedup();
    }
    own
}

/// How far apart two loops are in how often they were entered and went around, as the larger of both shares.
pub fn apart(base: &Analysis, test: &Analysis, ours: u32, theirs: u32) -> f64 {
    let (ours, theirs) = (&base.forest.loops[ours as usize], &test.forest.loops[theirs as usize]);
    let share = |a: u64, b: u64| a.abs_diff(b) as f64 / a.max(b).max(1) as f64;
    share(ours.invocations, theirs.invocations).max(share(ours.iterations, theirs.iterations))
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
