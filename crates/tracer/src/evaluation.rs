//! Evaluating the program's code in a copy of a thread's registers and memory, instruction by instruction.

use crate::ahead::{Step, Steps};
use crate::been::Been;
use crate::bench::Bench;
use crate::shadow::{Lines, Shadow, Source};
use crate::shelf::Shelf;
use crate::visits::{Visit, Visits};
use timewise_abi::tracing::{Effort, End, RECENT, Reach};
use timewise_isa::{Control, State, evaluate};

/// What evaluation works with, kept from signal to signal; all zeros is a valid start.
#[repr(C)]
pub struct Work {
    lines: Lines,
    shelf: Shelf,
    been: Been,
    visits: Visits,
}

/// What it takes to ask the kernel for a line of memory, to execute an instruction on the bench, and one with
/// vectors there, in instructions evaluated.
const FETCH_EFFORT: u32 = 8;
const BENCH_EFFORT: u32 = 2;
const VECTORS_EFFORT: u32 = 4;

/// `int3`: a handler goes on from there, or whoever put it there, as the host does where the program begins.
const TRAP: u8 = 0xcc;

/// `cpuid`, which hypervisors execute instead of the processor. Where a thread stood at a breakpoint there, they leave
/// the flag in force that lets it go on, and it runs over a breakpoint right behind as well.
const CPUID: [u8; 2] = [0x0f, 0xa2];

/// Which visits to places can be waited for.
#[derive(Clone, Copy, Debug)]
pub struct Visited {
    /// The last of them, counted from 1; 0 if none is.
    pub most: u32,
    /// Whether one where evaluation begins counts: a breakpoint at which the thread stands does not see it.
    pub first: bool,
}

/// Evaluation during one signal.
pub struct Evaluation<'a, S> {
    shadow: Shadow<'a, S>,
    shelf: &'a mut Shelf,
    been: &'a mut Been,
    visits: &'a mut Visits,
    bench: Option<Bench>,
    instructions: u32,
    /// Those of them that write memory.
    stores: u32,
    /// Whether the first instruction counts as a place that the thread comes by.
    counts_first: bool,
    /// Branches that were noted before.
    noted_before: Option<u64>,
}

impl<'a, S: Source> Evaluation<'a, S> {
    /// Begins with memory as it is now; places are waited for as `visited` says.
    pub fn new(work: &'a mut Work, source: S, bench: Option<Bench>, visited: Visited) -> Evaluation<'a, S> {
        work.lines.forget();
        work.shelf.doubt();
        work.been.forget();
        work.visits.forget(visited.most);
        let shadow = Shadow::new(&mut work.lines, source);
        Evaluation {
            shadow,
            shelf: &mut work.shelf,
            been: &mut work.been,
            visits: &mut work.visits,
            bench,
            instructions: 0,
            stores: 0,
            counts_first: visited.first,
            noted_before: None,
        }
    }
}

impl<S: Source> Evaluation<'_, S> {
    /// The last visit to a place that can be waited for.
    pub fn latest_visit(&self) -> Option<Visit> {
        self.visits.latest(self.noted_before.unwrap_or_default())
    }
}

impl<S> Evaluation<'_, S> {
    /// Why there is nothing more to be evaluated.
    fn ended(&self) -> Step {
        Step::Ended(if self.shadow.is_full { End::Patience } else { End::Unreadable })
    }
}

impl<S: Source> Steps for Evaluation<'_, S> {
    fn step(&mut self, at: u64, state: &mut State) -> Step {
        let before = self.shadow.asked;
        if core::mem::take(&mut self.shadow.has_code_changed) {
            self.shelf.doubt();
        }
        let mut is_trap = false;
        let shadow = &mut self.shadow;
        let kept = self.shelf.decoded(at, |bytes| {
            let length = shadow.code(at, bytes);
            is_trap = bytes[0] == TRAP || bytes.starts_with(&CPUID);
            (!is_trap).then_some(length)
        });
        let Some(decoded) = kept else {
            return if is_trap { Step::Ended(End::NotFollowed) } else { self.ended() };
        };
        self.shadow.has_written = false;
        let mut effort = 1;
        let way = match evaluate(decoded, state, &mut self.shadow) {
            Some(way) => Some(way),
            None if decoded.control() == Control::Next => self.bench.as_mut().and_then(|bench| {
                let lone = bench.lone(decoded, state)?;
                effort += if lone.vectors { VECTORS_EFFORT } else { BENCH_EFFORT };
                let is_done = bench.execute(&lone, state, &mut self.shadow);
                is_done.then(|| timewise_isa::Way { address: decoded.next(), taken: false })
            }),
            None => None,
        };
        effort += FETCH_EFFORT * (self.shadow.asked - before);
        match way {
            Some(way) => {
                self.been.mark(at);
                self.instructions += 1;
                self.stores += u32::from(self.shadow.has_written);
                Step::Went { way, control: decoded.control(), effort }
            }
            None if self.shadow.is_full || self.been.at(at) => self.ended(),
            None => {
                Step::Stuck { decoded: *decoded, stack_change: timewise_isa::stack_change(decoded.bytes()) }
            }
        }
    }

    fn instructions(&self) -> u32 {
        self.instructions
    }

    fn has_been(&self, address: u64) -> bool {
        self.been.at(address)
    }

    #[inline]
    fn effort(&self) -> Effort {
        Effort {
            instructions: self.instructions.into(),
            stores: self.stores.into(),
            lines: self.shadow.missed.into(),
        }
    }

    #[inline]
    fn came_by(&mut self, address: u64, reach: Reach, state: &State) {
        let before = *self.noted_before.get_or_insert(reach.pairs);
        self.shadow.part = (reach.pairs.wrapping_sub(before) / u64::from(RECENT)) as u8;
        if self.counts_first || self.instructions > 1 {
            self.visits.note(address, reach, state);
        }
    }
}
