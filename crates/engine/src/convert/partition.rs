//! The blocks of the profile: a partition of all executed instructions into the longest stretches that
//! control enters at the top and leaves at the bottom only.
//!
//! Two stretches overlap only where control went into the middle of an instruction of the other.

use super::flow::Flow;
use super::pieces::{PieceId, Pieces};
use std::collections::HashMap;
use std::ops::Range;
use timewise_isa::{Control, walk};
use timewise_profile::{EdgeKind, Offset, Place};

/// A block of the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First instruction.
    pub place: Place,
    /// Bytes.
    pub length: u32,
    /// Instructions.
    pub instructions: u32,
}

/// Part of a piece that lies in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The block, by position in [`Partition::blocks`].
    pub block: u32,
    /// The piece's instruction that it begins with.
    pub first: u16,
    /// It begins where the block begins.
    pub at_start: bool,
}

/// Blocks, and where each piece runs through them.
#[derive(Debug)]
pub struct Partition {
    /// In order of place.
    pub blocks: Vec<Extent>,
    segments: Vec<Segment>,
    of_piece: Vec<Range<u32>>,
}

/// An executed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Executed {
    place: Place,
    length: u8,
    /// Control may go elsewhere than to the next.
    transfers: bool,
    /// Control comes from elsewhere than the one before.
    leads: bool,
}

/// How often each piece was entered, and how often left early and after how many instructions.
#[derive(Debug, Default)]
pub struct Traffic {
    entered: HashMap<PieceId, u64>,
    left: HashMap<PieceId, Vec<(u16, u64)>>,
}

impl Traffic {
    /// Adds flows.
    pub fn add(&mut self, pieces: &Pieces, flows: &[Flow]) {
        for flow in flows {
            if let Some(to) = flow.to {
                *self.entered.entry(to).or_default() += flow.count;
            }
            if let Some((piece, executed)) = flow.early(pieces) {
                self.left.entry(piece).or_default().push((executed, flow.count));
            }
        }
    }

    /// Pieces that were entered.
    pub fn pieces(&self) -> impl Iterator<Item = PieceId> {
        self.entered.keys().copied()
    }

    /// How often instruction number `at` of a piece was executed.
    pub fn executions(&self, piece: PieceId, at: u16) -> u64 {
        let entered = self.entered.get(&piece).copied().unwrap_or(0);
        let left = self.left.get(&piece).into_iter().flatten().filter(|(executed, _)| *executed <= at);
        entered.saturating_sub(left.map(|(_, count)| count).sum())
    }

    /// How many instructions of a piece were ever executed.
    fn reached(&self, pieces: &Pieces, piece: PieceId) -> u16 {
        let all = pieces.get(piece).instructions;
        let ends = self.left.get(&piece).into_iter().flatten().map(|(executed, _)| *executed);
        ends.filter(|&at| self.executions(piece, at) == 0).min().unwrap_or(all)
    }
}

impl Partition {
    /// The partition of what `flows`, of all processes, executed.
    pub fn new<'a>(pieces: &Pieces, flows: impl Iterator<Item = &'a [Flow]> + Clone) -> Partition {
        let mut traffic = Traffic::default();
        for flows in flows.clone() {
            traffic.add(pieces, flows);
        }
        let reached: HashMap<PieceId, u16> =
            traffic.pieces().map(|piece| (piece, traffic.reached(pieces, piece))).collect();
        let mut instructions = executed_instructions(pieces, &reached);
        for flow in flows.flatten() {
            mark_leaders(pieces, flow, &mut instructions);
        }
        mark_starts(&mut instructions);
        let (blocks, block_of) = collect(&instructions);
        let mut partition = Partition { blocks, segments: Vec::new(), of_piece: Vec::new() };
        for id in 0..pieces.all().len() as u32 {
            let first = partition.segments.len() as u32;
            let reached = reached.get(&PieceId(id)).copied().unwrap_or(0);
            partition.add_piece(pieces.get(PieceId(id)).place, reached, &instructions, &block_of);
            partition.of_piece.push(first..partition.segments.len() as u32);
        }
        partition
    }

    fn add_piece(&mut self, place: Place, reached: u16, instructions: &[Executed], block_of: &[u32]) {
        let mut next = find(instructions, place);
        let mut last = None;
        for first in 0..reached {
            let Some(at) = next else { return };
            if last != Some(block_of[at]) {
                let block = block_of[at];
                self.segments.push(Segment { block, first, at_start: instructions[at].leads });
                last = Some(block);
            }
            next = successor(instructions, at);
        }
    }

    /// The parts of a piece, in order; none if it was never executed.
    pub fn segments(&self, piece: PieceId) -> &[Segment] {
        let range = &self.of_piece[piece.index()];
        &self.segments[range.start as usize..range.end as usize]
    }
}

