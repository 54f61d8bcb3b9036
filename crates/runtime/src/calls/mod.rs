//! What calls cost: the instructions executed under each call site (OptiWISE, section IV-D, algorithm 1).
//!
//! Every thread has frames beside the program's stack: one for each call that has not returned. A call notes
//! the thread's clock there, and its return charges what the clock has moved to a counter of the call site
//! and callee. Where the function that was called waits further up the stack, at a call of its own, the same is
//! taken off there: so an instruction is charged to the most recent activation of each function only, and
//! recursion is counted once. Of functions that cannot recur, by all that was seen to be called yet
//! (`recursion.rs`), nothing of that is noted.
//!
//! All that is done inline ([`sequence`]). A return finds the latest call's frame by the place on the stack of
//! its return address; whatever else happens to a stack (`events.rs`) is seen when that fails. What could be
//! wanted only of a function that waits is not noted for one that makes no calls. A direct call of one that can
//! only return to its caller is *brief*: it needs no frame at all.

mod aside;
pub mod call;
pub mod choose;
mod circles;
mod elsewhere;
pub mod enter;
mod events;
mod frames;
mod functions;
mod held;
pub mod leave;
mod memory;
mod moved;
mod placed;
mod recursion;
mod relink;
pub mod sequence;
mod step;
mod strands;

pub use events::{
    close, close_others, end, end_handler, inherit, is_overflow, left, limit, mark_handler, settle, start,
};
pub use recursion::Way;
pub use relink::{relink, share};
pub use step::Step;

use crate::address_space::AddressSpace;
use crate::cache::{self, Region};
use crate::emit::Code;
use crate::state::{AddressHasher, Edge};
use crate::sys::memory::read;
use alloc::vec::Vec;
use call::{Call, Callee, Jump, Returning, place, recurring};
use core::cell::RefCell;
use core::hash::BuildHasherDefault;
use core::num::NonZeroU64;
use enter::Pass;
use functions::Functions;
use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};
use held::Held;
use leave::Tail;
use placed::Placed;
use recursion::Recursion;
use sequence::{Function, Sequence};
use strands::Strands;
use timewise_abi::log::{BRIEF, HELD};
use timewise_abi::process::ProcessRecord;
use timewise_abi::view::Shared;

/// Bytes at the beginning of a function that are looked at for what becomes of its return address.
const LOOKED_AT: usize = 128;

/// Where a call returns to and what is mapped there, in one word: there may be very many.
type Return = u64;

/// The way of an exit to a block, whose code relies on something.
#[derive(Clone, Copy, Debug)]
pub struct Relying {
    /// The exit.
    pub exit: u32,
    /// The block.
    pub to: u32,
    /// What is noted of the edge.
    pub edge: Edge,
}

/// What is known of the calls of a process.
#[derive(Debug, Default)]
pub struct Calls {
    /// What is noted of edges that are calls, by number.
    noted: Vec<Call>,
    /// Their numbers, by the counter for their cost.
    by_cost: HashMap<u32, u32, BuildHasherDefault<AddressHasher>>,
    /// Where calls return to, with what they call if that is always the same.
    returns: HashMap<Return, Option<NonZeroU64>, BuildHasherDefault<AddressHasher>>,
    /// Counters for the costs of calls that always call the same, by where they return to and what that is.
    direct: HashMap<(Return, u64), u32, BuildHasherDefault<AddressHasher>>,
    /// Where direct calls return to of which nothing is told.
    untold: HashSet<Return, BuildHasherDefault<AddressHasher>>,
    /// Returns from code of which nothing is told to such code, by where they end and lead to, that were found to end the
    /// latest call though its return address was not where the call put it.
    moved: HashSet<(Return, Return), BuildHasherDefault<AddressHasher>>,
    /// Where functions begin.
    starts: Functions,
    /// The counters of functions that may recur, by where they begin, or where a call or jump led to if nothing
    /// says.
    functions: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    /// Exits by which a thread leaves that moved its stack pointer and then jumped, with the function that begins where
    /// it goes, if one does.
    moved_to: HashMap<u32, Option<u64>, BuildHasherDefault<AddressHasher>>,
    /// Which functions may recur.
    recursion: Recursion,
    /// Which calls are held.
    held: Held,
    /// Functions that the code under construction takes for ones that do not recur, and functions and stubs whose calls
    /// it takes to be held.
    relied_on: Vec<u64>,
    /// Ways of exits that rely on something.
    relying: Vec<Relying>,
    /// What was noted of edges whose code is made anew: by its place, and the block that it leads to.
    kept: HashMap<(u64, u32), Edge, BuildHasherDefault<AddressHasher>>,
    /// What was added to translated code.
    sequences: Placed,
    /// Stacks that threads have left.
    left: RefCell<Strands>,
}

