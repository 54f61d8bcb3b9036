//! Call stacks as chains of functions, those that the compiler put where they were called among them.

use std::collections::HashMap;
use std::rc::Rc;
use timewise_flow::names::Names;
use timewise_flow::waiting::Programs;
use timewise_isa::reaches;
use timewise_profile::{Function, ModuleId, Place, Profile, StackId};

/// A function by its name, the same on both sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionKey(pub u32);

/// Names of functions, each once.
#[derive(Debug, Default)]
pub struct FunctionNames {
    ids: HashMap<Rc<str>, FunctionKey>,
    all: Vec<Rc<str>>,
}

impl FunctionNames {
    fn key(&mut self, name: &str) -> FunctionKey {
        if let Some(&key) = self.ids.get(name) {
            return key;
        }
        let (key, name): (_, Rc<str>) = (FunctionKey(self.all.len() as u32), name.into());
        self.all.push(Rc::clone(&name));
        self.ids.insert(name, key);
        key
    }

    /// A name.
    pub fn name(&self, key: FunctionKey) -> &str {
        &self.all[key.0 as usize]
    }
}

/// A function on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The frame that it is part of.
    frame: StackId,
    /// Which one.
    pub function: FunctionKey,
    /// Whether it is of the library through which the stack's call went to the system.
    pub is_of_library: bool,
}

/// So many links are kept of what was asked for, some 50 MB; of more, all are found anew.
const MOST_KEPT: usize = 1 << 22;

/// The code of a function, if it is known.
pub type CodeOf<'a> = &'a dyn Fn(&Profile, &Function) -> Option<Vec<u8>>;

/// The chains of one profile's stacks, outermost function first.
pub struct Chains<'a> {
    profile: &'a Profile,
    code: CodeOf<'a>,
    names: Names<'a>,
    programs: Programs,
    /// The functions at each call, outermost first.
    frames: HashMap<Place, Rc<[FunctionKey]>>,
    chains: HashMap<StackId, Rc<[Link]>>,
    common: HashMap<(StackId, StackId), Rc<[Link]>>,
    /// Whether control gets from behind a call to another of the same function without leaving it.
    ways: HashMap<(Place, Place), bool>,
    /// Links in both.
    kept: usize,
}

