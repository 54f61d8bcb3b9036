//! The intervals of one thread as basic block vectors.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use timewise_profile::{BlockId, Interval, IntervalBlock, IntervalId, Profile, ThreadId};

/// Basic block vectors of a thread's intervals, in the order in which they were executed.
#[derive(Clone, Debug)]
pub struct Vectors<'a> {
    intervals: Vec<Interval>,
    /// Sorted by interval and block, each pair once.
    parts: Cow<'a, [IntervalBlock]>,
    /// Where those of each interval are.
    ranges: Vec<Range<usize>>,
    /// Blocks of the whole profile.
    blocks: usize,
}

impl<'a> Vectors<'a> {
    /// Those of the intervals of `thread`; none if it has none.
    pub fn of(profile: &'a Profile, thread: ThreadId) -> Vectors<'a> {
        let parts = in_order(&profile.interval_blocks);
        let all = (0u32..).map(IntervalId).zip(&profile.intervals);
        let (mut intervals, mut ranges) = (Vec::new(), Vec::new());
        for (id, interval) in all.filter(|(_, interval)| interval.thread == thread) {
            let start = parts.partition_point(|part| part.interval < id);
            let length = parts[start..].iter().take_while(|part| part.interval == id).count();
            intervals.push(*interval);
            ranges.push(start..start + length);
        }
        Vectors { intervals, parts, ranges, blocks: profile.blocks.len() }
    }

    /// The intervals. One whose first instruction is 0 begins where a thread does.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Instructions of all intervals.
    pub fn instructions(&self) -> u64 {
        self.intervals.iter().map(|interval| interval.instructions).sum()
    }

    /// Instructions of an interval that were executed in each of its blocks, by block.
    pub fn parts(&self, interval: usize) -> impl Iterator<Item = (BlockId, u64)> {
        self.parts[self.ranges[interval].clone()].iter().map(|part| (part.block, part.instructions))
    }

    /// Shares of an interval's instructions that were executed in each of its blocks, by block: together 1, or 0 if it has
    /// none.
    pub fn shares(&self, interval: usize) -> impl Iterator<Item = (BlockId, f64)> {
        let whole: u64 = self.parts(interval).map(|(_, instructions)| instructions).sum();
        self.parts(interval).map(move |(block, part)| (block, part as f64 / whole.max(1) as f64))
    }

    /// How many blocks the intervals executed.
    pub fn blocks_executed(&self) -> usize {
        let mut is_executed = vec![false; self.blocks];
        for interval in 0..self.intervals.len() {
            self.parts(interval).for_each(|(block, _)| is_executed[block.index()] = true);
        }
        is_executed.iter().filter(|&&is_executed| is_executed).count()
    }

    /// How many blocks the whole profile has: no block's index is as large.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks
    }
}

/// The threads that have intervals, with the instructions of these: that with the most first, the first of several.
pub fn threads(profile: &Profile) -> Vec<(ThreadId, u64)> {
    let mut instructions: Vec<Option<u64>> = vec![None; profile.threads.len()];
    for interval in &profile.intervals {
        *instructions[interval.thread.index()].get_or_insert(0) += interval.instructions;
    }
    let all = (0u32..).map(ThreadId).zip(instructions);
    let mut threads: Vec<(ThreadId, u64)> = all.filter_map(|(thread, sum)| Some((thread, sum?))).collect();
    threads.sort_by_key(|&(_, instructions)| Reverse(instructions));
    threads
}