/// All instructions that were executed, in order of place.
fn executed_instructions(pieces: &Pieces, reached: &HashMap<PieceId, u16>) -> Vec<Executed> {
    let mut instructions = Vec::new();
    for (&id, &reached) in reached {
        let piece = pieces.get(id);
        let code = pieces.code(piece.place, usize::from(piece.length));
        for step in walk(&code, piece.place.offset.0).take(usize::from(reached)) {
            instructions.push(Executed {
                place: Place { offset: Offset(step.offset), ..piece.place },
                length: step.length,
                transfers: step.control != Control::Next,
                leads: false,
            });
        }
    }
    instructions.sort_unstable_by_key(|i| i.place);
    instructions.dedup();
    instructions
}

fn find(instructions: &[Executed], place: Place) -> Option<usize> {
    instructions.binary_search_by_key(&place, |i| i.place).ok()
}

/// The executed instruction that follows in memory.
fn successor(instructions: &[Executed], at: usize) -> Option<usize> {
    let here = instructions[at];
    let offset = Offset(here.place.offset.0.wrapping_add(u64::from(here.length)));
    let wanted = Place { offset, ..here.place };
    // Only where control went into the middle of an instruction does anything stand in between.
    let mut next = at + 1;
    while instructions.get(next).is_some_and(|i| i.place < wanted) {
        next += 1;
    }
    instructions.get(next).is_some_and(|i| i.place == wanted).then_some(next)
}

/// Marks where a flow arrives, and what stands behind an early departure, unless control just went on.
fn mark_leaders(pieces: &Pieces, flow: &Flow, instructions: &mut [Executed]) {
    let last = flow.from.and_then(|(piece, executed)| {
        let mut at = find(instructions, pieces.get(piece).place)?;
        for _ in 1..executed {
            at = successor(instructions, at)?;
        }
        (executed > 0).then_some(at)
    });
    let arrival = flow.to.and_then(|to| find(instructions, pieces.get(to).place));
    let behind = last.filter(|&at| !instructions[at].transfers).and_then(|at| successor(instructions, at));
    if flow.kind == EdgeKind::Fallthrough && behind.is_some() && behind == arrival {
        return;
    }
    for at in [arrival, behind].into_iter().flatten() {
        instructions[at].leads = true;
    }
}

/// Marks what else no single instruction leads to: what stands behind a transfer or behind nothing, and
/// where two streams of instructions meet.
fn mark_starts(instructions: &mut [Executed]) {
    let mut before = vec![0u8; instructions.len()];
    for at in 0..instructions.len() {
        if !instructions[at].transfers
            && let Some(next) = successor(instructions, at)
        {
            before[next] = before[next].saturating_add(1);
        }
    }
    for (instruction, before) in instructions.iter_mut().zip(before) {
        instruction.leads |= before != 1;
    }
}

/// The blocks, and the block of each instruction.
fn collect(instructions: &[Executed]) -> (Vec<Extent>, Vec<u32>) {
    let mut blocks = Vec::new();
    let mut block_of = vec![0; instructions.len()];
    for (start, first) in instructions.iter().enumerate().filter(|(_, i)| i.leads) {
        let mut block = Extent { place: first.place, length: 0, instructions: 0 };
        let mut next = Some(start);
        while let Some(at) = next {
            block.length += u32::from(instructions[at].length);
            block.instructions += 1;
            block_of[at] = blocks.len() as u32;
            let goes_on = !instructions[at].transfers;
            next = successor(instructions, at).filter(|&at| goes_on && !instructions[at].leads);
        }
        blocks.push(block);
    }
    (blocks, block_of)
}
