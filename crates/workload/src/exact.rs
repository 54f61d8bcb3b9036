//! Counts of all runs together: those of an average run may be rounded, and equal where the true ones are not.

use std::collections::HashMap;
use timewise_profile::{BlockId, EdgeKind, Profile};

/// Executions of blocks, and of edges that lead from one to another with nothing in between.
pub struct Exact {
    /// By block.
    pub executions: Vec<u64>,
    /// By where from and where to.
    pub edges: HashMap<(BlockId, BlockId), u64>,
}

impl Exact {
    /// Those of a profile.
    pub fn new(profile: &Profile) -> Exact {
        let mut executions = vec![0u64; profile.blocks.len()];
        for row in &profile.block_counts {
            let all = &mut executions[row.block.index()];
            *all = all.saturating_add(row.executions);
        }
        let mut edges: HashMap<(BlockId, BlockId), u64> = HashMap::new();
        for row in profile.edge_counts.iter().filter(|row| row.count > 0 && leads_on(row.kind)) {
            if let (Some(from), Some(to)) = (row.from, row.to) {
                let all = edges.entry((from, to)).or_default();
                *all = all.saturating_add(row.count);
            }
        }
        Exact { executions, edges }
    }
}

/// Whether what is in registers where such an edge begins is what is in them where it ends.
fn leads_on(kind: EdgeKind) -> bool {
    matches!(kind, EdgeKind::Fallthrough | EdgeKind::Jump | EdgeKind::Branch | EdgeKind::IndirectJump)
}
