//! Which kinds of instructions are executed more or less often, of the whole program (CQ figure 7 a).

use super::shares::counted;
use crate::number::count;
use std::cmp::Reverse;
use timewise_diff::Comparison;
use timewise_flow::Analysis;
use timewise_isa::Category;
use timewise_workload::mix::{Mix, mixes};

/// So many kinds at most.
const SHOWN: usize = 4;

/// Changes that are less than this share of the instructions of BASE are not told.
const LEAST_SHARE: f64 = 0.001;

/// The kinds that changed most, in one line, with what changed of where control went; `None` if none did.
pub fn line(comparison: &Comparison) -> Option<String> {
    let [base, test] = [comparison.base, comparison.test].map(whole);
    let least = LEAST_SHARE * base.instructions as f64;
    let mut changes: Vec<(&str, u64, u64)> = figures(&base)
        .zip(figures(&test))
        .map(|((name, base), (_, test))| (name, base, test))
        .filter(|(_, base, test)| base.abs_diff(*test) as f64 >= least && base != test)
        .collect();
    changes.sort_by_key(|(_, base, test)| Reverse(base.abs_diff(*test)));
    let told = |(name, base, test): &(&str, u64, u64)| {
        format!("{name} {} → {}: {}", count(*base), count(*test), counted((*base, *test)))
    };
    let most: Vec<String> = changes.iter().take(SHOWN).map(told).collect();
    (!most.is_empty()).then(|| format!("by kind: {}", most.join(" · ")))
}

fn whole(analysis: &Analysis) -> Mix {
    mixes(analysis).iter().fold(Mix::default(), |mut whole, mix| {
        whole += mix;
        whole
    })
}

/// Categories, and what instructions are beside these.
fn figures(mix: &Mix) -> impl Iterator<Item = (&'static str, u64)> {
    let categories = Category::ALL.iter().map(|&category| (category.name(), mix.of(category)));
    let beside =
        [("loads", mix.loads), ("stores", mix.stores), ("misaligned transfers", mix.transfers.misaligned_16)];
    categories.chain(beside)
}
