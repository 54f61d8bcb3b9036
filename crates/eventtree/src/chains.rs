//! Call stacks as chains of functions, those that the compiler put where they were called among them.

use std::collections::HashMap;
use std::rc::Rc;
use timewise_flow::names::Names;
use timewise_flow::waiting::Programs;
use timewise_profile::{ModuleId, Place, Profile, StackId};

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

/// The chains of one profile's stacks, outermost function first.
pub struct Chains<'a> {
    profile: &'a Profile,
    names: Names<'a>,
    programs: Programs,
    /// The functions at each call, outermost first.
    frames: HashMap<Place, Rc<[FunctionKey]>>,
    chains: HashMap<StackId, Rc<[Link]>>,
    common: HashMap<(StackId, StackId), Rc<[Link]>>,
    /// Links in both.
    kept: usize,
}

impl<'a> Chains<'a> {
    /// Those of a profile.
    pub fn of(profile: &'a Profile) -> Chains<'a> {
        Chains {
            profile,
            names: Names::of(profile),
            programs: Programs::of(profile),
            frames: HashMap::new(),
            chains: HashMap::new(),
            common: HashMap::new(),
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

    /// The functions that two stacks have in common, from the outermost on: callers by the same calls, and the function in
    /// which they part. Whatever makes the system call for a library's other code has returned in between.
    pub fn common(&mut self, one: StackId, other: StackId, known: &mut FunctionNames) -> Rc<[Link]> {
        if let Some(common) = self.common.get(&(one, other)) {
            return Rc::clone(common);
        }
        let (ours, theirs) = (self.chain(one, known), self.chain(other, known));
        let pairs = || ours.iter().zip(theirs.iter());
        let frames = |(ours, theirs): (&Link, &Link)| (ours.frame, theirs.frame);
        let shared = pairs().take_while(|&(ours, theirs)| ours.frame == theirs.frame).count();
        let parting = pairs().nth(shared).map(frames);
        let is_same = |&(ours, theirs): &(&Link, &Link)| {
            ours.function == theirs.function && Some((ours.frame, theirs.frame)) == parting
        };
        let within = pairs().skip(shared).take_while(is_same).count();
        let both = |(ours, theirs): (&Link, &Link)| Link {
            is_of_library: ours.is_of_library && theirs.is_of_library,
            ..*ours
        };
        let mut common: Vec<Link> = pairs().take(shared + within).map(both).collect();
        while common.pop_if(|last| last.is_of_library && [one, other].contains(&last.frame)).is_some() {}
        let common: Rc<[Link]> = common.into();
        self.make_room(common.len());
        self.common.insert((one, other), Rc::clone(&common));
        common
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
    format!("[{}]", String::from_utf8_lossy(crate::lanes::file_name(path)))
}
