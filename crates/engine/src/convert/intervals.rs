//! From the vectors of translated blocks to those of the profile's.

use super::partition::Partition;
use super::pieces::{PieceId, Pieces};
use crate::streams::Vector;
use std::collections::BTreeMap;
use timewise_profile::{BlockId, Interval, IntervalBlock, IntervalId, Profile, ThreadId};

/// What vectors are divided by.
pub struct Intervals<'a> {
    /// What was translated.
    pub pieces: &'a Pieces,
    /// How it runs through the blocks of the profile.
    pub partition: &'a Partition,
}

impl Intervals<'_> {
    /// Adds the intervals of a thread, whose image's blocks are these `pieces`.
    pub fn add(&self, profile: &mut Profile, thread: ThreadId, pieces: &[PieceId], vectors: Vec<Vector>) {
        for vector in vectors {
            let interval = IntervalId(profile.intervals.len() as u32);
            let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
            for (block, executions) in executions(&vector) {
                if let Some(&piece) = pieces.get(block as usize) {
                    self.divide(piece, &executions, &mut sums);
                }
            }
            let all = sums.values().fold(0, |sum: u64, part| sum.saturating_add(*part));
            let instructions = vector.end.map_or(all, |end| end.saturating_sub(vector.first));
            profile.intervals.push(Interval { thread, first_instruction: vector.first, instructions });
            profile.interval_blocks.extend(sums.into_iter().map(|(block, instructions)| IntervalBlock {
                interval,
                block: BlockId(block),
                instructions,
            }));
        }
    }

    /// Adds the instructions of a piece's executions to the blocks that it runs through.
    fn divide(&self, piece: PieceId, executions: &Executions, sums: &mut BTreeMap<u32, u64>) {
        let segments = self.partition.segments(piece);
        let ends = segments.iter().skip(1).map(|segment| segment.first);
        let ends = ends.chain([self.pieces.get(piece).instructions]);
        for (segment, end) in segments.iter().zip(ends) {
            let size = u64::from(end - segment.first);
            let partly = executions.partly.iter();
            let partly =
                partly.map(|&executed| u64::from(executed.clamp(segment.first, end) - segment.first));
            let all = executions.whole.saturating_mul(size).saturating_add(partly.sum());
            if all > 0 {
                let sum = sums.entry(segment.block).or_default();
                *sum = sum.saturating_add(all);
            }
        }
    }
}

/// Executions of a translated block in an interval.
#[derive(Default)]
struct Executions {
    /// From its start to its end.
    whole: u64,
    /// From its start on, so many instructions of it.
    partly: Vec<u16>,
}

fn executions(vector: &Vector) -> BTreeMap<u32, Executions> {
    let mut all: BTreeMap<u32, Executions> = BTreeMap::new();
    for &(block, times) in &vector.counted {
        all.entry(block).or_default().whole += times;
    }
    for &(block, executed, counted) in &vector.partly {
        let executions = all.entry(block).or_default();
        executions.whole = executions.whole.saturating_sub(u64::from(counted));
        executions.partly.push(executed);
    }
    all
}
