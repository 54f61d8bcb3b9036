//! Which edges are too cold to number the paths over them (TPP, section 4.1.1).

use crate::cfg::Cfg;

/// For each edge, whether it takes less than `percent` of its source's executions. The hottest one of each node is
/// never cold: control must go somewhere, however many ways there are.
pub fn cold_edges(cfg: &Cfg, percent: u32) -> Vec<bool> {
    let mut cold = vec![false; cfg.edges.len()];
    for node in 0..cfg.nodes() {
        let all = cfg.executions(node);
        let hottest = cfg.out(node).iter().map(|&id| cfg.edge(id).count).max().unwrap_or(0);
        for &id in cfg.out(node) {
            let count = cfg.edge(id).count;
            let is_below = u128::from(count) * 100 < u128::from(all) * u128::from(percent);
            cold[id.index()] = is_below && count < hottest;
        }
    }
    cold
}
