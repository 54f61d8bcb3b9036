//! How well weighted intervals stand for the instructions of each function in the whole execution.

use timewise_flow::routine::FunctionMap;
use timewise_profile::{Block, Profile};

/// Instructions by function: of each interval, and as they were counted in all.
pub struct Functions {
    of_intervals: Vec<Vec<(usize, f64)>>,
    counted: Vec<f64>,
}

impl Functions {
    /// Those of a profile. Blocks in no function are together one.
    pub fn of(profile: &Profile) -> Functions {
        let none = profile.functions.len();
        let functions = FunctionMap::new(profile);
        let function_of = |block: &Block| functions.at(block.place).map_or(none, |id| id.index());
        let of_blocks: Vec<usize> = profile.blocks.iter().map(function_of).collect();
        let mut of_intervals = vec![Vec::new(); profile.intervals.len()];
        for part in &profile.interval_blocks {
            let function = of_blocks[part.block.index()];
            of_intervals[part.interval.index()].push((function, part.instructions as f64));
        }
        let mut counted = vec![0.0; none + 1];
        for count in &profile.block_counts {
            let instructions = f64::from(profile.blocks[count.block.index()].instructions);
            counted[of_blocks[count.block.index()]] += count.executions as f64 * instructions;
        }
        Functions { of_intervals, counted }
    }

    /// The share of all instructions that such intervals, each with its weight, put into other functions than they were
    /// counted in.
    pub fn misplaced(&self, weighted: &[(usize, f64)]) -> f64 {
        let whole: f64 = self.counted.iter().sum();
        let mut differences: Vec<f64> =
            self.counted.iter().map(|instructions| -instructions / whole).collect();
        for &(interval, weight) in weighted {
            let parts = &self.of_intervals[interval];
            let length: f64 = parts.iter().map(|(_, instructions)| instructions).sum();
            parts.iter().for_each(|(function, instructions)| {
                differences[*function] += weight * instructions / length
            });
        }
        differences.iter().map(|difference| difference.abs()).sum::<f64>() / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{
        BlockCount, BlockId, Function, Interval, IntervalBlock, IntervalId, Offset, Place, ProcessId,
        ThreadId,
    };

    /// Two functions, of which the second has two blocks, and a block in none; an interval in each.
    fn profile() -> Profile {
        let place = |offset| Place { offset: Offset(offset), ..Place::default() };
        let function = |offset, size| Function {
            place: place(offset),
            size,
            name: String::new(),
            symbol: String::new(),
            file: None,
            line: 0,
        };
        let block = |offset| Block { place: place(offset), instructions: 2, code: vec![0x90; 2] };
        let count =
            |block, executions| BlockCount { block: BlockId(block), process: ProcessId(0), executions };
        let interval =
            |first_instruction| Interval { thread: ThreadId(0), first_instruction, instructions: 10 };
        let part =
            |number| IntervalBlock { interval: IntervalId(number), block: BlockId(number), instructions: 10 };
        Profile {
            functions: vec![function(0x20, 0x10), function(0x10, 0x10)],
            blocks: [0x18, 0x20, 0x2e, 0x30].map(block).into(),
            block_counts: vec![count(0, 5), count(1, 5), count(2, 5), count(3, 5)],
            intervals: [0, 10, 20, 30].map(interval).into(),
            interval_blocks: (0..4).map(part).collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn intervals_stand_for_functions() {
        let functions = Functions::of(&profile());
        assert_eq!(functions.counted, [20.0, 10.0, 10.0]);
        assert_eq!(functions.misplaced(&[(0, 0.25), (1, 0.5), (3, 0.25)]), 0.0);
        assert_eq!(functions.misplaced(&[(0, 1.0)]), 0.75);
        assert_eq!(functions.misplaced(&[(1, 0.5), (2, 0.5)]), 0.5);
    }
}
