//! The frames of a sample.

use crate::owners::{Owner, Owners};
use timewise_flow::Analysis;
use timewise_profile::{Offset, Place, Sample, StackId, StackNode};

/// One frame of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The instruction: the sampled one, or a call. A call whose code was not counted is told by its last
    /// byte. `None` outside of all modules.
    pub place: Option<Place>,
    /// Whose code it is.
    pub owner: Owner,
}

/// Walks stacks. What the callers of a node are is found once.
#[derive(Debug)]
pub struct Stacks<'a> {
    /// By stack node: the frame that the call was made from.
    callers: Vec<Frame>,
    nodes: &'a [StackNode],
}

impl<'a> Stacks<'a> {
    /// Looks up all call sites of a profile.
    pub fn new(analysis: &'a Analysis<'a>, owners: &Owners) -> Stacks<'a> {
        let call = |node: &StackNode| {
            let place = call_before(analysis, node.return_place);
            Frame { place: Some(place), owner: owners.at(place) }
        };
        let nodes = &analysis.profile.stacks;
        Stacks { callers: nodes.iter().map(call).collect(), nodes }
    }

    /// The frames of a sample, innermost first.
    pub fn of(&self, sample: &Sample, owners: &Owners) -> impl Iterator<Item = Frame> {
        let place = sample.place;
        let innermost = Frame { place, owner: place.map_or(Owner::Nowhere, |place| owners.at(place)) };
        std::iter::once(innermost).chain(self.callers_of(sample.stack))
    }

    /// The callers of a sample, innermost first.
    fn callers_of(&self, stack: Option<StackId>) -> impl Iterator<Item = Frame> {
        let ids = std::iter::successors(stack, |id| self.nodes[id.index()].parent);
        ids.map(|id| self.callers[id.index()])
    }
}

/// The call that returns to `place`, or its last byte where that code was not counted.
fn call_before(analysis: &Analysis, place: Place) -> Place {
    match analysis.code.call_returning_to(place) {
        Some(block) => analysis.code.place(analysis.code.blocks[block.index()].last()),
        None => Place { offset: Offset(place.offset.0.saturating_sub(1)), ..place },
    }
}
