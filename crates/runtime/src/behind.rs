//! What a conditional branch at the end of a unit leads to, right behind the branch.
//!
//! Such a unit has two ways out: the branch, and a jump behind it. What is taken first is put over the jump, with the
//! condition turned if it is what the branch leads to, so that code stands in the order in which it was first executed
//! and nothing is executed in between. That is done only while no second thread could be between the branch and the
//! jump. It is undone at any time: the branch becomes a jump to a copy of both, in room that was left behind the jump's
//! stub, and a branch again if the same is to stand behind it.

use crate::cache;
use crate::emit::{BRANCH, Code};
use crate::state::{Exit, Process};
use crate::translate::EXIT_STUB;
use timewise_abi::log::edge_kind;

/// Bytes that the copy takes at most, from the end of the stub on.
pub const ROOM: u64 = 4 + BRANCH.len() as u64 + COPY;

/// Bytes of the copy, a branch and a jump: the displacement of the branch stands at a multiple of 4, and the jump begins
/// at one of 8, so that each can be changed by one store.
pub const COPY: u64 = BRANCH.len() as u64 + 4 + 5;

/// The two ways out of a unit that ends at a conditional branch: the exit to what follows in the program is the one after
/// that to what the branch leads to.
#[derive(Clone, Copy)]
struct Ends {
    /// The exit to what the branch leads to.
    taken: u32,
}

/// A place over the jump behind a branch.
#[derive(Clone, Copy, Debug)]
pub struct Behind {
    /// The exit that is to lead there.
    exit: u32,
    /// The other one.
    other: u32,
    /// The displacement of the branch.
    branch: u64,
    /// Whether the branch leads to `exit` so far.
    turns: bool,
}

impl Ends {
    /// Those of which `exit` is one.
    fn of(process: &Process, exit: u32) -> Option<Ends> {
        let exits = &process.exits;
        let taken = match exits.get(exit as usize)?.kind {
            edge_kind::BRANCH => exit,
            edge_kind::FALLTHROUGH => exit.checked_sub(1)?,
            _ => return None,
        };
        let [one, two] = [taken, taken + 1].map(|exit| exits.get(exit as usize));
        let (one, two) = (one?, two?);
        let are_two =
            (one.kind, two.kind) == (edge_kind::BRANCH, edge_kind::FALLTHROUGH) && one.from == two.from;
        are_two.then_some(Ends { taken })
    }

    /// The exit to what follows.
    fn passed(self) -> u32 {
        self.taken + 1
    }

    /// The one that `exit` is not.
    fn other(self, exit: u32) -> u32 {
        if exit == self.taken { self.passed() } else { self.taken }
    }
}

/// Where code is to stand in a region that `exit` leads to: over the jump behind its branch, which is to be taken then,
/// behind its jump, or where there is room next.
pub fn room(process: &mut Process, region: usize, exit: u32) -> (u64, Option<Behind>) {
    match find(process, region, exit) {
        Some(behind) => (behind.branch + 4, Some(behind)),
        None => {
            let place = process.exits[exit as usize].place();
            (process.cache.region(region).hot_behind(place), None)
        }
    }
}

/// The place over the jump behind the branch of which `exit` is one way, if nothing stands behind that yet in a region.
fn find(process: &mut Process, region: usize, exit: u32) -> Option<Behind> {
    if !process.is_alone {
        return None;
    }
    let ends = Ends::of(process, exit)?;
    let [branch, jump] = [ends.taken, ends.passed()].map(|exit| process.exits[exit as usize].place());
    let (branch, jump) = (branch?, jump?);
    let is_free = cache::is_branch(branch) && process.cache.region(region).ends_with_jump(jump);
    is_free.then_some(Behind { exit, other: ends.other(exit), branch, turns: exit == ends.taken })
}

impl Behind {
    /// Has the exit lead there. What is to stand there comes next.
    pub fn take(self, process: &mut Process) {
        let Behind { exit, other, branch, turns } = self;
        if turns {
            let passed = &mut process.exits[other as usize];
            passed.distance = branch.wrapping_sub(passed.stub) as i32;
            cache::turn(branch, goes_to(passed, branch));
        }
        let exit = &mut process.exits[exit as usize];
        (exit.distance, exit.behind) = (0, true);
    }
}

/// Has an exit no longer run on into what stands behind its branch, but leave by its stub. Other threads may be there.
pub fn part(process: &mut Process, number: u32) {
    let Some(ends) = Ends::of(process, number) else { return };
    let exit = process.exits[number as usize];
    let other = process.exits[ends.other(number) as usize];
    let Some(branch) = other.place() else { return };
    let stub_end = process.exits[ends.passed() as usize].stub + EXIT_STUB;
    let copy = stub_end.next_multiple_of(8) + BRANCH.len() as u64;
    let mut code = Code::at(copy);
    let at = [code.plain_branch_here(cache::condition(branch)), code.plain_jump_here()];
    let places = at.map(|at| copy + at as u64);
    code.fix_to(at[0], goes_to(&other, places[0]));
    code.fix_to(at[1], exit.stub);
    cache::write(copy, &code.bytes);
    process.copies.insert(copy);
    cache::branch_to_jump(branch, copy);
    for (number, place) in [ends.other(number), number].into_iter().zip(places) {
        let exit = &mut process.exits[number as usize];
        (exit.distance, exit.behind) = (place.wrapping_sub(exit.stub) as i32, false);
    }
    process.exits[number as usize].parted = true;
}

/// Has an exit that was parted, and is to lead to the same again, run on into it as before, if no second thread could be
/// on its way.
pub fn rejoin(process: &mut Process, number: u32) {
    let exit = process.exits[number as usize];
    let ends = Ends::of(process, number).filter(|_| exit.parted && process.is_alone);
    let Some(ends) = ends else { return };
    let other = &mut process.exits[ends.other(number) as usize];
    let Some(copied) = other.place() else { return };
    // What is behind it begins there.
    let branch = exit.goal - 4;
    cache::jump_to_branch(branch, cache::condition(copied), goes_to(other, branch));
    other.distance = branch.wrapping_sub(other.stub) as i32;
    process.copies.remove(&(copied - BRANCH.len() as u64));
    let exit = &mut process.exits[number as usize];
    (exit.distance, exit.behind) = (0, true);
}

/// Where an exit that does not lead right behind its branch leads from a displacement at `place`. Its stub is always in
/// reach.
fn goes_to(exit: &Exit, place: u64) -> u64 {
    if exit.linked && cache::reaches(place, exit.goal) { exit.goal } else { exit.stub }
}
