//! The callers that stand on sampled stacks: which call each frame is in, and whose.

use crate::code::Code;
use crate::routine::RoutineId;
use crate::samples::Samples;
use timewise_profile::{BlockId, Place, Profile, StackId};

/// A caller on a stack.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its own place in the tree of stacks.
    pub id: StackId,
    /// The last byte of its call.
    pub place: Place,
    /// The block that ends in the call; `None` if its code was not counted.
    pub call: Option<BlockId>,
    /// Its function.
    pub routine: RoutineId,
    /// The frame that called it.
    pub caller: Option<StackId>,
}

/// The frames of all stacks that samples in user mode refer to.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    of: Vec<Option<Frame>>,
}

impl Frames {
    /// Finds them; `owner` gives the routine of any code, `is_start` whether threads begin there.
    pub(crate) fn new(
        profile: &Profile,
        code: &Code,
        samples: &Samples,
        mut owner: impl FnMut(Place) -> RoutineId,
        is_start: impl Fn(Place) -> bool,
    ) -> Frames {
        let mut is_known = vec![false; profile.stacks.len()];
        let mut of: Vec<Option<Frame>> = vec![None; profile.stacks.len()];
        for (_, stack) in samples.by_stack.keys() {
            let mut open = *stack;
            while let Some(id) = open.filter(|id| !std::mem::replace(&mut is_known[id.index()], true)) {
                let node = profile.stacks[id.index()];
                let place = node.return_place.call_before();
                let call = code.call_returning_to(node.return_place);
                let is_counted = || code.block_at(place).or(code.block_at(node.return_place)).is_some();
                // Go's threads return to where they never called.
                if call.is_some() || !is_counted() || is_start(place) {
                    of[id.index()] =
                        Some(Frame { id, place, call, routine: owner(place), caller: node.parent });
                }
                open = node.parent;
            }
        }
        Frames { of }
    }

    /// The frames of a stack, innermost first. They end where a frame is in no call: a signal came there, and what
    /// its handler does is no cost of whom it interrupts.
    pub fn from(&self, innermost: Option<StackId>) -> impl Iterator<Item = &Frame> {
        let at = |id: Option<StackId>| self.of.get(id?.index())?.as_ref();
        std::iter::successors(at(innermost), move |frame| at(frame.caller))
    }

    /// The call that the innermost frame of a stack is in.
    pub fn call(&self, innermost: Option<StackId>) -> Option<BlockId> {
        self.from(innermost).next()?.call
    }
}
