//! Who can have called the outermost function that a stack shows.
//!
//! Unwinding may end too early. Nothing is lost where a function was called from one place only in the whole
//! program: then that place called it. So a stack that ends in `main` leads on to where threads begin, and one
//! that ends in a function with many callers does not.

use crate::code::{Code, Edge};
use crate::routine::{Routine, RoutineId};
use crate::short_name::without_abi;
use timewise_isa::Control;
use timewise_profile::{BlockId, EdgeKind, Place, Profile};

/// How control first comes to a routine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// A thread or a signal handler begins here: nobody called.
    Start,
    /// Always by this call.
    Call(BlockId),
    /// Always by a jump from this routine, which is then not on the stack.
    Jump(RoutineId),
    /// In several ways, or in none that was seen.
    Unknown,
}

/// What the only ways into a routine lead back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Where a thread begins.
    Start,
    /// A routine that control comes to in several ways, or in none that was seen.
    Unknown,
    /// Routines that call each other, and nobody else them.
    Circle,
}

/// The origins of all routines.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    of: Vec<Origin>,
    ends: Vec<End>,
    owner: Vec<RoutineId>,
    /// Those whose callers are known by name to be where a thread begins.
    is_first: Vec<bool>,
}

/// Where threads begin, in the C library and in Go: known by name also where nothing was counted.
const STARTS: [&str; 8] = [
    "_start",
    "clone",
    "__clone",
    "clone3",
    "__clone3",
    "runtime.goexit",
    "runtime.mstart",
    "runtime.rt0_go",
];

/// Whether threads begin in the function of this symbol.
pub fn is_start(symbol: &str) -> bool {
    STARTS.contains(&without_abi(symbol))
}

/// What is called where threads begin, and by nobody else.
const FIRST: [&str; 3] = ["main", "start_thread", "__libc_start_main"];

impl Origins {
    /// Looks at all ways into each routine; `owner` is the routine of each block.
    pub fn new(profile: &Profile, code: &Code, routines: &[Routine], owner: &[RoutineId]) -> Origins {
        let mut of: Vec<Option<Origin>> = vec![None; routines.len()];
        let mut meet = |routine: RoutineId, origin: Origin| {
            let known = &mut of[routine.index()];
            *known = match *known {
                None => Some(origin),
                Some(Origin::Start) => Some(Origin::Start),
                Some(_) if origin == Origin::Start => Some(Origin::Start),
                Some(same) if same == origin => Some(same),
                Some(_) => Some(Origin::Unknown),
            };
        };
        for edge in code.edges.iter().filter(|edge| edge.count > 0) {
            let Some(to) = edge.to else { continue };
            let routine = owner[to.index()];
            if let Some(origin) = origin(code, owner, edge, to, routines[routine.index()].place) {
                meet(routine, origin);
            }
        }
        let symbol = |routine: &Routine| Some(profile.functions[routine.function?.index()].symbol.as_str());
        for (at, _) in routines.iter().enumerate().filter(|(_, one)| symbol(one).is_some_and(is_start)) {
            meet(RoutineId(at as u32), Origin::Start);
        }
        let of: Vec<Origin> = of.into_iter().map(|origin| origin.unwrap_or(Origin::Unknown)).collect();
        let is_first = |routine| symbol(routine).is_some_and(|symbol| FIRST.contains(&symbol));
        let is_first = routines.iter().map(is_first).collect();
        Origins { ends: ends(&of, owner), of, owner: owner.to_vec(), is_first }
    }

    /// Whether a stack that shows this routine is whole: what called it is where a thread begins.
    pub fn is_first(&self, routine: RoutineId) -> bool {
        self.is_first[routine.index()]
    }

    /// Whether what must have led to `routine` begins where a thread does.
    pub fn is_rooted(&self, routine: RoutineId) -> bool {
        self.ends[routine.index()] == End::Start
    }

    /// The calls that must have led to `routine`, innermost first.
    pub fn beyond(&self, routine: RoutineId) -> impl Iterator<Item = BlockId> {
        let first = Some(routine).filter(|routine| self.ends[routine.index()] != End::Circle);
        let way = std::iter::successors(first, |at| self.of[at.index()].from(&self.owner));
        way.filter_map(|at| match self.of[at.index()] {
            Origin::Call(site) => Some(site),
            _ => None,
        })
    }
}

impl Origin {
    /// The routine that control comes from, if from one only; `owner` is the routine of each block.
    fn from(self, owner: &[RoutineId]) -> Option<RoutineId> {
        match self {
            Origin::Start | Origin::Unknown => None,
            Origin::Call(site) => Some(owner[site.index()]),
            Origin::Jump(from) => Some(from),
        }
    }
}

/// What the only way into each routine leads back to.
fn ends(of: &[Origin], owner: &[RoutineId]) -> Vec<End> {
    let mut ends: Vec<Option<End>> = vec![None; of.len()];
    for routine in 0..of.len() {
        let (mut at, mut way) = (routine, Vec::new());
        let end = loop {
            if let Some(end) = ends[at] {
                break end;
            }
            // Whoever is met again on the way is in a circle.
            ends[at] = Some(End::Circle);
            way.push(at);
            match of[at].from(owner) {
                Some(from) => at = from.index(),
                None if of[at] == Origin::Start => break End::Start,
                None => break End::Unknown,
            }
        };
        way.into_iter().for_each(|at| ends[at] = Some(end));
    }
    ends.into_iter().flatten().collect()
}

/// What an edge tells of the origin of the routine that it leads to; `start` is the routine's first instruction.
fn origin(code: &Code, owner: &[RoutineId], edge: &Edge, to: BlockId, start: Place) -> Option<Origin> {
    use EdgeKind::{Call, External, IndirectCall, Return, SystemCall};
    let place = code.blocks[to.index()].place;
    match (edge.kind, edge.from) {
        (External, _) | (_, None) => begins(code, place, start).then_some(Origin::Start),
        (Call | IndirectCall, Some(from)) => Some(Origin::Call(from)),
        (Return | SystemCall, _) => None,
        (_, Some(from)) if owner[from.index()] == owner[to.index()] => None,
        (_, Some(from)) => Some(Origin::Jump(owner[from.index()])),
    }
}

/// Whether control that comes from outside to `place` begins something: a signal that returns does not.
fn begins(code: &Code, place: Place, start: Place) -> bool {
    place == start
        || code.block_before(place).is_some_and(|block| code.control(block) == Some(Control::SystemCall))
}
