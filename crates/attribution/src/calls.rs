//! Cycles by call stack, for flame graphs.

use std::collections::HashMap;
use std::sync::Arc;

use timewise_trace::{Record, Worker};

use crate::{Parts, State};

/// Whether an instruction calls or returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// What it leads to is called.
    Call,
    /// What it leads to is the caller.
    Return,
    /// Neither.
    None,
}

/// What is known of a static instruction.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The function that it belongs to, by the caller's numbers.
    pub function: u32,
    /// Whether it calls or returns.
    pub transfer: Transfer,
}

/// Frames deeper than this are taken together with the one at it.
const DEEPEST: u32 = 1024;

/// A worker that follows calls and returns as they commit, and sums cycles by call stack.
///
/// Cycles in which nothing commits go to the stack of what commits next or, behind a flush, to that of
/// what flushed, so a function's cycles are those of the reference. Calls that began before the trace are
/// not known; a function that is jumped to takes the place of the one that jumps.
pub struct CallStacks {
    places: Arc<[Place]>,
    nodes: Vec<Node>,
    children: HashMap<(u32, u32), u32>,
    /// The frame of the last instruction, and how many calls below it are too deep to have one.
    now: u32,
    too_deep: u64,
    /// What the last instruction does.
    transfer: Transfer,
    /// The first sequence number that has not committed: µops that belong to one instruction follow no
    /// call twice.
    next: u64,
    is_flushed: bool,
    waiting: u64,
}

struct Node {
    parent: u32,
    function: u32,
    depth: u32,
    parts: Parts,
}

impl CallStacks {
    /// Nothing is called yet. `places` tells about every static instruction; one that it does not know is
    /// taken to be of the function that runs.
    pub fn new(places: Arc<[Place]>) -> Self {
        let outermost = Node { parent: 0, function: u32::MAX, depth: 0, parts: Parts::ZERO };
        Self {
            places,
            nodes: vec![outermost],
            children: HashMap::new(),
            now: 0,
            too_deep: 0,
            transfer: Transfer::None,
            next: 0,
            is_flushed: false,
            waiting: 0,
        }
    }

    /// The stacks in the folded form that flame graphs are drawn from: a line each, functions from the
    /// outermost joined by semicolons, then cycles; sorted. Cycles before the first function that is known
    /// are left out.
    pub fn folded(&self, name: impl Fn(u32) -> String) -> String {
        let spent = self.nodes.iter().skip(1).filter(|node| node.parts != Parts::ZERO);
        let mut lines: Vec<String> = spent
            .map(|node| {
                let mut names = vec![name(node.function)];
                let mut above = node.parent;
                while above != 0 {
                    let caller = &self.nodes[above as usize];
                    names.push(name(caller.function));
                    above = caller.parent;
                }
                names.reverse();
                format!("{} {:.0}\n", names.join(";"), node.parts.as_cycles())
            })
            .collect();
        lines.sort();
        lines.concat()
    }

    fn step(&mut self, record: &Record) {
        let commits = record.commits();
        for entry in commits {
            let sequence = record.sequence(entry);
            if sequence >= self.next {
                self.next = sequence + 1;
                self.arrive(entry.instruction);
            }
            let waited = Parts::cycles(std::mem::take(&mut self.waiting));
            self.spend(waited + Parts::share(1, commits.len()));
        }
        if let Some(youngest) = commits.last() {
            self.is_flushed = State::behind(youngest) != State::Drained;
        } else if record.is_empty() && self.is_flushed {
            self.spend(Parts::cycles(u64::from(record.repeat)));
        } else {
            self.waiting += u64::from(record.repeat);
        }
    }

    fn spend(&mut self, parts: Parts) {
        self.nodes[self.now as usize].parts += parts;
    }

    /// An instruction commits: finds its frame, from what the last one did.
    fn arrive(&mut self, instruction: u32) {
        let Some(place) = self.places.get(instruction as usize).copied() else { return };
        match std::mem::replace(&mut self.transfer, place.transfer) {
            Transfer::Call => self.call(place.function),
            Transfer::Return => self.leave(place.function),
            Transfer::None => self.stay(place.function),
        }
    }