impl Calls {
    /// Nothing known yet, of a process.
    pub fn new(shared: Shared, record: &ProcessRecord) -> Calls {
        Calls { starts: Functions::new(shared, record), ..Calls::default() }
    }

    /// Notes that a call returns to an address, and what it calls if that is always the same. Whether that changes
    /// what belongs to returns there.
    pub fn add_site(&mut self, space: &AddressSpace, returns_to: u64, target: Option<u64>) -> bool {
        let target = target.and_then(NonZeroU64::new);
        match self.returns.entry(place_of(space, returns_to)) {
            Entry::Vacant(fresh) => {
                fresh.insert(target);
                true
            }
            Entry::Occupied(mut known) => {
                // What was once noted without a frame must go on so, whatever else is decoded there.
                let noted = target.or(*known.get());
                known.insert(noted) != noted
            }
        }
    }

    /// What is called by a call that returns there, if that is always the same.
    fn target(&self, returns_to: Return) -> Option<u64> {
        self.returns.get(&returns_to).copied().flatten().map(NonZeroU64::get)
    }

    /// Whether no frame is held, nor will be, so that all lie one on top of the other.
    pub fn are_all_framed(&self) -> bool {
        self.recursion.is_always()
    }

    /// Whether a call returns to an address.
    pub fn is_site(&self, space: &AddressSpace, returns_to: u64) -> bool {
        self.returns.contains_key(&place_of(space, returns_to))
    }

    /// Notes that nothing is told of a call, by where the code that makes it ends and, if it is direct, where it returns
    /// to, if what is called keeps its return address elsewhere than on the stack: such a call ends nobody knows when.
    /// Whether it is one.
    pub fn add_untold(
        &mut self,
        space: &AddressSpace,
        (end, returns_to): (u64, Option<u64>),
        (address, code): (u64, &[u8]),
    ) -> bool {
        let mut ahead = [0; LOOKED_AT];
        let is_untold = timewise_isa::takes_return_address(code) && {
            let known = read(address, &mut ahead);
            timewise_isa::takes_return_address(&ahead[..known])
        };
        if !is_untold {
            return false;
        }
        let (callee, caller) = (self.callee(space, (address, code)), self.starts.start(space, end));
        if let Some(to) = self.node(space, callee) {
            self.recursion.leads(caller, to);
        }
        self.untold.extend(returns_to.map(|returns_to| place_of(space, returns_to)));
        true
    }

    /// Whether nothing is told of the call that returns to an address.
    pub fn is_untold(&self, space: &AddressSpace, returns_to: u64) -> bool {
        !self.untold.is_empty() && self.untold.contains(&place_of(space, returns_to))
    }

    /// Whether a return, by where it ends and leads to, was found to end calls whose return address was moved.
    pub fn is_moved(&self, space: &AddressSpace, (end, to): (u64, u64)) -> bool {
        !self.moved.is_empty() && self.moved.contains(&(place_of(space, end), place_of(space, to)))
    }

    /// Notes that one was. Whether that was not known.
    fn add_moved(&mut self, space: &AddressSpace, (end, to): (u64, u64)) -> bool {
        self.moved.insert((place_of(space, end), place_of(space, to)))
    }

