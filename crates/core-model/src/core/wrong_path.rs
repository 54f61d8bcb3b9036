//! What a wrong path leaves behind: lines and translations that the right one needs next.
//!
//! Behind a mispredicted branch a core executes the other way until the branch is executed itself. Often both ways
//! soon meet again, as those of an `if` do, and what lies behind that place is executed with the same operands, too
//! early: its loads ask for the lines that they will ask for again when they are executed for good. A trace has no
//! wrong path, but its instructions are known from other times when they were executed, and where it meets the right
//! one, so are its addresses. After Eyerman and others, "Simulating wrong-path instructions in decoupled
//! functional-first simulation" (2023).

use super::execute::Registers;
use super::{Core, Pending};
use crate::code::{Code, Static};
use crate::memory::{LINE, Side, Source, Why};
use crate::predict::Branch;
use std::collections::HashMap;
use std::ops::Range;
use timewise_isa::Order;
use timewise_replay::Access;
use timewise_trace::Observer;

/// What is not known on the wrong path is never ready.
const NEVER: u64 = u64::MAX / 2;

/// How far a wrong path is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    /// It is not, any more.
    #[default]
    Ended,
    /// So many instructions of the right path have not met it.
    Apart(usize),
    /// Both have met; so many instructions were fetched on the wrong one.
    Together(usize),
}

/// The wrong path of the latest mispredicted branch.
#[derive(Debug, Default)]
pub struct WrongPath {
    state: State,
    /// The latest number of the instruction at each address, of those that were met.
    known: HashMap<u64, u32>,
    /// Its instructions, up to where they are known.
    path: Vec<u32>,
    /// Their addresses, sorted, with their places in it.
    places: Vec<(u64, usize)>,
    /// When its first instruction is fetched.
    begun: u64,
    /// When the branch is executed, and it ends.
    ended: u64,
    registers: Registers,
}

impl WrongPath {
    /// Forgets it.
    pub fn end(&mut self) {
        self.state = State::Ended;
    }

    /// The first cycle that may still be asked for, on it or on the right path, which is at this one.
    pub fn floor(&self, cycle: u64) -> u64 {
        if self.state == State::Ended { cycle } else { cycle.min(self.begun) }
    }

    /// The instruction at an address, if it was met.
    fn at(&self, address: u64) -> Option<u32> {
        self.known.get(&address).copied()
    }

    /// The first place on it of the instruction at this address.
    fn place(&self, address: u64) -> Option<usize> {
        let at = self.places.partition_point(|place| place.0 < address);
        self.places.get(at).filter(|place| place.0 == address).map(|place| place.1)
    }
}

impl<O: Observer> Core<O> {
    /// Learns that these instructions of `code` are there, as it comes to one of them: wrong paths may lead through them
    /// from now on. What only other cores came to is not known here, and may be of another program.
    pub fn meet(&mut self, code: &Code, numbers: Range<u32>) {
        if self.processor.branches.wrong_path > 0 {
            self.wrong_path.known.extend(numbers.map(|number| (code.get(number).address, number)));
        }
    }

    /// Finds the way that a conditional branch, which went to `target`, was expected to go.
    pub(super) fn begin_wrong_path(&mut self, code: &Code, branch: &Pending, target: u64) {
        let most = self.processor.branches.wrong_path;
        let begun = self.fetcher.cycle() + 1;
        let is_long = begun + self.fetcher.depth() < branch.complete;
        let wrong = &mut self.wrong_path;
        wrong.end();
        if most == 0 || branch.branch != Branch::Conditional || !is_long {
            return;
        }
        wrong.path.clear();
        let mut at = wrong.at(if target == branch.next { branch.target } else { branch.next });
        while let Some(number) = at.filter(|_| wrong.path.len() < most) {
            wrong.path.push(number);
            let it = code.get(number);
            let is_taken = match it.branch {
                Branch::None => false,
                Branch::Conditional => self.predictor.foresees(it.address),
                Branch::Jump => true,
                // Where these lead is not known here.
                Branch::Call | Branch::IndirectJump | Branch::IndirectCall | Branch::Return => break,
            };
            at = wrong.at(if is_taken { it.target } else { it.address + u64::from(it.length) });
        }
        wrong.places.clear();
        let places = wrong.path.iter().enumerate().map(|(place, &number)| (code.get(number).address, place));
        wrong.places.extend(places);
        wrong.places.sort_unstable();
        wrong.registers.clone_from(&self.registers);
        (wrong.begun, wrong.ended, wrong.state) = (begun, branch.complete, State::Apart(0));
    }

    /// Executes an instruction of the right path on the wrong one, if it is on that, too.
    #[inline]
    pub(super) fn follow_wrong_path(&mut self, code: &Code, it: &Static, accesses: &[Access]) {
        if self.wrong_path.state != State::Ended {
            self.wrong_path.state = self.executed_early(code, it, accesses);
        }
    }

    fn executed_early(&mut self, code: &Code, it: &Static, accesses: &[Access]) -> State {
        let met = self.wrong_path.place(it.address);
        let wrong = &mut self.wrong_path;
        let fetched = match (wrong.state, met) {
            (State::Ended, _) => return State::Ended,
            (State::Together(fetched), _) => fetched,
            (State::Apart(_), Some(place)) => {
                for &alone in &wrong.path[..place] {
                    wrong.registers.write(&code.get(alone).writes, NEVER, 0);
                }
                place
            }
            (State::Apart(passed), None) => {
                wrong.registers.write(&it.writes, NEVER, 0);
                let goes_on = passed < self.processor.branches.wrong_path;
                return if goes_on { State::Apart(passed + 1) } else { State::Ended };
            }
        };
        let rename = &self.processor.rename;
        let dispatched = wrong.begun + (fetched / rename.width as usize) as u64 + self.fetcher.depth();
        let is_plain = it.order == Order::Free && it.repeats.is_none() && !it.evicts;
        if dispatched >= wrong.ended || !is_plain || fetched >= rename.reorder_buffer as usize {
            return State::Ended;
        }
        let earliest = dispatched + rename.to_issue;
        let address = wrong.registers.ready(&it.address_registers).max(earliest);
        let mut operands = wrong.registers.ready(&it.reads).max(earliest);
        let ended = wrong.ended;
        for access in accesses.iter().filter(|access| access.reads) {
            let begin = address + self.address_cycles(it);
            operands = operands.max(if begin < ended { self.load_early(it, access, begin) } else { NEVER });
        }
        let result = operands.saturating_add(u64::from(it.latency)).min(NEVER);
        let wrong = &mut self.wrong_path;
        wrong.registers.write(&it.writes, result, self.sequence);
        wrong.registers.turn(it.stack_top);
        State::Together(fetched + usize::from(it.entries))
    }

    /// Loads on the wrong path; gives when the data are there. Of a page that is not there they never are, and the right
    /// path still touches it first.
    fn load_early(&mut self, it: &Static, access: &Access, cycle: u64) -> u64 {
        if self.pages.untouched(access.address, access.size).is_some() {
            return NEVER;
        }
        let page = self.pages.translate(Side::Data, access.address, cycle, &mut self.caches);
        match self.forwarding.find(access.address, access.size.min(64) as u32, page.ready) {
            Source::Cache => {
                let line = access.address >> LINE;
                self.pages.access(line, page.ready, Why::Load(it.address), &mut self.caches).ready
            }
            Source::Store { data, .. } => data.max(page.ready) + self.processor.loads.forward,
            Source::Blocked { .. } => NEVER,
        }
    }
}
