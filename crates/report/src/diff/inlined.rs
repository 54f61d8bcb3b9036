//! Functions that have no code of their own on one side, because the compiler put it where they are called.

use std::collections::HashMap;
use timewise_flow::short_name::without_clones;
use timewise_flow::{Analysis, RoutineId};

/// By the name of each function that was seen to be put into others: the one that holds most of it.
pub struct Inlined {
    holders: HashMap<String, String>,
}

impl Inlined {
    /// What is known of a side: of code that was sampled.
    pub fn new(analysis: &Analysis) -> Inlined {
        let mut places: HashMap<(&str, u32), usize> = HashMap::new();
        for call in &analysis.profile.inlined_calls {
            let Some(instruction) = analysis.code.instruction_at(call.place) else { continue };
            let holder = analysis.owner[analysis.block_of(instruction).index()];
            *places.entry((without_clones(&call.function), holder.0)).or_default() += 1;
        }
        let mut most: HashMap<&str, (usize, u32)> = HashMap::new();
        for ((function, holder), count) in places {
            let known = most.entry(function).or_default();
            *known = (*known).max((count, holder));
        }
        let named = most
            .into_iter()
            .map(|(function, (_, holder))| (function.to_string(), analysis.name_of(RoutineId(holder))));
        Inlined { holders: named.collect() }
    }

    /// The function into which most of another was put.
    pub fn holder(&self, function: &str) -> Option<&str> {
        self.holders.get(without_clones(function)).map(String::as_str)
    }
}