    /// What is known of a function whose block at `within` returns to an address; `take` gives a fresh counter by its
    /// number.
    pub fn returning(
        &mut self,
        space: &AddressSpace,
        (returns_to, within): (u64, u64),
        take: impl FnMut() -> u32,
    ) -> Returning {
        let returns_to = place_of(space, returns_to);
        let target = self.target(returns_to);
        let cost = target.and_then(|target| self.direct.get(&(returns_to, target)).copied());
        let start = self.starts.start(space, within);
        let is_leaf = self.starts.leaf(space, within).is_some();
        match (cost, start) {
            (Some(cost), _) if is_leaf && start == target => Returning::Brief { cost },
            (Some(cost), _) if self.holds(cost) => match (target, start) {
                (Some(target), Some(start)) if !self.held.leads(target, start) => Returning::Doubted,
                _ => Returning::Held { cost },
            },
            _ if is_leaf => Returning::Framed { cost, callee: Function::Once },
            (_, Some(start)) => Returning::Framed { cost, callee: self.told(start, take) },
            (_, None) => {
                // What nothing is told of is left only for what something is told of: it is the function that was called,
                // unless a stub passed the call on.
                let called = cost.and_then(|cost| self.with_cost(cost)).map(|call| call.callee);
                let callee = match called {
                    Some(Callee::Function(start)) if self.starts.start(space, start).is_none() => {
                        recurring(self.function(start, take))
                    }
                    _ => Function::Unknown,
                };
                Returning::Framed { cost, callee }
            }
        }
    }

    /// The latest call returned to an address, from within the function at another. Whether that was not known to be
    /// possible, and so left to the dispatcher.
    fn returned(&mut self, space: &AddressSpace, returns_to: u64, within: u64) -> bool {
        let target = self.target(place_of(space, returns_to));
        let Some((target, start)) = target.zip(self.starts.start(space, within)) else { return false };
        let is_new = !self.held.leads(target, start);
        if is_new {
            self.held.returned(target, start);
        }
        is_new
    }

    /// The counter for the cost of the call without a frame that a thread is in at `address`.
    pub fn brief_at(&mut self, space: &AddressSpace, address: u64, stack: u64) -> Option<u32> {
        let (start, depth) = self.starts.in_leaf(space, address)?;
        let mut returns_to = [0; 8];
        let slot = stack.wrapping_add(depth.into());
        (read(slot, &mut returns_to) == returns_to.len()).then_some(())?;
        self.direct.get(&(place_of(space, u64::from_le_bytes(returns_to)), start)).copied()
    }

    /// Whether a thread at `address` is in the leaf that calls with a counter for their cost call.
    pub fn is_in_callee(&mut self, space: &AddressSpace, cost: u32, address: u64) -> bool {
        let callee = self.with_cost(cost).and_then(|call| call.callee());
        callee.is_some() && self.starts.leaf(space, address) == callee
    }

    /// Notes a call by `block`, whose code ends at an address, that returns to another if it is direct, of the code at
    /// a third, which begins with `code`: its number. `take` gives a fresh counter by its number.
    pub fn add(
        &mut self,
        space: &AddressSpace,
        (block, end, returns_to): (u32, u64, Option<u64>),
        (address, code): (u64, &[u8]),
        mut take: impl FnMut() -> u32,
    ) -> u32 {
        let callee = self.callee(space, (address, code));
        let caller = self.starts.start(space, end);
        if let Some(to) = self.node(space, callee) {
            self.recursion.leads(caller, to);
        }
        let returns_to = returns_to.map(|returns_to| place_of(space, returns_to));
        let is_known = |&to: &Return| self.target(to) == Some(address);
        let call = if let Some(returns_to) = returns_to.filter(is_known) {
            let may_be_held = !matches!(callee, Callee::Leaf(_)) && caller.is_some();
            let known = self.direct.get(&(returns_to, address)).copied();
            let cost = known.unwrap_or_else(|| match self.node(space, callee).filter(|_| may_be_held) {
                Some(callee) if callee != recursion::ELSEWHERE && !self.recursion.recurs(callee) => {
                    self.held.add(callee, || place(take()))
                }
                _ => place(take()),
            });
            self.direct.insert((returns_to, address), cost);
            let callee = if let Callee::Leaf(start) = callee { Callee::Brief(start) } else { callee };
            Call::new(cost, block, callee, caller)
        } else {
            Call::new(place(take()), block, callee, caller)
        };
        let number = self.noted.len() as u32;
        self.noted.push(call);
        self.by_cost.insert(call.cost, number);
        number
    }

