//! Which way conditional branches went.

use crate::number::percent;
use crate::table::UNKNOWN;
use timewise_flow::code::Edge;
use timewise_flow::{Analysis, InstructionId};
use timewise_isa::Control;
use timewise_profile::{EdgeKind, Offset, Place};

/// A larger share of executions after which nobody knows where the branch went makes its percentage unknown.
const UNSEEN_SHARE: f64 = 0.0005;

/// Which way a conditional branch jumps, and how often; empty for other instructions.
pub fn taken(analysis: &Analysis, id: InstructionId) -> String {
    let instruction = &analysis.code.instructions[id.index()];
    let target = match instruction.step.control {
        Control::Branch { target, .. } | Control::CountBranch { target, .. } => target,
        _ => return String::new(),
    };
    let block = &analysis.code.blocks[instruction.block.index()];
    if block.executions == 0 {
        return String::new();
    }
    let place = Place { offset: Offset(target), ..block.place };
    let into = analysis.code.block_at(place).map_or(&[][..], |to| analysis.code.edges_into(to));
    let share = |edges: &[Edge], kind| {
        let ways = edges.iter().filter(|edge| edge.from == Some(instruction.block) && edge.kind == kind);
        ways.map(|edge| edge.count as f64).sum::<f64>() / block.executions as f64
    };
    let out = analysis.code.edges_out();
    let arrow = if target > instruction.step.offset { '↓' } else { '↑' };
    // A signal that arrived right behind the branch hides where it went.
    if share(out, EdgeKind::External) > UNSEEN_SHARE {
        return format!("{arrow} {UNKNOWN}");
    }
    format!("{arrow} {}", percent(share(into, EdgeKind::Branch) + share(out, EdgeKind::Branch)))
}
