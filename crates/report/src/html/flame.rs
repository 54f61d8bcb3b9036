//! Call stacks of the samples as a tree: what a flame graph draws.

use super::columns::{Short, Strings};
use super::functions::Order;
use crate::labels;
use serde::Serialize;
use std::collections::HashMap;
use timewise_flow::Analysis;
use timewise_flow::routine::FunctionMap;
use timewise_flow::samples::Spot;
use timewise_profile::{FunctionId, ModuleId, Place, StackId};

/// Nodes of a smaller share of the time are narrower than a pixel of the widest screen: their time is that of
/// their callers.
const SMALLEST_SHARE: f64 = 1.0 / 20_000.0;

/// Stands where a sample lies outside all known modules.
const NOWHERE: &str = "[unknown]";

/// Nodes as columns, callers before callees; the first is the root, which is everything.
#[derive(Default, Serialize)]
pub struct Flame {
    parent: Vec<u32>,
    name: Vec<u32>,
    module: Vec<u32>,
    /// Row of the function, if it has one.
    function: Vec<Option<u32>>,
    /// With callees.
    cycles: Vec<Short>,
}

/// What a frame is called by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Frame {
    All,
    Function(FunctionId),
    Module(ModuleId),
    Nowhere,
}

struct Node {
    parent: usize,
    frame: Frame,
    cycles: f64,
}

impl Flame {
    pub fn new(analysis: &Analysis, order: &Order, strings: &mut Strings) -> Flame {
        let mut tree = Tree::new(analysis);
        for ((spot, stack), weight) in &analysis.samples.by_stack {
            tree.add(*spot, *stack, weight.cycles);
        }
        tree.columns(order, strings)
    }
}

struct Tree<'a> {
    analysis: &'a Analysis<'a>,
    functions: FunctionMap<'a>,
    nodes: Vec<Node>,
    children: HashMap<(usize, Frame), usize>,
    /// The node of each call stack that was met.
    known: HashMap<StackId, usize>,
}

impl<'a> Tree<'a> {
    fn new(analysis: &'a Analysis<'a>) -> Tree<'a> {
        Tree {
            analysis,
            functions: FunctionMap::new(analysis.profile),
            nodes: vec![Node { parent: 0, frame: Frame::All, cycles: 0.0 }],
            children: HashMap::new(),
            known: HashMap::new(),
        }
    }

    fn add(&mut self, spot: Spot, stack: Option<StackId>, cycles: f64) {
        let caller = stack.map_or(0, |stack| self.callers(stack));
        let frame = match spot {
            Spot::Counted(id) => self.frame(self.analysis.code.place(id)),
            Spot::Stray(place) => self.frame(place),
            Spot::Nowhere => Frame::Nowhere,
        };
        let mut at = self.child(caller, frame);
        while at != 0 {
            self.nodes[at].cycles += cycles;
            at = self.nodes[at].parent;
        }
        self.nodes[0].cycles += cycles;
    }

    /// The node of a call stack. Stacks may be deeper than ours, so this does not recurse.
    fn callers(&mut self, stack: StackId) -> usize {
        let stacks = &self.analysis.profile.stacks;
        let mut new = Vec::new();
        let mut next = Some(stack);
        let mut at = 0;
        while let Some(id) = next {
            if let Some(&known) = self.known.get(&id) {
                at = known;
                break;
            }
            new.push(id);
            next = stacks[id.index()].parent;
        }
        for id in new.into_iter().rev() {
            at = self.child(at, self.frame(stacks[id.index()].return_place.call_before()));
            self.known.insert(id, at);
        }
        at
    }

    fn frame(&self, place: Place) -> Frame {
        self.functions.at(place).map_or(Frame::Module(place.module), Frame::Function)
    }

    fn child(&mut self, parent: usize, frame: Frame) -> usize {
        *self.children.entry((parent, frame)).or_insert_with(|| {
            self.nodes.push(Node { parent, frame, cycles: 0.0 });
            self.nodes.len() - 1
        })
    }

    fn columns(&self, order: &Order, strings: &mut Strings) -> Flame {
        let rows: HashMap<FunctionId, u32> = order
            .rows
            .iter()
            .enumerate()
            .filter_map(|(at, row)| Some((self.analysis.function_of(row.of.routine)?, at as u32)))
            .collect();
        let smallest = self.nodes[0].cycles * SMALLEST_SHARE;
        let mut flame = Flame::default();
        let mut kept = vec![0u32; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            // Callers come before callees and cost no less, so a kept node's caller was kept.
            if at > 0 && node.cycles < smallest {
                continue;
            }
            kept[at] = flame.parent.len() as u32;
            let (name, module) = self.name(node.frame);
            flame.parent.push(kept[node.parent]);
            flame.name.push(strings.add(&name));
            flame.module.push(strings.add(&module));
            flame.function.push(match node.frame {
                Frame::Function(id) => rows.get(&id).copied(),
                _ => None,
            });
            flame.cycles.push(node.cycles.into());
        }
        flame
    }

    fn name(&self, frame: Frame) -> (String, String) {
        let profile = self.analysis.profile;
        match frame {
            Frame::All => ("all".into(), String::new()),
            Frame::Nowhere => (NOWHERE.into(), String::new()),
            Frame::Module(module) => {
                let path = labels::module_path(profile, module);
                (format!("[{}]", labels::file_name(&path).trim_matches(['[', ']'])), path)
            }
            Frame::Function(id) => {
                let function = &profile.functions[id.index()];
                (function.name.clone(), labels::module_path(profile, function.place.module))
            }
        }
    }
}
