//! Loops of a program: natural loops merged or split by count, and irreducible regions, nested.

use crate::dominators::Dominators;
use crate::graph::Graph;
use crate::irreducible::{Region, irreducible_regions};
use crate::merge::merge;
use crate::natural::natural_loops;
use crate::routine::RoutineId;
use crate::set::BlockSet;
use timewise_profile::BlockId;

/// Index into [`Forest::loops`].
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LoopId(pub u32);

impl LoopId {
    /// Position in the list that this id indexes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A loop that ran at least once around.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The routine it is in.
    pub routine: RoutineId,
    /// Where a round begins: the block that dominates the loop or, of several entries, the one that
    /// most rounds go through.
    pub header: BlockId,
    /// Control enters it at more than one block.
    pub irreducible: bool,
    /// All blocks, those of inner loops included, by offset.
    pub blocks: Vec<BlockId>,
    /// The loop around it, if any.
    pub parent: Option<LoopId>,
    /// 1 for an outermost loop.
    pub depth: u32,
    /// How often control entered it from outside; going round a loop that it is nested in and shares
    /// the header with is entering it anew.
    pub invocations: u64,
    /// Rounds begun, over all invocations: each entry begins one, and so does each return to the
    /// header by a back edge of its own. Of an irreducible loop as many as went through the header, or
    /// its entries if these are more.
    pub iterations: u64,
}

/// All loops of a program.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    /// Routine by routine, outer loops before inner ones.
    pub loops: Vec<Loop>,
    /// The innermost loop that each block of the profile is in.
    pub innermost: Vec<Option<LoopId>>,
}

impl Forest {
    /// Finds the loops of all routines' graphs (in the order of the routines), in a profile of
    /// `blocks` blocks.
    pub fn new(graphs: &[Graph], blocks: usize) -> Forest {
        let mut forest = Forest { loops: Vec::new(), innermost: vec![None; blocks] };
        for (routine, graph) in graphs.iter().enumerate() {
            forest.add(RoutineId(routine as u32), graph);
        }
        forest
    }

    /// The loops that a block is in, innermost first.
    pub fn around(&self, block: BlockId) -> impl Iterator<Item = LoopId> {
        std::iter::successors(self.innermost[block.index()], |id| self.loops[id.index()].parent)
    }

    fn add(&mut self, routine: RoutineId, graph: &Graph) {
        let dominators = Dominators::new(&graph.successors, &graph.predecessors, &graph.entries);
        let mut found = natural(graph, &dominators);
        found.extend(irreducible(graph, &dominators));
        // The bodies of any two are nested or disjoint, so placing larger ones first builds the tree.
        found.sort_by_key(|one| (std::cmp::Reverse(one.body.len()), one.header));
        for one in found {
            let id = LoopId(self.loops.len() as u32);
            let header = graph.blocks[one.header as usize];
            let parent = self.innermost[header.index()];
            let depth = parent.map_or(0, |parent| self.loops[parent.index()].depth) + 1;
            let blocks: Vec<BlockId> = one.body.iter().map(|node| graph.blocks[node as usize]).collect();
            for block in &blocks {
                self.innermost[block.index()] = Some(id);
            }
            let Found { irreducible, invocations, iterations, .. } = one;
            self.loops.push(Loop {
                routine,
                header,
                irreducible,
                blocks,
                parent,
                depth,
                invocations,
                iterations,
            });
        }
    }
}

struct Found {
    header: u32,
    body: BlockSet,
    irreducible: bool,
    invocations: u64,
    iterations: u64,
}

fn natural(graph: &Graph, dominators: &Dominators) -> Vec<Found> {
    let mut found = Vec::new();
    for same_header in natural_loops(graph, dominators).chunk_by(|a, b| a.header == b.header) {
        let header = same_header[0].header;
        let arrivals = graph.entered[header as usize]
            + graph.predecessors[header as usize].iter().map(|&from| graph.count(from, header)).sum::<u64>();
        let mut back_so_far: u64 = same_header.iter().map(|one| one.back_count).sum();
        for merged in merge(same_header) {
            let invocations = arrivals - back_so_far;
            back_so_far -= merged.back_count;
            let (body, iterations) = (merged.body, invocations + merged.back_count);
            found.push(Found { header, body, irreducible: false, invocations, iterations });
        }
    }
    found
}

fn irreducible(graph: &Graph, dominators: &Dominators) -> Vec<Found> {
    irreducible_regions(graph, dominators)
        .into_iter()
        .map(|region| enter(graph, dominators, region))
        .collect()
}

fn enter(graph: &Graph, dominators: &Dominators, region: Region) -> Found {
    let from = |node: u32, wanted: &dyn Fn(u32) -> bool| -> u64 {
        let sources = graph.predecessors[node as usize].iter().filter(|&&source| wanted(source));
        sources.map(|&source| graph.count(source, node)).sum()
    };
    let entered =
        |node: u32| graph.entered[node as usize] + from(node, &|source| !region.body.contains(source));
    // Back edges of a natural loop inside that begins at the same block are that loop's rounds.
    let rounds_through = |node: u32| {
        let is_own = |source: u32| region.body.contains(source) && !dominators.dominates(node, source);
        entered(node) + from(node, &is_own)
    };
    let most_rounds = |&entry: &u32| (rounds_through(entry), std::cmp::Reverse(entry));
    let header = region.entries.iter().copied().max_by_key(most_rounds).unwrap_or(0);
    let invocations = region.entries.iter().map(|&entry| entered(entry)).sum();
    Found {
        header,
        irreducible: true,
        invocations,
        // A round that an entry elsewhere begins is the one that then comes to the header, so the two
        // do not add up: the sum would be more rounds than any block of the loop was executed in.
        iterations: rounds_through(header).max(invocations),
        body: region.body,
    }
}
