//! Cutting further edges where there are more paths than can be numbered.

use crate::cfg::{Cfg, EdgeId};
use crate::cut::Cuts;
use crate::dag::{Dag, Origin};

/// Cuts edges, in addition to those of `cuts`, until there are at most `limit` paths, if that can be had: a path
/// has at least one edge. The least executed edges go first, where cutting them makes a difference. Edges in
/// `cold` are left out, and get those added that no other path needs.
pub fn truncate(cfg: &Cfg, cuts: &Cuts, cold: &mut [bool], limit: u64) -> (Cuts, Dag) {
    let dag = Dag::new(cfg, cuts, cold);
    let total = |dag: &Dag| dag.ways_out(|_| true)[dag.entry() as usize];
    if total(&dag) <= limit.into() {
        return (cuts.clone(), dag);
    }
    // Each cut begins paths anew, so a limit for each node is not yet one for all together.
    let mut for_each = limit;
    loop {
        let cut = cut_down(cfg, &dag, cuts, for_each);
        let truncated = Dag::new(cfg, &cut, cold);
        if total(&truncated) <= limit.into() || for_each <= 1 {
            return (cut, truncated);
        }
        for_each /= 2;
    }
}

/// Cuts so that from no node more than `limit` paths go on, if that can be had.
fn cut_down(cfg: &Cfg, dag: &Dag, cuts: &Cuts, limit: u64) -> Cuts {
    let mut cuts = cuts.clone();
    let mut ways = vec![0u128; cfg.nodes() as usize];
    ways[dag.exit() as usize] = 1;
    let blocks = dag.order().iter().rev().copied().filter(|&node| node < cfg.blocks());
    for node in blocks {
        let next = |id: EdgeId| cfg.edge(id).to as usize;
        let all = dag.out(node).iter().map(|&id| ways[dag.edge(id).to as usize]);
        ways[node as usize] = all.fold(0, u128::saturating_add);
        if ways[node as usize] <= limit.into() {
            continue;
        }
        let whole = dag.out(node).iter().filter_map(|&id| match dag.edge(id).origin {
            Origin::Whole(whole) => Some(whole),
            Origin::Start | Origin::End => None,
        });
        let mut kept: Vec<EdgeId> = whole.filter(|&id| ways[next(id)] > 1).collect();
        let fixed = dag.out(node).len() - kept.len();
        kept.sort_by_key(|&id| (std::cmp::Reverse(cfg.edge(id).count), id));
        // One more for the dummy to the exit.
        let all_kept = |kept: &[EdgeId]| {
            kept.iter().map(|&id| ways[next(id)]).fold(fixed as u128 + 1, u128::saturating_add)
        };
        while all_kept(&kept) > limit.into()
            && let Some(id) = kept.pop()
        {
            cuts[id.index()] = true;
        }
        let left = all_kept(&kept);
        ways[node as usize] = left;
    }
    cuts
}
