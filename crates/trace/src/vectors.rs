//! A worker that makes basic block vectors, for SimPoint.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use crate::committed::Committed;
use crate::{Record, Worker};

/// How many instructions of each block were executed in each interval of a run.
pub struct BlockVectors {
    blocks: Arc<[u32]>,
    interval: u64,
    committed: Committed,
    filled: u64,
    present: BTreeMap<u32, u64>,
    past: Vec<BTreeMap<u32, u64>>,
}

impl BlockVectors {
    /// Vectors of intervals of so many instructions, at least 1. `blocks` has the block of every static
    /// instruction; one without is in no block, but counts for the interval.
    pub fn every(instructions: u64, blocks: Arc<[u32]>) -> Self {
        Self {
            blocks,
            interval: instructions.max(1),
            committed: Committed::default(),
            filled: 0,
            present: BTreeMap::new(),
            past: Vec::new(),
        }
    }

    /// The vectors, block to instructions; the last interval is as long as the trace was.
    pub fn vectors(&self) -> impl Iterator<Item = &BTreeMap<u32, u64>> {
        self.past.iter().chain((self.filled > 0).then_some(&self.present))
    }

    /// Writes the vectors as SimPoint reads them (`.bb`): a line an interval, blocks numbered from 1.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for vector in self.vectors() {
            write!(out, "T")?;
            for (block, count) in vector {
                write!(out, ":{}:{count} ", u64::from(*block) + 1)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

impl Worker<Record> for BlockVectors {
    fn take(&mut self, part: &[Record]) {
        for record in part {
            for entry in self.committed.of(record) {
                if let Some(block) = self.blocks.get(entry.instruction as usize) {
                    *self.present.entry(*block).or_default() += 1;
                }
                self.filled += 1;
                if self.filled == self.interval {
                    self.past.push(std::mem::take(&mut self.present));
                    self.filled = 0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BlockVectors;
    use crate::{Record, Worker};

    #[test]
    fn intervals_are_cut_at_instructions() {
        let mut vectors = BlockVectors::every(2, [0, 0, 4].into());
        let trace: Vec<Record> = [0, 1, 2]
            .into_iter()
            .map(|oldest| {
                let mut record =
                    Record { cycle: oldest, oldest, repeat: 1, in_flight: 1, ..Record::default() };
                (record.valid, record.committing) = (1, 1);
                record.entries[0].instruction = oldest as u32;
                record
            })
            .collect();
        vectors.take(&trace);
        let mut written = Vec::new();
        vectors.write(&mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), "T:1:2 \nT:5:1 \n");
    }
}
