//! The costliest instructions of the whole program.

use super::code::Positions;
use super::columns::{Costs, Strings};
use super::functions::Order;
use crate::{labels, rows};
use serde::Serialize;
use timewise_flow::Analysis;

/// So many are shown; functions show all of theirs.
const SHOWN: usize = 100;

/// A row for each, as columns.
#[derive(Default, Serialize)]
pub struct Costliest {
    /// Its source line, or module and offset.
    place: Vec<u32>,
    text: Vec<u32>,
    function: Vec<u32>,
    /// Its position in [`super::code::Code`]; null where that was left out.
    at: Vec<Option<u32>>,
    executions: Vec<u64>,
    cost: Costs,
}

impl Costliest {
    pub fn new(
        analysis: &Analysis,
        order: &Order,
        positions: &Positions,
        strings: &mut Strings,
    ) -> Costliest {
        let mut columns = Costliest::default();
        let sampled = rows::instructions(analysis).filter(|row| row.cost.weight.samples > 0.0);
        let counted = sampled.filter_map(|row| row.of.id.map(|id| (id, row)));
        for (id, row) in counted.take(SHOWN) {
            columns.place.push(strings.add(&labels::place(analysis.profile, analysis.code.place(id))));
            columns.text.push(strings.add(&row.of.text));
            columns.function.push(order.of(row.of.routine));
            columns.at.push(positions.of(id));
            columns.executions.push(row.cost.instructions);
            columns.cost.push(analysis, &row.cost);
        }
        columns
    }
}