    /// The latest call with a counter for its cost.
    fn with_cost(&self, cost: u32) -> Option<Call> {
        self.call(*self.by_cost.get(&cost)?)
    }

    /// What the record of an edge says of a call's cost.
    pub fn recorded(&self, number: u32) -> u32 {
        let Some(call) = self.call(number) else { return timewise_abi::NONE };
        match call.cost / 8 {
            0 => timewise_abi::NONE,
            number if matches!(call.callee, Callee::Brief(_)) => number | BRIEF,
            number if self.held.may_hold(call.cost) => number | HELD,
            number => number,
        }
    }

    /// What is known of a call, by its number.
    pub fn call(&self, number: u32) -> Option<Call> {
        self.noted.get(number as usize).copied()
    }

    /// What is called by a call, by the counter for its cost, if it is held.
    fn held(&self, cost: u32) -> Option<u64> {
        self.held.callee(cost).filter(|&callee| !self.recursion.recurs(callee))
    }

    /// Whether a call that the code under construction makes or ends is held.
    pub fn holds(&mut self, cost: u32) -> bool {
        let callee = self.held(cost);
        self.relied_on.extend(callee);
        callee.is_some()
    }

    /// What the frame of a call says of the functions that are called and that call.
    pub fn noted(
        &mut self,
        space: &AddressSpace,
        call: Call,
        mut take: impl FnMut() -> u32,
    ) -> [Function; 2] {
        let callee = match call.callee {
            // It calls nothing, so it does not matter where its caller waits.
            Callee::Leaf(_) | Callee::Brief(_) => return [Function::Once; 2],
            Callee::Stub(_) => Function::Once,
            Callee::Function(start) => self.entered(space, start, &mut take),
        };
        [callee, call.caller().map_or(Function::Unknown, |caller| self.told(caller, take))]
    }

    /// The counter of a handler that begins at an address, or 0 if it does not recur.
    pub fn handler(&mut self, space: &AddressSpace, address: u64, take: impl FnMut() -> u32) -> u32 {
        match self.callee(space, (address, &[])) {
            Callee::Function(start) => match self.entered(space, start, take) {
                Function::Recurring(function) => function,
                Function::Once | Function::Unknown => 0,
            },
            Callee::Leaf(_) | Callee::Brief(_) | Callee::Stub(_) => 0,
        }
    }

