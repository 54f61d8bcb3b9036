//! The blocks of the profile: a partition of all executed instructions into the longest stretches that
//! control enters at the top and leaves at the bottom only.
//!
//! Two stretches overlap only where control went into the middle of an instruction of the other.

use super::flow::Flow;
use super::pieces::{PieceId, Pieces};
use super::traffic::Traffic;
use std::ops::Range;
use timewise_isa::{Control, boundaries};
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

impl Partition {
    /// The partition of what `flows`, of all processes, executed.
    pub fn new<'a>(pieces: &Pieces, flows: impl Iterator<Item = &'a [Flow]> + Clone) -> Partition {
        let mut traffic = Traffic::default();
        for flows in flows.clone() {
            traffic.add(pieces, flows);
        }
        let mut stream = Stream::new(pieces, &traffic);
        for flow in flows.flatten() {
            stream.mark_leaders(pieces, flow);
        }
        stream.mark_starts();
        let (blocks, block_of) = stream.collect();
        let mut partition = Partition { blocks, segments: Vec::new(), of_piece: Vec::new() };
        for (id, span) in stream.spans.iter().enumerate() {
            let first = partition.segments.len() as u32;
            if let Some(span) = span {
                let reached = traffic.reached(pieces, PieceId(id as u32));
                partition.add_piece(span.first, reached, &stream, &block_of);
            }
            partition.of_piece.push(first..partition.segments.len() as u32);
        }
        partition
    }

    fn add_piece(&mut self, start: u32, reached: u16, stream: &Stream, block_of: &[u32]) {
        let mut next = Some(start as usize);
        let mut last = None;
        for first in 0..reached {
            let Some(at) = next else { return };
            let block = block_of[at];
            if last != Some(block) {
                self.segments.push(Segment { block, first, at_start: stream.instructions[at].leads });
                last = Some(block);
            }
            next = stream.successor(at);
        }
    }

    /// The parts of a piece, in order; none if it was never executed.
    pub fn segments(&self, piece: PieceId) -> &[Segment] {
        let range = &self.of_piece[piece.index()];
        &self.segments[range.start as usize..range.end as usize]
    }
}

/// All instructions that were executed, in order of place.
struct Stream {
    instructions: Vec<Executed>,
    /// The first and the last executed instruction of each piece.
    spans: Vec<Option<Span>>,
}

#[derive(Clone, Copy)]
struct Span {
    first: u32,
    last: u32,
}

impl Stream {
    fn new(pieces: &Pieces, traffic: &Traffic) -> Stream {
        let mut instructions: Vec<Executed> = Vec::new();
        // In order, so that what follows finds its neighbours near by.
        let mut ids = traffic.pieces().to_vec();
        ids.sort_unstable_by_key(|&id| pieces.get(id).place);
        let mut latest = 0;
        for &id in &ids {
            let piece = pieces.get(id);
            let mut place = piece.place;
            let reached = usize::from(traffic.reached(pieces, id));
            // Often a piece is the end of the one before, into whose middle control came later.
            let stretch = &instructions[latest..];
            let same = stretch.binary_search_by_key(&place, |i| i.place);
            if same.is_ok_and(|at| stretch.len() - at >= reached) {
                continue;
            }
            latest = instructions.len();
            let code = pieces.code(piece.place, usize::from(piece.length));
            for (length, control) in boundaries(&code, place.offset.0).take(reached) {
                let transfers = control != Control::Next;
                instructions.push(Executed { place, length, transfers, leads: false });
                place.offset.0 = place.offset.0.wrapping_add(u64::from(length));
            }
        }
        // A stable sort makes use of the order that there is.
        instructions.sort_by_key(|i| i.place);
        instructions.dedup();
        let mut stream = Stream { instructions, spans: vec![None; pieces.all().len()] };
        for id in ids {
            stream.spans[id.index()] = stream.span(pieces.get(id).place, traffic.reached(pieces, id));
        }
        stream
    }

    fn span(&self, place: Place, reached: u16) -> Option<Span> {
        let first = self.instructions.binary_search_by_key(&place, |i| i.place).ok()?;
        let last = (1..reached).try_fold(first, |at, _| self.successor(at))?;
        (reached > 0).then_some(Span { first: first as u32, last: last as u32 })
    }

    /// The executed instruction that follows in memory.
    fn successor(&self, at: usize) -> Option<usize> {
        let here = self.instructions[at];
        let offset = Offset(here.place.offset.0.wrapping_add(u64::from(here.length)));
        let wanted = Place { offset, ..here.place };
        // Only where control went into the middle of an instruction does anything stand in between.
        let mut next = at + 1;
        while self.instructions.get(next).is_some_and(|i| i.place < wanted) {
            next += 1;
        }
        self.instructions.get(next).is_some_and(|i| i.place == wanted).then_some(next)
    }

    /// Marks where a flow arrives, and what stands behind an early departure, unless control just went on.
    fn mark_leaders(&mut self, pieces: &Pieces, flow: &Flow) {
        if flow.stays() {
            return;
        }
        let last = flow.from.and_then(|(piece, executed)| {
            let span = self.spans[piece.index()]?;
            match flow.early(pieces) {
                None => Some(span.last as usize),
                Some(_) if executed == 0 => None,
                Some(_) => (1..executed).try_fold(span.first as usize, |at, _| self.successor(at)),
            }
        });
        let arrival = flow.to.and_then(|to| self.spans[to.index()]).map(|span| span.first as usize);
        let behind = last.filter(|&at| !self.instructions[at].transfers).and_then(|at| self.successor(at));
        if flow.kind == EdgeKind::Fallthrough && behind.is_some() && behind == arrival {
            return;
        }
        for at in [arrival, behind].into_iter().flatten() {
            self.instructions[at].leads = true;
        }
    }

    /// Marks what else no single instruction leads to: what stands behind a transfer or behind nothing, and
    /// where two streams of instructions meet.
    fn mark_starts(&mut self) {
        let mut before = vec![0u8; self.instructions.len()];
        for at in 0..self.instructions.len() {
            if !self.instructions[at].transfers
                && let Some(next) = self.successor(at)
            {
                before[next] = before[next].saturating_add(1);
            }
        }
        for (instruction, before) in self.instructions.iter_mut().zip(before) {
            instruction.leads |= before != 1;
        }
    }

    /// The blocks, and the block of each instruction.
    fn collect(&self) -> (Vec<Extent>, Vec<u32>) {
        let mut blocks = Vec::new();
        let mut block_of = vec![0; self.instructions.len()];
        for (start, first) in self.instructions.iter().enumerate().filter(|(_, i)| i.leads) {
            let mut block = Extent { place: first.place, length: 0, instructions: 0 };
            let mut next = Some(start);
            while let Some(at) = next {
                let instruction = self.instructions[at];
                block.length += u32::from(instruction.length);
                block.instructions += 1;
                block_of[at] = blocks.len() as u32;
                let goes_on = |&next: &usize| !instruction.transfers && !self.instructions[next].leads;
                next = self.successor(at).filter(goes_on);
            }
            blocks.push(block);
        }
        (blocks, block_of)
    }
}
