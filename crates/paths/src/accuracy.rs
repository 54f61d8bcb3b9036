//! How well a path profile tells what ran (TPP, section 5): attribution of definite flow.

use crate::cfg::Cfg;
use crate::cut::Cuts;
use crate::decoder::Path;
use std::collections::BTreeMap;

/// Path counts.
pub type PathProfile = BTreeMap<Path, u64>;

/// How much of a program's flow a path profile tells; in blocks executed, since a path counts by its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accuracy {
    /// All flow.
    pub flow: u128,
    /// Flow that the profile has beyond what there was.
    pub over: u128,
    /// Flow that it lacks.
    pub under: u128,
}

impl Accuracy {
    /// Share of the flow that is attributed to the paths that it took: 1 less the shares over and under.
    pub fn definite(&self) -> f64 {
        if self.flow == 0 {
            return 1.0;
        }
        1.0 - (self.over + self.under) as f64 / self.flow as f64
    }

    /// Adds what is known of another routine.
    pub fn add(&mut self, other: Accuracy) {
        self.flow += other.flow;
        self.over += other.over;
        self.under += other.under;
    }
}

/// Compares a routine's profile with the true one. Where the two were cut differently, all paths are cut like both.
pub fn compare(cfg: &Cfg, truth: (&PathProfile, &Cuts), found: (&PathProfile, &Cuts)) -> Accuracy {
    let is_cut = |from, to| cfg.find(from, to).is_none_or(|id| truth.1[id.index()] || found.1[id.index()]);
    let mut counts: BTreeMap<Path, (u64, u64)> = BTreeMap::new();
    for (path, &count) in truth.0 {
        pieces(path, is_cut).for_each(|piece| counts.entry(piece).or_default().0 += count);
    }
    for (path, &count) in found.0 {
        pieces(path, is_cut).for_each(|piece| counts.entry(piece).or_default().1 += count);
    }
    let mut accuracy = Accuracy::default();
    for (path, (there, told)) in counts {
        let weigh = |count: u64| path.blocks.len() as u128 * u128::from(count);
        accuracy.flow += weigh(there);
        accuracy.over += weigh(told.saturating_sub(there));
        accuracy.under += weigh(there.saturating_sub(told));
    }
    accuracy
}

/// A path in pieces, where edges are cut.
fn pieces(path: &Path, is_cut: impl Fn(u32, u32) -> bool) -> impl Iterator<Item = Path> {
    let parts = path.blocks.chunk_by(move |&from, &to| !is_cut(from, to));
    let total = path.blocks.len();
    let mut before = 0;
    parts.map(move |blocks| {
        let entered = path.entered && before == 0;
        before += blocks.len();
        Path { blocks: blocks.to_vec(), entered, left: path.left && before == total }
    })
}