    fn call(&mut self, function: u32) {
        if self.nodes[self.now as usize].depth >= DEEPEST {
            self.too_deep += 1;
        } else {
            self.now = self.child(self.now, function);
        }
    }

    fn leave(&mut self, function: u32) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
        } else {
            self.now = self.nodes[self.now as usize].parent;
            self.stay(function);
        }
    }

    fn stay(&mut self, function: u32) {
        let node = &self.nodes[self.now as usize];
        if self.too_deep == 0 && node.function != function {
            self.now = self.child(node.parent, function);
        }
    }

    fn child(&mut self, parent: u32, function: u32) -> u32 {
        let next = self.nodes.len() as u32;
        let depth = self.nodes[parent as usize].depth + 1;
        *self.children.entry((parent, function)).or_insert_with(|| {
            self.nodes.push(Node { parent, function, depth, parts: Parts::ZERO });
            next
        })
    }
}

impl Worker<Record> for CallStacks {
    fn take(&mut self, part: &[Record]) {
        part.iter().for_each(|record| self.step(record));
    }
}

#[cfg(test)]
mod tests {
    use timewise_trace::{Flags, Record, Worker};

    use super::{CallStacks, Place, Transfer};

    /// Functions a, b and c; instruction `n` of each is number `10 * function + n`: 0 does nothing, 1
    /// calls, 2 returns.
    fn stacks(instructions: &[u32]) -> CallStacks {
        let places: Vec<Place> = (0..30)
            .map(|instruction| Place {
                function: instruction / 10,
                transfer: [Transfer::None, Transfer::Call, Transfer::Return]
                    [(instruction % 10).min(2) as usize],
            })
            .collect();
        let mut stacks = CallStacks::new(places.into());
        for (oldest, instruction) in (0..).zip(instructions) {
            let mut record = Record { cycle: oldest, oldest, repeat: 1, in_flight: 1, ..Record::default() };
            (record.valid, record.committing) = (1, 1);
            record.entries[0].instruction = *instruction;
            stacks.take(&[record]);
        }
        stacks
    }

    fn folded(instructions: &[u32]) -> String {
        stacks(instructions).folded(|function| char::from(b'a' + function as u8).to_string())
    }

    #[test]
    fn calls_nest_and_returns_come_back() {
        assert_eq!(folded(&[0, 1, 10, 11, 20, 22, 12, 0, 0]), "a 4\na;b 3\na;b;c 2\n");
    }

    #[test]
    fn a_jump_takes_the_callers_place() {
        assert_eq!(folded(&[0, 1, 10, 20, 22, 0]), "a 3\na;b 1\na;c 2\n");
    }

    #[test]
    fn returns_to_callers_before_the_trace_are_frames_of_their_own() {
        assert_eq!(folded(&[20, 22, 10, 12, 0]), "a 1\nb 2\nc 2\n");
    }

    #[test]
    fn recursion_ends_where_it_gets_too_deep() {
        let mut instructions = vec![1; 3000];
        instructions.extend([2; 3000]);
        instructions.push(0);
        let text = folded(&instructions);
        assert_eq!(text.lines().next(), Some("a 2"), "the first and the last");
        assert_eq!(text.lines().count(), 1024);
    }

    #[test]
    fn waiting_is_the_next_functions_and_flushes_are_the_last_ones() {
        let mut stacks = stacks(&[0, 1]);
        let empty = Record { cycle: 2, oldest: 2, repeat: 5, ..Record::default() };
        let mut commit = Record { cycle: 7, repeat: 1, in_flight: 1, valid: 1, committing: 1, ..empty };
        commit.entries[0].instruction = 10;
        commit.entries[0].flags = Flags::FLUSH;
        let flushed = Record { cycle: 8, oldest: 3, repeat: 7, ..empty };
        stacks.take(&[empty, commit, flushed]);
        assert_eq!(stacks.folded(|function| function.to_string()), "0 2\n0;1 13\n");
    }
}