impl<'a> Chains<'a> {
    /// Those of a profile.
    pub fn of(profile: &'a Profile, code: CodeOf<'a>) -> Chains<'a> {
        Chains {
            profile,
            code,
            names: Names::of(profile),
            programs: Programs::of(profile),
            frames: HashMap::new(),
            chains: HashMap::new(),
            common: HashMap::new(),
            ways: HashMap::new(),
            kept: 0,
        }
    }

    /// The functions on a stack.
    pub fn chain(&mut self, stack: StackId, known: &mut FunctionNames) -> Rc<[Link]> {
        if let Some(chain) = self.chains.get(&stack) {
            return Rc::clone(chain);
        }
        let node = |id: StackId| self.profile.stacks[id.index()];
        let frames: Vec<StackId> = std::iter::successors(Some(stack), |&id| node(id).parent).collect();
        let innermost = node(stack).return_place;
        let of_library = |&&id: &&StackId| {
            !self.programs.hold(innermost) && node(id).return_place.module == innermost.module
        };
        let through = frames.iter().take_while(of_library).count();
        let mut chain = Vec::new();
        for (at, &frame) in frames.iter().enumerate().rev() {
            let is_of_library = at < through;
            let link = |&function: &FunctionKey| Link { frame, function, is_of_library };
            chain.extend(self.frame(frame, known).iter().map(link));
        }
        let chain: Rc<[Link]> = chain.into();
        self.make_room(chain.len());
        self.chains.insert(stack, Rc::clone(&chain));
        chain
    }

    /// The functions that were on the stack all the while from one call to the next, as far as that is known: from the
    /// outermost on those by whose calls both stacks go, and the one in which they part, if control gets in that from the one
    /// call to the other; else, as for stacks that are the same, those up to the first that calls in a loop. Of what the
    /// compiler put into the innermost of them it is not known.
    pub fn common(&mut self, one: StackId, other: StackId, known: &mut FunctionNames) -> Rc<[Link]> {
        if let Some(common) = self.common.get(&(one, other)) {
            return Rc::clone(common);
        }
        let (ours, theirs) = (self.chain(one, known), self.chain(other, known));
        let frames = |chain: &[Link]| -> Vec<StackId> {
            let mut frames: Vec<StackId> = chain.iter().map(|link| link.frame).collect();
            frames.dedup();
            frames
        };
        let (our_frames, their_frames) = (frames(&ours), frames(&theirs));
        let mut pairs: Vec<(StackId, StackId)> =
            our_frames.iter().copied().zip(their_frames.iter().copied()).collect();
        let shared = pairs.iter().take_while(|(ours, theirs)| ours == theirs).count();
        pairs.truncate(shared + 1);
        let parts = pairs.get(shared).is_some_and(|&(ours, theirs)| self.is_way(ours, theirs));
        if !parts {
            // Somewhere control went round: who stands around the outermost loop was not left.
            let round = pairs.iter().position(|&(ours, theirs)| self.is_way(ours, theirs));
            pairs.truncate(round.map_or(0, |outermost| outermost + 1));
        }
        let innermost = pairs.last().copied();
        let is_around = |link: &&Link| pairs.iter().any(|(ours, _)| *ours == link.frame);
        let is_in_innermost = |link: &Link| innermost.is_some_and(|(ours, _)| ours == link.frame);
        let mut common: Vec<Link> = Vec::new();
        for link in ours.iter().take_while(is_around) {
            let is_inlined = common.last().is_some_and(|last| last.frame == link.frame);
            if !is_inlined || !is_in_innermost(link) {
                common.push(*link);
            }
        }
        let common: Rc<[Link]> = common.into();
        self.make_room(common.len());
        self.common.insert((one, other), Rc::clone(&common));
        common
    }

    /// Whether control gets from behind the call of one frame to that of another in the same function without leaving it. Not
    /// if its code is not known.
    fn is_way(&mut self, one: StackId, other: StackId) -> bool {
        let [from, to] = [one, other].map(|id| self.profile.stacks[id.index()].return_place);
        if let Some(&is_way) = self.ways.get(&(from, to)) {
            return is_way;
        }
        let is_way = self.has_way(from, to).unwrap_or(false);
        self.ways.insert((from, to), is_way);
        is_way
    }

    fn has_way(&self, from: Place, to: Place) -> Option<bool> {
        let id = self.names.function(from.call_before())?;
        if self.names.function(to.call_before()) != Some(id) {
            return Some(false);
        }
        let function = &self.profile.functions[id.index()];
        let code = (self.code)(self.profile, function)?;
        let within =
            |place: Place| usize::try_from(place.offset.0.checked_sub(function.place.offset.0)?).ok();
        Some(reaches(&code, within(from)?, within(to)?))
    }

    fn make_room(&mut self, links: usize) {
        self.kept += links;
        if self.kept > MOST_KEPT {
            self.chains.clear();
            self.common.clear();
            self.kept = links;
        }
    }

    fn frame(&mut self, id: StackId, known: &mut FunctionNames) -> Rc<[FunctionKey]> {
        let call = self.profile.stacks[id.index()].return_place.call_before();
        if let Some(frame) = self.frames.get(&call) {
            return Rc::clone(frame);
        }
        let outermost = match self.names.named(call) {
            Some(name) => known.key(name),
            None => known.key(&module_name(self.profile, call.module)),
        };
        let inlined = &self.profile.inlined_calls[self.profile.inlined_at(call)];
        let inlined = inlined.iter().rev().map(|call| known.key(&call.function));
        let frame: Rc<[FunctionKey]> = std::iter::once(outermost).chain(inlined).collect();
        self.frames.insert(call, Rc::clone(&frame));
        frame
    }
}

/// What code is called of which only that is known.
fn module_name(profile: &Profile, module: ModuleId) -> String {
    let path = &profile.modules[module.index()].path;
    let name = String::from_utf8_lossy(crate::lanes::file_name(path));
    // That of code that was written at run time is `[jit 0x1000]`.
    if name.starts_with('[') { name.into_owned() } else { format!("[{name}]") }
}
