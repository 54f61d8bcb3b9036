//! Basic block vectors, and the intervals that stand for an execution, as SimPoint 3.2 writes and simulators read them.

use std::fmt::Write;
use timewise_simpoint::{SimPoints, Vectors};

/// Vectors (`.bb`): a line for each interval, `T:BLOCK:INSTRUCTIONS :BLOCK:INSTRUCTIONS`. A block's number is its index in
/// the profile's table, from 1.
pub fn vectors(vectors: &Vectors) -> String {
    let mut text = String::new();
    for interval in 0..vectors.intervals().len() {
        text.push('T');
        // Writing to a string does not fail.
        for (block, instructions) in vectors.parts(interval) {
            let _ = write!(text, ":{}:{instructions} ", block.index() + 1);
        }
        text.push('\n');
    }
    text
}

/// Points (`.simpoints`): a line for each, `INTERVAL CLUSTER`, both from 0.
pub fn points(found: &SimPoints) -> String {
    let lines = found.points.iter().enumerate();
    lines.map(|(cluster, point)| format!("{} {cluster}\n", point.interval)).collect()
}

/// Their weights (`.weights`), in the same order: a line for each, `WEIGHT CLUSTER`.
pub fn weights(found: &SimPoints) -> String {
    let lines = found.points.iter().enumerate();
    lines.map(|(cluster, point)| format!("{} {cluster}\n", point.weight)).collect()
}

/// Which interval is in which cluster (`.labels`): a line for each interval, `CLUSTER DISTANCE`, the distance from the
/// cluster's centroid.
pub fn labels(found: &SimPoints) -> String {
    let lines = found.labels.iter().zip(&found.distances);
    lines.map(|(cluster, distance)| format!("{cluster} {distance:.6}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{Block, BlockId, Interval, IntervalBlock, IntervalId, Place, Profile, ThreadId};
    use timewise_simpoint::{Options, choose};

    #[test]
    fn files_are_as_simulators_read_them() {
        let block = Block { place: Place::default(), instructions: 4, code: vec![0x90; 4] };
        let interval =
            |first_instruction| Interval { thread: ThreadId(0), first_instruction, instructions: 100 };
        let part = |interval, block, instructions| IntervalBlock {
            interval: IntervalId(interval),
            block: BlockId(block),
            instructions,
        };
        let profile = Profile {
            blocks: vec![block; 3],
            intervals: [0, 100, 200, 300].map(interval).into(),
            interval_blocks: vec![
                part(0, 2, 100),
                part(1, 0, 40),
                part(1, 1, 60),
                part(2, 2, 100),
                part(3, 2, 100),
            ],
            ..Profile::default()
        };
        let of_thread = Vectors::of(&profile, ThreadId(0));
        assert_eq!(vectors(&of_thread), "T:3:100 \nT:1:40 :2:60 \nT:3:100 \nT:3:100 \n");
        let found = choose(&of_thread, &Options::default());
        assert_eq!(points(&found), "0 0\n1 1\n");
        assert_eq!(weights(&found), "0.75 0\n0.25 1\n");
        assert_eq!(labels(&found), "0 0.000000\n1 0.000000\n0 0.000000\n0 0.000000\n");
    }
}
