//! Functions without a name in common, paired by their instructions.

use crate::body::{Body, ENOUGH, Run, similarity};
use crate::pairing::Pairing;
use std::collections::{HashMap, HashSet};
use timewise_flow::Analysis;

/// Shorter functions have much in common by chance.
const SHORTEST: usize = 8;

/// A run that occurs in more functions tells nothing.
const MOST_HOLDERS: usize = 50;

/// Pairs routines that are in no pair: first those with the same instructions, then, where neither has a
/// symbol, those that share the most runs of instructions.
pub fn pair(base: &Analysis, test: &Analysis, modules: &Pairing, pairing: &mut Pairing) {
    let ours: HashMap<u32, Function> = describe(base, pairing.free_of_base(), |id| modules.of_base(id));
    let theirs: HashMap<u32, Function> = describe(test, pairing.free_of_test(), Some);
    // Short ones of other names, as stubs are, have nothing in common but what they look like.
    let is_told = |function: &&Function| !function.is_named || function.body.0.len() >= SHORTEST;
    let sequence = |of: &HashMap<u32, Function>, id| {
        of.get(&id).filter(is_told).map(|function| (function.module, function.body.clone()))
    };
    pairing.by_key(|id| sequence(&ours, id), |id| sequence(&theirs, id));
    let found = candidates(&ours, &theirs, pairing);
    pairing.best_first(found);
}

struct Function {
    /// Of TEST.
    module: u32,
    is_named: bool,
    body: Body,
}

fn describe(
    analysis: &Analysis,
    free: impl Iterator<Item = u32>,
    module: impl Fn(u32) -> Option<u32>,
) -> HashMap<u32, Function> {
    let function = |id: u32| {
        let routine = &analysis.routines[id as usize];
        let module = module(routine.place.module.0)?;
        let body = Body::of(analysis, id);
        let symbol = routine.function.map(|function| &analysis.profile.functions[function.index()].symbol);
        let is_named = symbol.is_some_and(|symbol| !symbol.is_empty());
        (!body.0.is_empty()).then_some((id, Function { module, is_named, body }))
    };
    free.filter_map(function).collect()
}

/// Pairs without symbols that have enough in common, and how much.
fn candidates(
    ours: &HashMap<u32, Function>,
    theirs: &HashMap<u32, Function>,
    pairing: &Pairing,
) -> Vec<(f64, u32, u32)> {
    let unnamed = |of: &HashMap<u32, Function>, is_free: &dyn Fn(u32) -> bool| {
        let is_known = |function: &Function| !function.is_named && function.body.0.len() >= SHORTEST;
        let functions = of.iter().filter(|(id, function)| is_known(function) && is_free(**id));
        functions
            .map(|(id, function)| (*id, (function.module, function.body.runs())))
            .collect::<HashMap<_, _>>()
    };
    let ours = unnamed(ours, &|id| pairing.of_base(id).is_none());
    let theirs = unnamed(theirs, &|id| pairing.of_test(id).is_none());
    let mut holders: HashMap<Run, Vec<u32>> = HashMap::new();
    for (id, (_, runs)) in &theirs {
        runs.iter().for_each(|run| holders.entry(*run).or_default().push(*id));
    }
    let mut found = Vec::new();
    for (id, (module, runs)) in &ours {
        let telling = runs.iter().filter_map(|run| holders.get(run)).filter(|all| all.len() <= MOST_HOLDERS);
        let others: HashSet<u32> = telling.flatten().copied().collect();
        for other in others {
            let (its_module, its_runs) = &theirs[&other];
            let similarity = similarity(runs, its_runs);
            if module == its_module && similarity >= ENOUGH {
                found.push((similarity, *id, other));
            }
        }
    }
    found
}