/// Parts by interval and block, added up where a profile has several of one pair; profiles that we made are so already.
fn in_order(parts: &[IntervalBlock]) -> Cow<'_, [IntervalBlock]> {
    let pair = |part: &IntervalBlock| (part.interval, part.block);
    if parts.windows(2).all(|two| pair(&two[0]) < pair(&two[1])) {
        return Cow::Borrowed(parts);
    }
    let mut sorted = parts.to_vec();
    sorted.sort_unstable_by_key(pair);
    sorted.dedup_by(|next, kept| {
        let is_same = pair(next) == pair(kept);
        kept.instructions += if is_same { next.instructions } else { 0 };
        is_same
    });
    Cow::Owned(sorted)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use timewise_profile::{Block, Place, ProcessId, Thread};

    /// A profile of one thread that executed, in each interval, so many instructions of each block.
    pub fn profile(intervals: &[&[u64]]) -> Profile {
        let blocks = intervals.iter().map(|of_blocks| of_blocks.len()).max().unwrap_or(0);
        let block = Block { place: Place::default(), instructions: 1, code: vec![0x90] };
        let mut profile = Profile { blocks: vec![block; blocks], ..Profile::default() };
        add_thread(&mut profile, intervals);
        profile
    }

    /// Adds another thread.
    pub fn add_thread(profile: &mut Profile, intervals: &[&[u64]]) {
        let thread = ThreadId(profile.threads.len() as u32);
        let process = ProcessId(0);
        profile.threads.push(Thread {
            process,
            tid: 100 + thread.0,
            name: String::new(),
            instructions: None,
        });
        let mut first_instruction = 0;
        for of_blocks in intervals {
            let interval = IntervalId(profile.intervals.len() as u32);
            let instructions = of_blocks.iter().sum();
            profile.intervals.push(Interval { thread, first_instruction, instructions });
            first_instruction += instructions;
            let executed = (0u32..).map(BlockId).zip(*of_blocks).filter(|(_, part)| **part > 0);
            let part = |(block, &instructions)| IntervalBlock { interval, block, instructions };
            profile.interval_blocks.extend(executed.map(part));
        }
    }

    fn parts(vectors: &Vectors) -> Vec<Vec<(u32, u64)>> {
        let parts_of = |interval| vectors.parts(interval).map(|(block, part)| (block.0, part)).collect();
        (0..vectors.intervals().len()).map(parts_of).collect()
    }

    #[test]
    fn a_thread_has_its_own_intervals() {
        let mut profile = profile(&[&[1, 2], &[0, 3]]);
        add_thread(&mut profile, &[&[4, 0, 4]]);
        profile.blocks.push(profile.blocks[0].clone());
        let vectors = Vectors::of(&profile, ThreadId(0));
        assert_eq!(parts(&vectors), [vec![(0, 1), (1, 2)], vec![(1, 3)]]);
        assert_eq!((vectors.instructions(), vectors.blocks_executed()), (6, 2));
        assert_eq!(vectors.shares(0).map(|(_, share)| share).collect::<Vec<_>>(), [1.0 / 3.0, 2.0 / 3.0]);
        let second = Vectors::of(&profile, ThreadId(1));
        assert_eq!(parts(&second), [vec![(0, 4), (2, 4)]]);
        assert_eq!((second.instructions(), second.blocks_executed()), (8, 2));
        assert!(Vectors::of(&profile, ThreadId(2)).intervals().is_empty());
    }

    #[test]
    fn the_order_of_rows_means_nothing() {
        let ordered = profile(&[&[1, 2], &[0, 0], &[3, 4]]);
        let mut turned = ordered.clone();
        turned.interval_blocks.reverse();
        // A row of 4 may be two of 3 and 1.
        turned.interval_blocks[0].instructions = 3;
        turned.interval_blocks.push(IntervalBlock { instructions: 1, ..turned.interval_blocks[0] });
        let [ordered, turned] = [&ordered, &turned].map(|profile| parts(&Vectors::of(profile, ThreadId(0))));
        assert_eq!(ordered, [vec![(0, 1), (1, 2)], vec![], vec![(0, 3), (1, 4)]]);
        assert_eq!(turned, ordered);
    }

    #[test]
    fn the_first_thread_has_most_instructions() {
        let mut profile = profile(&[&[5], &[5]]);
        assert_eq!(threads(&profile)[0].0, ThreadId(0));
        add_thread(&mut profile, &[&[11]]);
        add_thread(&mut profile, &[&[11]]);
        add_thread(&mut profile, &[]);
        assert_eq!(threads(&profile)[0].0, ThreadId(1));
        profile.intervals.clear();
        assert!(threads(&profile).is_empty());
    }
}
