//! The loops, costliest first.

use super::code::Positions;
use super::columns::{Costs, Strings, Totals, hexadecimal};
use super::functions::Order;
use crate::listing::loop_name;
use crate::rows::{LoopRow, Totalled};
use serde::Serialize;
use timewise_flow::Analysis;

/// A row for each loop, as columns.
#[derive(Default, Serialize)]
pub struct Loops {
    /// Its source lines, or its header's place.
    name: Vec<u32>,
    function: Vec<u32>,
    header_offset: Vec<String>,
    /// Position of its first instruction in [`super::code::Code`]; null where that was left out.
    header: Vec<Option<u32>>,
    depth: Vec<u32>,
    invocations: Vec<u64>,
    iterations: Vec<u64>,
    instructions: Vec<u64>,
    own: Costs,
    total: Totals,
}

impl Loops {
    pub fn new(
        analysis: &Analysis,
        rows: &[Totalled<LoopRow>],
        order: &Order,
        positions: &Positions,
        strings: &mut Strings,
    ) -> Loops {
        let mut columns = Loops::default();
        for whole in rows {
            let row = &whole.of;
            let one = &analysis.forest.loops[row.id.index()];
            columns.name.push(strings.add(&loop_name(analysis, row)));
            columns.function.push(order.of(one.routine));
            columns.header_offset.push(hexadecimal(row.header_offset));
            columns.header.push(positions.of_block(analysis, one.header));
            columns.depth.push(row.depth);
            columns.invocations.push(row.invocations);
            columns.iterations.push(row.iterations);
            columns.instructions.push(row.own.instructions);
            columns.own.push(analysis, &row.own);
            columns.total.push(whole, row.cycles_total, row.instructions_total);
        }
        columns
    }
}
