//! Functions without a name in common, paired by their instructions.

use crate::align::Token;
use crate::matching::tokens;
use crate::pairing::Pairing;
use std::collections::{HashMap, HashSet};
use timewise_flow::{Analysis, RoutineId};
use timewise_isa::Shape;

/// Shorter functions are equal by chance.
const SHORTEST: usize = 8;

/// Instructions of a run.
const RUN: usize = 3;

/// Runs of two functions that must be common, as a share of all runs of both.
const ENOUGH: f64 = 0.5;

/// A run that occurs in more functions tells nothing.
const MOST_HOLDERS: usize = 50;

/// Pairs routines that are in no pair: first those with the same instructions, then, where neither has a
/// symbol, those that share the most runs of instructions.
pub fn pair(base: &Analysis, test: &Analysis, modules: &Pairing, pairing: &mut Pairing) {
    let ours: HashMap<u32, Function> = describe(base, pairing.free_of_base(), |id| modules.of_base(id));
    let theirs: HashMap<u32, Function> = describe(test, pairing.free_of_test(), Some);
    let sequence = |of: &HashMap<u32, Function>, id| of.get(&id).map(|f| (f.module, f.shapes.clone()));
    pairing.by_key(|id| sequence(&ours, id), |id| sequence(&theirs, id));
    for (_, base, test) in candidates(&ours, &theirs, pairing) {
        pairing.pair(base, test);
    }
}

struct Function {
    /// Of TEST.
    module: u32,
    is_named: bool,
    shapes: Vec<Shape>,
}

impl Function {
    /// Runs of instructions without their operands.
    fn runs(&self) -> HashSet<[u64; RUN]> {
        self.shapes.windows(RUN).map(|run| std::array::from_fn(|n| run[n].loose)).collect()
    }
}

fn describe(
    analysis: &Analysis,
    free: impl Iterator<Item = u32>,
    module: impl Fn(u32) -> Option<u32>,
) -> HashMap<u32, Function> {
    let function = |id: u32| {
        let routine = &analysis.routines[id as usize];
        let module = module(routine.place.module.0)?;
        let shapes: Vec<Shape> =
            tokens(analysis, RoutineId(id)).1.iter().map(|token: &Token| token.shape).collect();
        let symbol = routine.function.map(|function| &analysis.profile.functions[function.index()].symbol);
        let is_named = symbol.is_some_and(|symbol| !symbol.is_empty());
        (shapes.len() >= SHORTEST).then_some((id, Function { module, is_named, shapes }))
    };
    free.filter_map(function).collect()
}

/// Pairs without symbols that have enough in common, most similar first.
fn candidates(
    ours: &HashMap<u32, Function>,
    theirs: &HashMap<u32, Function>,
    pairing: &Pairing,
) -> Vec<(f64, u32, u32)> {
    let unnamed = |of: &HashMap<u32, Function>, is_free: &dyn Fn(u32) -> bool| {
        let functions = of.iter().filter(|(id, function)| !function.is_named && is_free(**id));
        functions.map(|(id, function)| (*id, (function.module, function.runs()))).collect::<HashMap<_, _>>()
    };
    let ours = unnamed(ours, &|id| pairing.of_base(id).is_none());
    let theirs = unnamed(theirs, &|id| pairing.of_test(id).is_none());
    let mut holders: HashMap<[u64; RUN], Vec<u32>> = HashMap::new();
    for (id, (_, runs)) in &theirs {
        runs.iter().for_each(|run| holders.entry(*run).or_default().push(*id));
    }
    let mut found = Vec::new();
    for (id, (module, runs)) in &ours {
        let telling = runs.iter().filter_map(|run| holders.get(run)).filter(|all| all.len() <= MOST_HOLDERS);
        let others: HashSet<u32> = telling.flatten().copied().collect();
        for other in others {
            let (its_module, its_runs) = &theirs[&other];
            let common = runs.intersection(its_runs).count() as f64;
            let similarity = common / (runs.len() + its_runs.len()) as f64 * 2.0;
            if module == its_module && similarity >= ENOUGH {
                found.push((similarity, *id, other));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    found
}
