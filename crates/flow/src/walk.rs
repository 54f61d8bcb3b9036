//! What a sample belongs to: all that stands on its stack, of each function the most recent instance.
//!
//! A sample is charged to the instruction before the one that it names, which may belong to another function:
//! then the stack is made that of the instruction that is charged. Before a function's first instruction that is
//! the call, whose own frame goes from the stack; where a call returns to it is the callee's return, which stands
//! above a frame of that call.

use crate::analysis::Analysis;
use crate::call_sites::{CallSites, Site};
use crate::code::InstructionId;
use crate::frames::Frame;
use crate::loops::LoopId;
use crate::origin::Origins;
use crate::routine::RoutineId;
use timewise_isa::Control;
use timewise_profile::{BlockId, StackId};

/// Something that has a total.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Thing {
    /// A function.
    Routine(RoutineId),
    /// A loop.
    Loop(LoopId),
    /// A row of the call sites.
    Call(usize),
}

/// Who called: the frames of a stack, and whoever must have called its outermost one.
#[derive(Clone, Copy, Debug)]
pub struct Callers {
    /// The innermost frame.
    pub frames: Option<StackId>,
    /// The outermost function that the stack shows.
    pub outermost: Option<RoutineId>,
}

/// Walks stacks outwards.
pub struct Walker<'a> {
    analysis: &'a Analysis<'a>,
    sites: &'a mut CallSites,
    origins: &'a Origins,
    /// In which walk each routine was last met.
    last_met: Vec<u32>,
    walks: u32,
    things: Vec<Thing>,
    inner: Option<RoutineId>,
    /// The row of each frame's call, with the inner function for which it was looked up last.
    rows: Vec<Option<(Option<RoutineId>, usize)>>,
}

impl<'a> Walker<'a> {
    /// A walker that adds calls which only stacks show to `sites`.
    pub fn new(analysis: &'a Analysis<'a>, sites: &'a mut CallSites, origins: &'a Origins) -> Walker<'a> {
        let (routines, stacks) = (analysis.routines.len(), analysis.profile.stacks.len());
        let (last_met, rows) = (vec![0; routines], vec![None; stacks]);
        Walker { analysis, sites, origins, last_met, walks: 0, things: Vec::new(), inner: None, rows }
    }

    /// What a sample belongs to that fell on `sampled` and is charged to `instruction`.
    pub fn counted(
        &mut self,
        sampled: InstructionId,
        instruction: InstructionId,
        callers: Callers,
    ) -> &[Thing] {
        let code = &self.analysis.code;
        let block = code.instructions[instruction.index()].block;
        let sampled_block = code.instructions[sampled.index()].block;
        let left_by = code.control(block).filter(|_| sampled == code.blocks[sampled_block.index()].first);
        let is_last = instruction == code.blocks[block.index()].last();
        self.begin();
        self.meet_code(self.analysis.owner[block.index()], Some(block));
        let mut left = None;
        match left_by.filter(|_| is_last && sampled != instruction) {
            Some(Control::Return { .. }) => {
                if let Some(call) = code.call_returning_to(code.blocks[sampled_block.index()].place) {
                    self.meet_call(call);
                }
            }
            Some(Control::Call { .. } | Control::IndirectCall) => left = Some(block),
            _ => {}
        }
        self.meet_callers(callers, left)
    }

    /// What a sample belongs to that fell on code of `routine` that was not counted, or on no known code.
    pub fn stray(&mut self, routine: Option<RoutineId>, callers: Callers) -> &[Thing] {
        self.begin();
        if let Some(routine) = routine {
            self.meet_code(routine, None);
        }
        self.meet_callers(callers, None)
    }

    fn begin(&mut self) {
        self.walks += 1;
        self.things.clear();
        self.inner = None;
    }

    /// `left` is the call that is charged itself: it has not been made yet.
    fn meet_callers(&mut self, callers: Callers, left: Option<BlockId>) -> &[Thing] {
        let analysis = self.analysis;
        let is_left = left.is_some() && analysis.frames.call(callers.frames) == left;
        for frame in analysis.frames.from(callers.frames).skip(usize::from(is_left)) {
            self.meet_frame(frame);
        }
        let origins = self.origins;
        for call in callers.outermost.into_iter().flat_map(|routine| origins.beyond(routine)) {
            self.meet_call(call);
        }
        &self.things
    }

    fn meet_frame(&mut self, frame: &Frame) {
        let inner = self.inner;
        if self.meet_code(frame.routine, frame.call) {
            let known = self.rows[frame.id.index()].filter(|known| known.0 == inner);
            let row = known.map_or_else(
                || {
                    let site = frame.call.map_or(Site::Stray(frame.place), Site::Counted);
                    self.sites.on_stack(site, frame.routine, inner)
                },
                |known| known.1,
            );
            self.rows[frame.id.index()] = Some((inner, row));
            self.things.push(Thing::Call(row));
        }
    }

    fn meet_call(&mut self, call: BlockId) {
        let (inner, routine) = (self.inner, self.analysis.owner[call.index()]);
        if self.meet_code(routine, Some(call)) {
            let row = self.sites.on_stack(Site::Counted(call), routine, inner);
            self.things.push(Thing::Call(row));
        }
    }

    /// Meets a function and the loops that control is in; false if a more recent instance of it was met.
    fn meet_code(&mut self, routine: RoutineId, block: Option<BlockId>) -> bool {
        self.inner = Some(routine);
        if std::mem::replace(&mut self.last_met[routine.index()], self.walks) == self.walks {
            return false;
        }
        self.things.push(Thing::Routine(routine));
        if let Some(block) = block {
            self.things.extend(self.analysis.forest.around(block).map(Thing::Loop));
        }
        true
    }
}
