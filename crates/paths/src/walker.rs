//! Following threads through a program: counting the paths that each activation of a routine takes as they are, and
//! executing plans beside.
//!
//! A path runs along a routine's graph from block to block across the calls that it makes. The walker keeps the
//! activations of each thread; which one a return goes back to is told by the call that waits for it.

use crate::cfg::EdgeId;
use crate::plan::Plan;
use crate::program::Program;
use crate::tally::Tally;
use crate::transition::Transition;
use crate::truth::{Begun, Truth};
use timewise_flow::RoutineId;
use timewise_profile::{BlockId, EdgeKind};

/// What is known of a routine's paths.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The plans that are executed. The first one's cuts are those of the true paths.
    pub plans: Vec<Plan>,
    /// What each plan counted.
    pub tallies: Vec<Tally>,
    /// What there was to count.
    pub truth: Truth,
    /// Paths over edges that the edge profile does not have, or through code that it does not know: none of them is in
    /// `truth`, but a plan may have counted one before that.
    pub strayed: u64,
}

/// Counts paths.
#[derive(Debug)]
pub struct Walker<'a> {
    program: &'a Program<'a>,
    /// By routine.
    routines: Vec<Counted>,
    plans: usize,
    threads: Vec<Thread>,
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Position {
    /// Before its first block, or before that of a signal's handler.
    #[default]
    Outside,
    /// In a block.
    In(BlockId),
    /// Behind the last instruction of a block.
    Behind(BlockId),
    /// In code that the edge profile does not have.
    Unknown,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    position: Position,
    activations: Vec<Activation>,
    /// Of each activation in turn, one for each plan.
    registers: Vec<i64>,
    /// What signals interrupted: where the thread was, with how many activations.
    interrupted: Vec<(Position, usize)>,
    /// Whether it is about to go on there.
    returns: bool,
}

/// A routine that was entered and not left.
#[derive(Clone, Copy, Debug)]
struct Activation {
    routine: RoutineId,
    node: u32,
    /// The path that it is on, unless it strayed.
    path: Option<Begun>,
}

