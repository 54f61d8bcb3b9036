//! One process image after the other: its translated blocks as pieces, its counters as flow.

use super::flow::{self, Flow};
use super::pieces::{Found, PieceId, Pieces};
use super::rows::{ImageFlow, Rows};
use crate::arena::Arena;
use crate::code::Modules;
use crate::harvest::{self, Image, Images};
use crate::solve::{Equations, Point};
use crate::unseen;
use std::collections::HashMap;
use timewise_abi::NONE;
use timewise_abi::log::{BlockRecord, EdgeRecord};
use timewise_profile::{EdgeKind, Offset};
use timewise_target::address_space::AddressSpace;

/// Everything that was counted so far.
#[derive(Debug)]
pub struct Converter {
    /// What was mapped.
    pub modules: Modules,
    /// What was translated.
    pub pieces: Pieces,
    /// Who executed it.
    pub rows: Rows,
    /// Whether it adds up.
    pub balance: Balance,
    /// Pieces of each image's own blocks, by record.
    own_pieces: HashMap<u64, Vec<PieceId>>,
}

/// How well the flow of control adds up, over all images.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balance {
    /// Images.
    pub images: u32,
    /// Those whose flow does not balance.
    pub unbalanced: u32,
    /// By how much, in all.
    pub imbalance: u64,
}

impl Converter {
    /// Nothing counted yet. At most `process_limit` processes get rows of their own.
    pub fn new(process_limit: usize) -> Converter {
        Converter {
            modules: Modules::default(),
            pieces: Pieces::default(),
            rows: Rows::new(process_limit),
            balance: Balance::default(),
            own_pieces: HashMap::new(),
        }
    }

    /// Takes in an image. Those that it descends from must have been taken in before.
    pub fn add(&mut self, arena: &Arena, images: &Images, record: u64) {
        let Some(image) = images.get(record) else { return };
        let own = self.own_pieces(images, image);
        self.own_pieces.insert(record, own);
        let mut blocks: Vec<BlockRecord> = Vec::new();
        let mut pieces: Vec<PieceId> = Vec::new();
        for (ancestor, range) in images.parts(record, 0) {
            blocks.extend_from_slice(&ancestor.blocks[range.clone()]);
            pieces.extend_from_slice(&self.own_pieces[&ancestor.record][range]);
        }
        let mut edges: Vec<EdgeRecord> = Vec::new();
        for (ancestor, range) in images.parts(record, 1) {
            edges.extend_from_slice(&ancestor.edges[range]);
        }
        // A process that still runs may have been about to log the blocks that an edge joins.
        let known = |block: u32| block == NONE || (block as usize) < blocks.len();
        edges.retain(|edge| known(edge.from) && known(edge.to));
        let flow = self.flow(arena, image, &blocks, &pieces, &edges);
        self.balance.images += 1;
        self.balance.unbalanced += u32::from(flow.imbalance > 0);
        self.balance.imbalance += flow.imbalance;
        self.rows.add(flow);
    }

    /// The pieces that an image's own blocks are.
    fn own_pieces(&mut self, images: &Images, image: &Image) -> Vec<PieceId> {
        let parts = images.parts(image.record, 2);
        let mut changes = parts.iter().flat_map(|(ancestor, range)| {
            ancestor.mappings[range.clone()].iter().map(|m| (ancestor.record, m))
        });
        let mut space = AddressSpace::default();
        let mut applied = 0;
        let mut pieces = Vec::with_capacity(image.blocks.len());
        for (number, block) in image.blocks.iter().enumerate() {
            while applied < block.mappings
                && let Some((owner, change)) = changes.next()
            {
                self.modules.apply(&mut space, owner, change);
                applied += 1;
            }
            let place = space.place(block.address).map(|place| (place.module, place.offset));
            let nowhere = || (self.modules.unmapped(), Offset(block.address));
            let (module, offset) = place.unwrap_or_else(nowhere);
            let found = Found {
                owner: image.record,
                module,
                offset,
                version: block.version,
                instructions: block.instructions,
                code: image.code(number),
            };
            pieces.push(self.pieces.add(&self.modules, &found));
        }
        pieces
    }

    fn flow(
        &self,
        arena: &Arena,
        image: &Image,
        blocks: &[BlockRecord],
        pieces: &[PieceId],
        edges: &[EdgeRecord],
    ) -> ImageFlow {
        let mut areas = harvest::areas(arena, arena.shared().process(image.record));
        let counters = edges.iter().map(|edge| edge.counter).chain(blocks.iter().map(|block| block.counter));
        let counters = counters.filter(|&c| c != NONE).max().map_or(0, |c| c as usize + 1);
        // A process that still runs may have gone on to code that was not there when its blocks were read.
        for area in &mut areas {
            area.counters.retain(|&(number, _)| (number as usize) < counters);
        }
        let mut sums = vec![0u64; counters];
        for &(number, value) in areas.iter().flat_map(|area| &area.counters) {
            sums[number as usize] += value;
        }
        let rest = |position: u32| {
            let block = blocks.get(position as usize)?;
            Some(Point::left(position, block.instructions, blocks))
        };
        let known = |position: &u32| (*position as usize) < blocks.len();
        let rests: Vec<u32> = areas.iter().filter_map(harvest::Area::in_system_call).filter(known).collect();
        let points: Vec<Point> = rests.iter().filter_map(|&position| rest(position)).collect();
        let equations = Equations::new(blocks, edges);
        let mut solution = equations.solve(|n| sums[n as usize], &points);
        let running = areas.iter().filter(|area| area.was_running()).count();
        let unseen = unseen::place(&equations, &mut solution, running);

        let leave = |block: u32, executed: u16, count: u64| Flow {
            from: Some((pieces[block as usize], executed)),
            to: None,
            kind: EdgeKind::External,
            count,
        };
        let mut flows = Vec::new();
        let mut imbalance = 0u64;
        for (edge, &count) in edges.iter().zip(&solution.edges).filter(|(_, count)| **count != 0) {
            imbalance += count.min(0).unsigned_abs();
            flows.push(Flow {
                from: (edge.from != NONE).then(|| (pieces[edge.from as usize], edge.executed)),
                to: (edge.to != NONE).then(|| pieces[edge.to as usize]),
                kind: flow::kind(edge.kind),
                count: count.max(0) as u64,
            });
        }
        flows.extend(rests.iter().map(|&block| leave(block, blocks[block as usize].instructions, 1)));
        // Whatever else does not leave, nobody can account for.
        imbalance += solution.remainders.iter().map(|r| r.surplus.unsigned_abs()).sum::<u64>();
        for point in &unseen {
            let all = blocks[point.block() as usize].instructions;
            let executed = if point.before_counter(blocks) { 0 } else { all };
            flows.push(leave(point.block(), executed, 1));
        }
        flow::merge(&mut flows);
        flow::rejoin(&self.pieces, &mut flows);
        flow::take_back(&self.pieces, &mut flows);
        flow::merge(&mut flows);
        let weights = equations.instruction_weights(counters);
        let executed = |area: &harvest::Area| {
            let rest = area.in_system_call().and_then(rest);
            (area.tid, weights.instructions(&area.counters, rest).max(0) as u64)
        };
        ImageFlow {
            record: image.record,
            parent: image.parent,
            pid: image.pid,
            executable: image.executable(),
            threads: areas.iter().map(executed).collect(),
            flows,
            unknown_ends: unseen.len() as u32,
            imbalance,
        }
    }
}
