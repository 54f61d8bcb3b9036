//! Which way conditional branches went.

use crate::number::percent;
use crate::table::UNKNOWN;
use timewise_flow::hints::Ways;
use timewise_flow::{Analysis, InstructionId};
use timewise_isa::Control;

/// A larger share of executions after which nobody knows where the branch went makes its percentage unknown.
const UNSEEN_SHARE: f64 = 0.0005;

/// Which way a conditional branch jumps, and how often; empty for other instructions.
pub fn taken(analysis: &Analysis, id: InstructionId) -> String {
    let step = &analysis.code.instructions[id.index()].step;
    let (Control::Branch { target, .. } | Control::CountBranch { target }) = step.control else {
        return String::new();
    };
    let Some(ways) = Ways::of(analysis, id).filter(|ways| ways.executions > 0) else { return String::new() };
    let arrow = if target > step.offset { '↓' } else { '↑' };
    if ways.unseen as f64 / ways.executions as f64 > UNSEEN_SHARE {
        return format!("{arrow} {UNKNOWN}");
    }
    format!("{arrow} {}", percent(ways.taken_share()))
}