impl<'a> Walker<'a> {
    /// Of no thread yet. `plan` gives a routine's plans, as many for each.
    pub fn new(program: &'a Program<'a>, plan: impl Fn(RoutineId) -> Vec<Plan>) -> Walker<'a> {
        let routines = (0..program.graphs.len() as u32).map(|routine| {
            let plans = plan(RoutineId(routine));
            let tallies = vec![Tally::default(); plans.len()];
            Counted { plans, tallies, truth: Truth::default(), strayed: 0 }
        });
        let routines: Vec<Counted> = routines.collect();
        let plans = routines.first().map_or(0, |routine| routine.plans.len());
        Walker { program, routines, plans, threads: Vec::new() }
    }

    /// What was counted, by routine.
    pub fn routines(&self) -> &[Counted] {
        &self.routines
    }

    /// Paths that strayed, of all routines.
    pub fn strayed(&self) -> u64 {
        self.routines.iter().map(|routine| routine.strayed).sum()
    }

    /// The share of all instructions, as edges were counted, that are in routines through which no path went.
    pub fn share_missing(&self) -> f64 {
        let routines = (0..).map(RoutineId).zip(&self.routines);
        self.program.share(routines.filter(|(_, of)| of.truth.is_empty()).map(|(number, _)| number))
    }

    /// A thread begins with its next block, and one that went by this number before has ended.
    pub fn begin(&mut self, thread: usize) {
        self.end(thread);
    }

    /// A thread has ended, and all its activations with it.
    pub fn end(&mut self, thread: usize) {
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, Thread::default);
        }
        self.abandon(thread, 0);
        self.threads[thread] = Thread::default();
    }

    /// All threads have ended.
    pub fn finish(&mut self) {
        (0..self.threads.len()).for_each(|thread| self.end(thread));
    }

    /// A signal's handler is next.
    pub fn signal(&mut self, thread: usize) {
        let thread = &mut self.threads[thread];
        thread.interrupted.push((thread.position, thread.activations.len()));
        thread.position = Position::Outside;
    }

    /// The handler of the latest signal has returned: the thread goes on where it was.
    pub fn handled(&mut self, thread: usize) {
        let Some((position, depth)) = self.threads[thread].interrupted.pop() else { return };
        self.abandon(thread, depth);
        (self.threads[thread].position, self.threads[thread].returns) = (position, true);
    }

    /// The last instruction of a block was executed.
    pub fn complete(&mut self, thread: usize, block: BlockId) {
        let position = &mut self.threads[thread].position;
        if *position == Position::In(block) {
            *position = Position::Behind(block);
        }
    }

    /// Control comes to the first instruction of a block.
    pub fn arrive(&mut self, thread: usize, block: BlockId) {
        let returns = std::mem::take(&mut self.threads[thread].returns);
        if returns && self.threads[thread].position == Position::In(block) {
            return;
        }
        match self.threads[thread].position {
            Position::Outside => self.enter(thread, block),
            Position::Behind(from) => self.go(thread, from, block),
            Position::In(_) if returns => self.move_on(thread, block),
            Position::In(_) | Position::Unknown => self.find(thread, block),
        }
        self.threads[thread].position = Position::In(block);
    }

    /// Control comes to an instruction in the middle of a block.
    pub fn resume(&mut self, thread: usize, block: BlockId) {
        self.threads[thread].returns = false;
        if self.threads[thread].position == Position::In(block) {
            return;
        }
        self.find(thread, block);
        self.stray(thread);
        self.threads[thread].position = Position::In(block);
    }

    /// Control comes to code that the edge profile does not have.
    pub fn unknown(&mut self, thread: usize) {
        let of = &mut self.threads[thread];
        let returns = std::mem::take(&mut of.returns);
        // A handler sent it there.
        if matches!(std::mem::replace(&mut of.position, Position::Unknown), Position::In(_)) && returns {
            self.leave(thread);
        }
    }

    /// Control goes from the end of a block to another one.
    fn go(&mut self, thread: usize, from: BlockId, to: BlockId) {
        let kind = self.program.blocks.kind(from);
        match self.program.blocks.transition(from, to, kind) {
            Transition::Call => self.enter(thread, to),
            Transition::Jump => {
                self.leave(thread);
                self.enter(thread, to);
            }
            Transition::Within(_) | Transition::Unwinding
                if kind == EdgeKind::Return && self.is_in_handler(thread) =>
            {
                self.leave(thread);
                self.enter(thread, to);
            }
            Transition::Within(call) if kind == EdgeKind::Return && call != from => {
                self.leave(thread);
                match self.waiting(thread, |activation, program| {
                    activation.routine == program.blocks.owner(call) && activation.node == program.local(call)
                }) {
                    Some(depth) => {
                        self.abandon(thread, depth + 1);
                        self.step(thread, to);
                    }
                    None => self.enter(thread, to),
                }
            }
            Transition::Within(_) => self.step(thread, to),
            Transition::Unwinding => {
                self.leave(thread);
                let owner = self.program.blocks.owner(to);
                if let Some(depth) = self.waiting(thread, |activation, _| activation.routine == owner) {
                    self.abandon(thread, depth);
                }
                self.enter(thread, to);
            }
        }
    }

    /// Whether the latest activation is a signal's handler, which nobody called: what it returns to is entered.
    fn is_in_handler(&self, thread: usize) -> bool {
        let Thread { activations, interrupted, .. } = &self.threads[thread];
        interrupted.last().is_some_and(|(_, below)| activations.len() == below + 1)
    }

    /// Control comes to a block, nobody knows from where.
    fn find(&mut self, thread: usize, block: BlockId) {
        let blocks = &self.program.blocks;
        let (owner, call) = (blocks.owner(block), blocks.call_before(block));
        let is_start = blocks.is_start(block);
        let returned = call.and_then(|call| {
            self.waiting(thread, |activation, program| {
                activation.routine == owner && activation.node == program.local(call)
            })
        });
        if let Some(depth) = returned {
            self.abandon(thread, depth + 1);
            self.step(thread, block);
        } else if is_start {
            self.enter(thread, block);
        } else {
            if let Some(depth) = self.waiting(thread, |activation, _| activation.routine == owner) {
                self.abandon(thread, depth + 1);
                self.stray(thread);
                if let Some(activation) = self.threads[thread].activations.last_mut() {
                    activation.node = self.program.local(block);
                }
                return;
            }
            self.enter(thread, block);
            self.stray(thread);
        }
    }

    /// The most recent activation that is as `wanted`, by its position.
    fn waiting(&self, thread: usize, wanted: impl Fn(&Activation, &Program) -> bool) -> Option<usize> {
        self.threads[thread].activations.iter().rposition(|activation| wanted(activation, self.program))
    }

    /// A routine is entered.
    fn enter(&mut self, thread: usize, block: BlockId) {
        let routine = self.program.blocks.owner(block);
        let (graph, node) = (&self.program.graphs[routine.index()], self.program.local(block));
        let of = &mut self.threads[thread];
        of.registers.resize(of.registers.len() + self.plans, 0);
        let edge = graph.find(graph.entry(), node);
        let counted = &mut self.routines[routine.index()];
        let path = edge.map(|_| counted.truth.step(Begun::ENTERED, node));
        counted.strayed += u64::from(path.is_none());
        of.activations.push(Activation { routine, node, path });
        if let Some(edge) = edge {
            self.follow(thread, edge, false);
        }
    }

    /// The latest activation goes on to another block.
    fn step(&mut self, thread: usize, block: BlockId) {
        let to = self.program.local(block);
        let Some(activation) = self.threads[thread].activations.last().copied() else { return };
        let routine = activation.routine.index();
        let Some(edge) = self.program.graphs[routine].find(activation.node, to) else {
            return self.move_on(thread, block);
        };
        let counted = &mut self.routines[routine];
        let is_cut = counted.plans.first().is_some_and(|plan| plan.cuts[edge.index()]);
        let has_strayed = activation.path.is_none();
        if is_cut {
            activation.path.into_iter().for_each(|path| counted.truth.end(path, false));
        }
        let begun = if is_cut { Some(Begun::RESUMED) } else { activation.path };
        let mut path = begun.map(|begun| counted.truth.step(begun, to));
        // A path that strayed is over at the next edge that all plans cut.
        let all_cut = || counted.plans.iter().all(|plan| plan.cuts[edge.index()]);
        if has_strayed && !(is_cut && all_cut()) {
            path = None;
        } else {
            self.follow(thread, edge, has_strayed);
        }
        if let Some(activation) = self.threads[thread].activations.last_mut() {
            (activation.node, activation.path) = (to, path);
        }
    }

    /// Control leaves a routine and comes to a block by itself: the way between is not one of the program's.
    fn move_on(&mut self, thread: usize, block: BlockId) {
        self.leave(thread);
        self.enter(thread, block);
    }

    /// The latest activation ends.
    fn leave(&mut self, thread: usize) {
        let Some(&Activation { routine, node, path }) = self.threads[thread].activations.last() else {
            return;
        };
        let graph = &self.program.graphs[routine.index()];
        match (graph.find(node, graph.exit()), path) {
            (Some(edge), Some(path)) => {
                self.routines[routine.index()].truth.end(path, true);
                self.follow(thread, edge, false);
            }
            (None, Some(_)) => self.routines[routine.index()].strayed += 1,
            (_, None) => {}
        }
        let of = &mut self.threads[thread];
        of.activations.pop();
        of.registers.truncate(of.activations.len() * self.plans);
        let depth = of.activations.len();
        of.interrupted.retain(|(_, below)| *below <= depth);
    }

    /// All activations but so many end.
    fn abandon(&mut self, thread: usize, depth: usize) {
        while self.threads[thread].activations.len() > depth {
            self.leave(thread);
        }
    }

    /// The path of the latest activation is given up.
    fn stray(&mut self, thread: usize) {
        if let Some(activation) = self.threads[thread].activations.last_mut() {
            let counted = &mut self.routines[activation.routine.index()];
            counted.strayed += u64::from(activation.path.take().is_some());
        }
    }

    /// Executes what the plans have for an edge; only what begins a path if the one before strayed.
    fn follow(&mut self, thread: usize, edge: EdgeId, only_begins: bool) {
        let Thread { activations, registers, .. } = &mut self.threads[thread];
        let Some(activation) = activations.last() else { return };
        let first = (activations.len() - 1) * self.plans;
        let Counted { plans, tallies, .. } = &mut self.routines[activation.routine.index()];
        for ((plan, tally), register) in plans.iter().zip(tallies).zip(&mut registers[first..]) {
            if only_begins {
                tally.execute(plan, plan.beginning(edge), register);
            } else {
                tally.follow(plan, edge, register);
            }
        }
    }
}
