//! What flows into a block flows out of it: the check that exact counts are exact.

use crate::model::{BlockId, ProcessId, Profile};
use std::collections::BTreeMap;

/// A block that was not entered as often as it was executed, or not left as often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imbalance {
    /// The process whose counts contradict each other.
    pub process: ProcessId,
    /// The block.
    pub block: BlockId,
    /// Sum over the edges that lead to it.
    pub entered: u64,
    /// Its own count.
    pub executed: u64,
    /// Sum over the edges that leave it.
    pub left: u64,
}

/// How far counts can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exactness {
    /// Every count is what happened.
    Exact,
    /// Executions of a block may be off by so much: the last positions of so many threads are unknown.
    Within(u32),
    /// Some executions are missing, or counts do not balance: warnings say why.
    Incomplete,
}

impl Profile {
    /// How far its counts can be trusted.
    pub fn exactness(&self) -> Exactness {
        let unknown = self.processes.iter().fold(0, |sum: u32, p| sum.saturating_add(p.count_uncertainty));
        match unknown {
            _ if self.runs.iter().any(|run| !run.counts_complete) => Exactness::Incomplete,
            0 => Exactness::Exact,
            _ => Exactness::Within(unknown),
        }
    }

    /// The blocks whose executions differ from the sum of the edges that lead to them, or that leave
    /// them, in order of process and block. Beginnings and ends of threads and signals are edges too, from
    /// and to outside, so that an exact profile has none.
    pub fn imbalances(&self) -> Vec<Imbalance> {
        let mut flow: BTreeMap<(ProcessId, BlockId), [u64; 3]> = BTreeMap::new();
        for count in &self.block_counts {
            flow.entry((count.process, count.block)).or_default()[1] += count.executions;
        }
        for edge in &self.edge_counts {
            for (block, side) in [(edge.to, 0), (edge.from, 2)] {
                if let Some(block) = block {
                    flow.entry((edge.process, block)).or_default()[side] += edge.count;
                }
            }
        }
        let unequal =
            flow.into_iter().filter(|(_, [entered, executed, left])| entered != executed || executed != left);
        unequal
            .map(|((process, block), [entered, executed, left])| Imbalance {
                process,
                block,
                entered,
                executed,
                left,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BlockCount, EdgeCount, EdgeKind};

    #[test]
    fn a_missing_edge_shows_at_both_ends() {
        let process = ProcessId(0);
        let count = |block, executions| BlockCount { block: BlockId(block), process, executions };
        let edge = |from: Option<u32>, to: Option<u32>, count| EdgeCount {
            from: from.map(BlockId),
            to: to.map(BlockId),
            kind: EdgeKind::Jump,
            process,
            count,
        };
        let mut profile = Profile {
            block_counts: vec![count(0, 5), count(1, 4)],
            edge_counts: vec![
                edge(None, Some(0), 1),
                edge(Some(0), Some(1), 4),
                edge(Some(1), Some(0), 4),
                edge(Some(0), None, 1),
            ],
            ..Profile::default()
        };
        assert_eq!(profile.imbalances(), []);
        profile.edge_counts.remove(1);
        let expected = |block, entered, executed, left| Imbalance {
            process,
            block: BlockId(block),
            entered,
            executed,
            left,
        };
        assert_eq!(profile.imbalances(), [expected(0, 5, 5, 1), expected(1, 0, 4, 4)]);
    }
}
