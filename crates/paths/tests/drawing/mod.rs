//! Routines drawn in one line.

use timewise_paths::{Cfg, Path, Plan};

/// The routine of these edges: `-A 10, AB 7, AC 3, …`, where blocks are letters and `-` is outside.
pub fn draw(edges: &str) -> Cfg {
    let edges = edges.split(',').map(|edge| {
        let (ends, count) = edge.trim().split_once(' ').expect("an edge and its count");
        let end = |at: usize| match ends.as_bytes()[at] {
            b'-' => None,
            letter => Some(u32::from(letter - b'A')),
        };
        (end(0), end(1), count.parse().expect("a count"))
    });
    let edges: Vec<_> = edges.collect();
    let blocks = edges.iter().flat_map(|edge| [edge.0, edge.1]).flatten().max().map_or(0, |last| last + 1);
    Cfg::new(blocks, edges)
}

/// The edge between two blocks, as [`draw`] takes it.
pub fn edge(cfg: &Cfg, ends: &str) -> timewise_paths::EdgeId {
    let node = |at: usize, outside| match ends.as_bytes()[at] {
        b'-' => outside,
        letter => u32::from(letter - b'A'),
    };
    cfg.find(node(0, cfg.entry()), node(1, cfg.exit())).expect("an edge")
}

/// A path as its letters, with `-` where it comes from outside or goes there and `~` at cuts.
pub fn show(path: &Path) -> String {
    let ends = |outside| if outside { '-' } else { '~' };
    let blocks = path.blocks.iter().map(|&block| char::from(b'A' + block as u8));
    std::iter::once(ends(path.entered)).chain(blocks).chain([ends(path.left)]).collect()
}

/// All numbered paths of a plan, in order of their numbers.
pub fn numbered(plan: &Plan) -> Vec<String> {
    (0..plan.numbered()).map(|number| show(&plan.decoder.decode(number).expect("a path"))).collect()
}

/// All obvious paths with their counts.
pub fn obvious(plan: &Plan) -> Vec<(String, u64)> {
    let mut all: Vec<_> =
        plan.obvious.iter().map(|(edges, count)| (show(&plan.decoder.path(edges)), *count)).collect();
    all.sort();
    all
}
