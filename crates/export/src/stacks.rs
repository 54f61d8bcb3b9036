//! The frames of a sample.

use crate::owners::{Owner, Owners, one_line};
use timewise_flow::Analysis;
use timewise_flow::lines::{SourceLine, line_at};
use timewise_profile::{Place, Profile, Sample, StackId, StackNode};

/// One frame of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// The instruction: the sampled one, or a call. A call whose code was not counted is told by its last
    /// byte. `None` outside of all modules.
    pub place: Option<Place>,
    /// Whose code it is.
    pub owner: Owner,
    /// Rows of the inlined calls that stand there, innermost first.
    inlined: (usize, usize),
}

impl Frame {
    /// An instruction without its inlined calls.
    pub fn at(place: Place, owner: Owner) -> Frame {
        Frame { place: Some(place), owner, inlined: (0, 0) }
    }

    /// The functions of the source that the code belongs to, innermost first: those that the compiler put
    /// where they were called, then the one that owns the code.
    pub fn steps<'p>(&self, profile: &'p Profile) -> Vec<Step<'p>> {
        let mut line = self.place.and_then(|place| line_at(profile, place));
        let mut steps = Vec::new();
        for call in &profile.inlined_calls[self.inlined.0..self.inlined.1] {
            steps.push(Step { name: Name::Inlined(&call.function), line });
            let file = call.file.filter(|_| call.line > 0);
            line = file.map(|file| SourceLine { file, line: call.line });
        }
        steps.push(Step { name: Name::Owner(self.owner), line });
        steps
    }
}

/// A function of the source in a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step<'p> {
    /// Which one.
    pub name: Name<'p>,
    /// Where in it the instruction stands, or the call of the function before it.
    pub line: Option<SourceLine>,
}

/// What a function of the source is known by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Name<'p> {
    /// The one that owns the code.
    Owner(Owner),
    /// One that was inlined.
    Inlined(&'p str),
}

impl Name<'_> {
    /// The name, in one line.
    pub fn text(self, owners: &Owners) -> String {
        match self {
            Name::Owner(owner) => owners.name(owner),
            Name::Inlined(name) => one_line(name),
        }
    }

    /// File and line where it is declared, if that is known.
    pub fn declared(self, owners: &Owners) -> Option<(String, u32)> {
        match self {
            Name::Owner(owner) => owners.declared(owner),
            Name::Inlined(_) => None,
        }
    }
}

/// Walks stacks. What the callers of a node are is found once.
#[derive(Debug)]
pub struct Stacks<'a> {
    /// By stack node: the frame that the call was made from.
    callers: Vec<Frame>,
    profile: &'a Profile,
    nodes: &'a [StackNode],
}

impl<'a> Stacks<'a> {
    /// Looks up all call sites of a profile.
    pub fn new(analysis: &'a Analysis<'a>, owners: &Owners) -> Stacks<'a> {
        let call = |node: &StackNode| {
            let place = call_before(analysis, node.return_place);
            let last_byte = node.return_place.call_before();
            Frame { inlined: inlined_at(analysis.profile, last_byte), ..Frame::at(place, owners.at(place)) }
        };
        let nodes = &analysis.profile.stacks;
        Stacks { profile: analysis.profile, callers: nodes.iter().map(call).collect(), nodes }
    }

    /// The frames of a sample, innermost first.
    pub fn of(&self, sample: &Sample, owners: &Owners) -> impl Iterator<Item = Frame> {
        let innermost = match sample.place {
            Some(place) => {
                Frame { inlined: inlined_at(self.profile, place), ..Frame::at(place, owners.at(place)) }
            }
            None => Frame { place: None, owner: Owner::Nowhere, inlined: (0, 0) },
        };
        std::iter::once(innermost).chain(self.callers_of(sample.stack))
    }

    /// The callers of a sample, innermost first.
    fn callers_of(&self, stack: Option<StackId>) -> impl Iterator<Item = Frame> {
        let ids = std::iter::successors(stack, |id| self.nodes[id.index()].parent);
        ids.map(|id| self.callers[id.index()])
    }
}

/// The rows of inlined calls at a place.
fn inlined_at(profile: &Profile, place: Place) -> (usize, usize) {
    let rows = profile.inlined_at(place);
    (rows.start, rows.end)
}

/// The call that returns to `place`, or its last byte where that code was not counted.
fn call_before(analysis: &Analysis, place: Place) -> Place {
    match analysis.code.call_returning_to(place) {
        Some(block) => analysis.code.place(analysis.code.blocks[block.index()].last()),
        None => place.call_before(),
    }
}
