//! Which code of BASE is which code of TEST, at every granularity.

use crate::align::{Token, align};
use crate::lines::Lines;
use crate::moves::Moves;
use crate::pairing::Pairing;
use crate::{copies, functions, lines, loops, modules};
use std::collections::HashMap;
use timewise_flow::{Analysis, InstructionId, RoutineId};

/// All pairs; ids are those of the analyses.
#[derive(Clone, Debug)]
pub struct Matching {
    /// Modules.
    pub modules: Pairing,
    /// Routines.
    pub routines: Pairing,
    /// Executed instructions.
    pub instructions: Pairing,
    /// Routines of BASE so long that some of their instructions may have no partner though they have one.
    pub narrowed: Vec<RoutineId>,
    /// Loops.
    pub loops: Pairing,
    /// Source lines, by their position in `base_lines` and `test_lines`.
    pub lines: Pairing,
    /// Lines of BASE.
    pub base_lines: Lines,
    /// Lines of TEST.
    pub test_lines: Lines,
}

impl Matching {
    /// Matches two analyses.
    pub fn new(base: &Analysis, test: &Analysis) -> Matching {
        let modules = modules::pair(base.profile, test.profile);
        let routines = functions::pair(base, test, &modules);
        let (mut instructions, narrowed) = instructions(base, test, &routines);
        let mut loops = loops::pair(base, test, &instructions);
        copies::uncross(base, test, &mut instructions, &mut loops);
        let (base_lines, test_lines) = lines::of_both(base, test, &modules, &routines);
        let lines = lines::pair(
            &base_lines,
            &test_lines,
            &instructions,
            &Moves::new(base, test, &modules, &routines),
        );
        loops::pair_by_lines((base, &base_lines), (test, &test_lines), &lines, &routines, &mut loops);
        Matching { modules, routines, instructions, narrowed, loops, lines, base_lines, test_lines }
    }
}

/// Pairs the instructions of paired routines: by offset where they lie in the same file, else by alignment. Gives also
/// the routines that were too long to be aligned as a whole.
fn instructions(base: &Analysis, test: &Analysis, routines: &Pairing) -> (Pairing, Vec<RoutineId>) {
    let mut narrowed = Vec::new();
    let mut pairing = Pairing::new(base.code.instructions.len(), test.code.instructions.len());
    for routine in 0..base.routines.len() as u32 {
        let Some(partner) = routines.of_base(routine) else { continue };
        let (ours, our_tokens) = tokens(base, RoutineId(routine));
        let (theirs, their_tokens) = tokens(test, RoutineId(partner));
        if is_same_file(base, test, routine, partner) {
            let at = |analysis: &Analysis, id: InstructionId| {
                let place = analysis.code.place(id);
                (place.version, place.offset)
            };
            let partners: HashMap<_, InstructionId> = theirs.iter().map(|id| (at(test, *id), *id)).collect();
            for id in ours {
                partners.get(&at(base, id)).into_iter().for_each(|partner| pairing.pair(id.0, partner.0));
            }
        } else {
            let alignment = align(&our_tokens, &their_tokens);
            narrowed.extend(alignment.is_narrowed.then_some(RoutineId(routine)));
            for (a, b) in alignment.pairs {
                pairing.pair(ours[a].0, theirs[b].0);
            }
        }
    }
    (pairing, narrowed)
}

/// Whether two routines lie in the same build of a file.
pub fn is_same_file(base: &Analysis, test: &Analysis, routine: u32, partner: u32) -> bool {
    let ours = build_id(base, routine);
    !ours.is_empty() && ours == build_id(test, partner)
}

fn build_id<'a>(analysis: &'a Analysis, routine: u32) -> &'a [u8] {
    let module = analysis.routines[routine as usize].place.module;
    &analysis.profile.modules[module.index()].build_id
}

/// The executed instructions of a routine in the order of their offsets, and what they are.
pub fn tokens(analysis: &Analysis, routine: RoutineId) -> (Vec<InstructionId>, Vec<Token>) {
    let blocks = analysis.routines[routine.index()].blocks.iter();
    let ids: Vec<_> = blocks.flat_map(|block| analysis.code.blocks[block.index()].instructions()).collect();
    let tokens = tokens_of(analysis, &ids);
    (ids, tokens)
}

/// What executed instructions are.
pub fn tokens_of(analysis: &Analysis, ids: &[InstructionId]) -> Vec<Token> {
    let token = |id: &InstructionId| {
        let instruction = &analysis.code.instructions[id.index()];
        let block = instruction.block.index();
        let (code, executed) = (&analysis.profile.blocks[block].code, &analysis.code.blocks[block]);
        let begin = (instruction.step.offset - executed.place.offset.0) as usize;
        let end = code.len().min(begin + usize::from(instruction.step.length));
        Token { shape: timewise_isa::shape(&code[begin..end]), begins_block: *id == executed.first }
    };
    ids.iter().map(token).collect()
}
