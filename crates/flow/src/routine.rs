//! Which function each executed block belongs to.
//!
//! A routine is a function of the profile together with the cold part that the compiler split off,
//! or, where no function is known, connected code that is treated as one function.

use crate::code::Code;
use crate::reach::{reaches, same_code};
use std::collections::{HashMap, HashSet};
use timewise_profile::{BlockId, EdgeKind, Function, FunctionId, ModuleId, Place, Profile};

/// Index into the list that [`routines`] returns.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RoutineId(pub u32);

impl RoutineId {
    /// Position in the list that this id indexes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function that was executed, or sampled, or both.
#[derive(Clone, Debug)]
pub struct Routine {
    /// The function's row in the profile; `None` for code without one.
    pub function: Option<FunctionId>,
    /// First instruction of the function.
    pub place: Place,
    /// Executed blocks by offset; empty if the function was sampled only.
    pub blocks: Vec<BlockId>,
}

/// Functions of a profile by place, to look up which one holds a place.
#[derive(Clone, Debug)]
pub struct FunctionMap<'p> {
    functions: &'p [Function],
    sorted: Vec<FunctionId>,
    /// Largest end offset among this and all earlier functions of the same code.
    reach: Vec<u64>,
    whole: HashMap<FunctionId, FunctionId>,
}

impl<'p> FunctionMap<'p> {
    /// Prepares the look-up.
    pub fn new(profile: &'p Profile) -> FunctionMap<'p> {
        let functions = &profile.functions[..];
        let mut sorted: Vec<FunctionId> = (0..functions.len() as u32).map(FunctionId).collect();
        sorted.sort_by_key(|id| (functions[id.index()].place, std::cmp::Reverse(functions[id.index()].size)));
        let extent = |id: &FunctionId| {
            let Function { place, size, .. } = functions[id.index()];
            (place, place.offset.0.saturating_add(size))
        };
        let reach = reaches(sorted.iter().map(extent));
        FunctionMap { functions, sorted, reach, whole: cold_parts(functions) }
    }

    /// The innermost function that holds `place`; a cold part counts as the function it was split from.
    pub fn at(&self, place: Place) -> Option<FunctionId> {
        let after = self.sorted.partition_point(|id| self.functions[id.index()].place <= place);
        for at in (0..after).rev() {
            let function = &self.functions[self.sorted[at].index()];
            if !same_code(function.place, place) || self.reach[at] <= place.offset.0 {
                return None;
            }
            if place.offset.0 - function.place.offset.0 < function.size {
                let id = self.sorted[at];
                return Some(self.whole.get(&id).copied().unwrap_or(id));
            }
        }
        None
    }
}

/// From each split-off cold part (`name.cold`, `name.cold.3`) to the function it belongs to. Without
/// this a loop that visits its cold part would seem to be entered in the middle.
fn cold_parts(functions: &[Function]) -> HashMap<FunctionId, FunctionId> {
    let base = |function: &Function| -> Option<String> {
        let at = function.symbol.rfind(".cold")?;
        let rest = &function.symbol[at + ".cold".len()..];
        let number = rest.is_empty()
            || rest.strip_prefix('.').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        number.then(|| function.symbol[..at].to_string())
    };
    let mut parts: HashMap<(ModuleId, String), Vec<FunctionId>> = HashMap::new();
    for (index, function) in functions.iter().enumerate() {
        if let Some(name) = base(function) {
            parts.entry((function.place.module, name)).or_default().push(FunctionId(index as u32));
        }
    }
    let mut whole = HashMap::new();
    if parts.is_empty() {
        return whole;
    }
    for (index, function) in functions.iter().enumerate() {
        for part in parts.remove(&(function.place.module, function.symbol.clone())).unwrap_or_default() {
            whole.insert(part, FunctionId(index as u32));
        }
    }
    whole
}

/// Groups all executed blocks into routines, by place; also tells each block's routine.
pub fn routines(code: &Code, map: &FunctionMap) -> (Vec<Routine>, Vec<RoutineId>) {
    let mut order: Vec<BlockId> = (0..code.blocks.len() as u32).map(BlockId).collect();
    order.sort_unstable_by_key(|id| code.blocks[id.index()].place);
    let known: Vec<Option<FunctionId>> = code.blocks.iter().map(|block| map.at(block.place)).collect();
    let connected = connect_unknown(code, &known);
    let mut list: Vec<Routine> = Vec::new();
    let mut of_function: HashMap<FunctionId, RoutineId> = HashMap::new();
    let mut of_component: HashMap<BlockId, RoutineId> = HashMap::new();
    let mut owner = vec![RoutineId(0); code.blocks.len()];
    for id in order {
        let mut open = |place, function| {
            list.push(Routine { function, place, blocks: Vec::new() });
            RoutineId(list.len() as u32 - 1)
        };
        let routine = match known[id.index()] {
            Some(function) => *of_function
                .entry(function)
                .or_insert_with(|| open(map.functions[function.index()].place, Some(function))),
            None => *of_component
                .entry(connected[id.index()])
                .or_insert_with(|| open(code.blocks[id.index()].place, None)),
        };
        owner[id.index()] = routine;
        list[routine.index()].blocks.push(id);
    }
    (list, owner)
}

/// Representative of each block's component, where blocks outside any known function are connected
/// by the edges that stay within a function. What is called is a function's beginning, so a jump
/// there is a tail call and connects nothing.
fn connect_unknown(code: &Code, known: &[Option<FunctionId>]) -> Vec<BlockId> {
    let mut parent: Vec<BlockId> = (0..code.blocks.len() as u32).map(BlockId).collect();
    fn find(parent: &mut [BlockId], mut id: BlockId) -> BlockId {
        while parent[id.index()] != id {
            parent[id.index()] = parent[parent[id.index()].index()];
            id = parent[id.index()];
        }
        id
    }
    let mut join = |a: BlockId, b: BlockId| {
        let together = known[a.index()].is_none()
            && known[b.index()].is_none()
            && same_code(code.blocks[a.index()].place, code.blocks[b.index()].place);
        if together {
            let (a, b) = (find(&mut parent, a), find(&mut parent, b));
            parent[a.index().max(b.index())] = BlockId(a.0.min(b.0));
        }
    };
    use EdgeKind::{Branch, Call, Fallthrough, IndirectCall, Jump, SystemCall};
    let calls = code.edges.iter().filter(|edge| matches!(edge.kind, Call | IndirectCall));
    let called: HashSet<BlockId> = calls.filter_map(|edge| edge.to).collect();
    for edge in &code.edges {
        if let (Some(from), Some(to), Branch | Fallthrough | Jump | SystemCall) =
            (edge.from, edge.to, edge.kind)
            && !called.contains(&to)
        {
            join(from, to);
        }
    }
    for (index, block) in code.blocks.iter().enumerate() {
        // What is called may lie right behind a call that never returns.
        let block_id = BlockId(index as u32);
        if let (Some(call), false) = (code.call_returning_to(block.place), called.contains(&block_id)) {
            join(call, block_id);
        }
    }
    (0..code.blocks.len() as u32).map(|id| find(&mut parent, BlockId(id))).collect()
}
