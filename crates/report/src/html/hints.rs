//! Hints, and where in the page they belong.

use super::code::Positions;
use super::functions::Order;
use crate::{hints, labels};
use serde::Serialize;
use timewise_flow::Analysis;

/// A hint.
#[derive(Serialize)]
pub struct Hint {
    kind: &'static str,
    /// Source line, or module and offset.
    place: String,
    function: u32,
    /// Position of its instruction in [`super::code::Code`]; null where that was left out.
    at: Option<u32>,
    sentence: String,
}

/// All hints, those about the most time first.
pub fn hints(analysis: &Analysis, order: &Order, positions: &Positions) -> Vec<Hint> {
    let hint = |row: hints::HintRow| {
        let id = row.of.instruction(analysis);
        let block = analysis.code.instructions[id.index()].block;
        Hint {
            kind: row.kind,
            place: labels::place(analysis.profile, analysis.code.place(id)),
            function: order.of(analysis.owner[block.index()]),
            at: positions.of(id),
            sentence: row.short,
        }
    };
    hints::rows(analysis).into_iter().map(hint).collect()
}