    /// What a jump needs that goes to another function.
    pub fn onward(
        &mut self,
        space: &AddressSpace,
        jump: Jump,
        mut take: impl FnMut() -> u32,
    ) -> Option<Sequence> {
        let Jump { from: (from, code), to: (to, goal), instructions, ahead, is_free } = jump;
        let end = from + code.len() as u64 - 1;
        let is_stub = self.starts.is_stub(space, from, code);
        // Nearly all lead from a function to itself.
        if !is_stub && self.is_one_function(space, end, to) && !self.starts.is_stub(space, to, goal) {
            return None;
        }
        let callee = self.callee(space, (to, goal));
        let to_stub = matches!(callee, Callee::Stub(_));
        if !is_stub && !to_stub {
            self.leads(space, end, to);
        } else if let Some(node) = self.node(space, callee) {
            self.recursion.leads(if is_stub { Some(from) } else { self.starts.start(space, end) }, node);
        }
        let (before, after) = (self.starts.start(space, end), self.starts.start(space, to));
        let is_another = to_stub || (after.is_some() && before != after);
        let jumps = if is_stub { Some(from) } else { before };
        if !is_stub && !is_another {
            // What nothing is told of may ask of what function the latest frame is.
            jumps.filter(|_| after.is_none()).into_iter().for_each(|from| self.held.except(from));
            return None;
        }
        let entered = match callee {
            Callee::Function(start) => self.entered(space, start, &mut take),
            Callee::Leaf(_) | Callee::Brief(_) | Callee::Stub(_) => Function::Once,
        };
        let left = match before {
            _ if is_stub => Function::Once,
            Some(start) => self.told(start, take),
            None => Function::Unknown,
        };
        let sequence = match (left, entered) {
            (Function::Once, Function::Once) => None,
            (Function::Once, Function::Recurring(function)) if is_stub => {
                Some(Sequence::Pass(Pass { function, instructions, borrowed: false }))
            }
            _ => Some(Sequence::Tail(Tail { callee: entered, ahead, is_free, borrowed: false })),
        };
        let goal = if let Callee::Leaf(start) = callee { Some(start) } else { self.node(space, callee) };
        match (jumps, goal) {
            (Some(from), _) if sequence.is_some() => self.held.except(from),
            (Some(from), Some(to)) => self.held.jumps(from, to),
            _ => {}
        }
        sequence
    }

    /// Notes that a thread which leaves by `exit`, having moved its stack pointer, goes on at `to`: it may be in
    /// another function then, by what it does each time (`relink.rs`).
    pub fn moves_to(&mut self, space: &AddressSpace, exit: u32, to: u64, take: impl FnMut() -> u32) {
        let begins = self.starts.start(space, to).filter(|&start| start == to);
        if let Some(start) = begins {
            // There must be a counter once it recurs.
            self.function(start, take);
        }
        self.moved_to.insert(exit, begins);
    }

    /// Where the function begins that holds an address, if it is known.
    fn function_at(&mut self, space: &AddressSpace, address: u64) -> Option<u64> {
        self.starts.start(space, address)
    }

    /// Whether an address is known to be in the function that begins at another.
    fn is_in(&mut self, space: &AddressSpace, address: u64, start: u64) -> bool {
        self.starts.start(space, address) == Some(start)
    }

    /// Straight from its first instruction on, the code at an address comes to a call.
    pub fn comes_to_call(&mut self, space: &AddressSpace, start: u64) {
        self.starts.comes_to_call(space, start);
    }

    /// Whether two addresses are known to be of one function.
    pub fn is_one_function(&mut self, space: &AddressSpace, one: u64, other: u64) -> bool {
        let start = self.starts.start(space, one);
        start.is_some() && start == self.starts.start(space, other)
    }

    /// Notes that control may come from a block at `from` to one at `to` other than by a call: it may be in another
    /// function then.
    pub fn leads(&mut self, space: &AddressSpace, from: u64, to: u64) {
        if let Some(whole) = self.starts.start(space, from) {
            self.starts.join(space, whole, to);
        }
        self.lands(space, from, to);
    }

    /// The same where the stack pointer moved, by an exception or a long jump.
    fn lands(&mut self, space: &AddressSpace, from: u64, to: u64) {
        let [from, to] = [from, to].map(|address| self.starts.start(space, address));
        if from != to {
            self.recursion.leads(from, to.unwrap_or(recursion::ELSEWHERE));
        }
    }

    /// What is entered at an address where a block of `code` begins.
    fn callee(&mut self, space: &AddressSpace, (address, code): (u64, &[u8])) -> Callee {
        if self.starts.is_stub(space, address, code) {
            Callee::Stub(address)
        } else if self.starts.leaf(space, address) == Some(address) {
            Callee::Leaf(address)
        } else {
            Callee::Function(self.starts.start(space, address).unwrap_or(address))
        }
    }

    /// What stands for what is called or jumped to where it is noted what leads to what; none for a leaf, which
    /// leads nowhere.
    fn node(&mut self, space: &AddressSpace, callee: Callee) -> Option<u64> {
        match callee {
            Callee::Function(start) => Some(self.starts.start(space, start).unwrap_or(recursion::ELSEWHERE)),
            Callee::Stub(address) => Some(address),
            Callee::Leaf(_) | Callee::Brief(_) => None,
        }
    }

    /// What is noted of a function that is entered, which may be one that nothing is told of.
    fn entered(&mut self, space: &AddressSpace, start: u64, mut take: impl FnMut() -> u32) -> Function {
        match self.starts.start(space, start) {
            Some(start) => self.told(start, take),
            None => recurring(self.function(start, &mut take)),
        }
    }

    /// What is noted of a function that something is told of.
    fn told(&mut self, start: u64, take: impl FnMut() -> u32) -> Function {
        if self.recursion.recurs(start) {
            return recurring(self.function(start, take));
        }
        self.relied_on.push(start);
        Function::Once
    }

    /// Notes what the code just made relies on.
    pub fn rely(&mut self, way: Way) {
        for start in self.relied_on.drain(..) {
            self.recursion.relied_on(start, way);
        }
    }

    /// The same of the way of an exit to a block.
    pub fn rely_by_exit(&mut self, exit: u32, to: u32, edge: Edge) {
        if !self.relied_on.is_empty() {
            self.rely(Way::Exit(self.relying.len() as u32));
            self.relying.push(Relying { exit, to, edge });
        }
    }

    /// A way of an exit that relied on something, by the number under which it was noted.
    pub fn relying(&self, number: u32) -> Relying {
        self.relying[number as usize]
    }

    /// The counter of a function that begins at an address, or 0 if it does not recur.
    fn recurring(&self, start: u64) -> u32 {
        let recurs = self.recursion.recurs(start);
        if recurs { self.functions.get(&start).copied().unwrap_or(0) } else { 0 }
    }

    /// What a thread that leaves by an exit is on its way into, if it is known: the function's counter, or 0 if it
    /// does not recur.
    fn moved_into(&self, exit: u32) -> Option<u32> {
        self.moved_to.get(&exit).copied().flatten().map(|start| self.recurring(start))
    }

    /// Keeps what was noted of an edge whose code is to be made anew.
    pub fn keep(&mut self, place: u64, to: u32, edge: Edge) {
        self.kept.insert((place, to), edge);
    }

    /// What was noted of an edge whose code is made anew.
    pub fn kept(&self, place: u64, to: u32) -> Option<Edge> {
        self.kept.get(&(place, to)).copied()
    }

    /// The counter of the function that begins at an address.
    fn function(&mut self, start: u64, mut take: impl FnMut() -> u32) -> u32 {
        *self.functions.entry(start).or_insert_with(|| place(take()))
    }

    /// Adds a sequence to translated code.
    pub fn emit(&mut self, code: &mut Code, sequence: Sequence) {
        self.sequences.add(code.here(), sequence);
        sequence.emit(code);
    }

    /// Puts the rest of a return that may not end the latest call beside other cold code: its address.
    pub fn put_unmatched(&mut self, region: &mut Region, exit: u32) -> u64 {
        let rest = Sequence::Unmatched(exit);
        // It is the same wherever it stands.
        let mut code = Code::at(0);
        let address = region.take_cold(rest.emit(&mut code) as u64);
        self.sequences.add_cold(address, rest);
        cache::write(address, &code.bytes);
        address
    }

    /// What was added at an address, by number.
    pub fn sequence_at(&self, address: u64) -> Option<u32> {
        self.sequences.at(address)
    }

    /// By its number.
    pub fn sequence(&self, number: u32) -> Sequence {
        self.sequences.get(number)
    }
}

fn place_of(space: &AddressSpace, returns_to: u64) -> Return {
    // Past a call that is the last of its mapping there may be another.
    returns_to.wrapping_add(space.identity(returns_to.wrapping_sub(1)))
}
