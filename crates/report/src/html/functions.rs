//! The functions, costliest first, and who calls whom.

use super::columns::{Costs, Short, Strings, Totals, hexadecimal};
use crate::labels;
use crate::rows::{FunctionRow, Totalled};
use serde::Serialize;
use std::collections::BTreeMap;
use timewise_flow::{Analysis, RoutineId};

/// The functions in the order of the page, and where each stands in it.
pub struct Order {
    pub rows: Vec<Totalled<FunctionRow>>,
    at: Vec<u32>,
}

impl Order {
    pub fn new(rows: Vec<Totalled<FunctionRow>>) -> Order {
        let mut at = vec![0; rows.len()];
        for (row, function) in rows.iter().enumerate() {
            at[function.of.routine.index()] = row as u32;
        }
        Order { rows, at }
    }

    /// The row of a function.
    pub fn of(&self, routine: RoutineId) -> u32 {
        self.at[routine.index()]
    }
}

/// A row for each function, as columns.
#[derive(Default, Serialize)]
pub struct Functions {
    name: Vec<u32>,
    /// Path of its module.
    module: Vec<u32>,
    offset: Vec<String>,
    /// Where it is declared, or its module's name.
    place: Vec<u32>,
    calls: Vec<Option<u64>>,
    instructions: Vec<Option<u64>>,
    own: Costs,
    total: Totals,
}

impl Functions {
    pub fn new(analysis: &Analysis, order: &Order, strings: &mut Strings) -> Functions {
        let mut columns = Functions::default();
        for row in &order.rows {
            let of = &row.of;
            columns.name.push(strings.add(&of.function));
            columns.module.push(strings.add(&of.module));
            columns.offset.push(hexadecimal(of.offset));
            columns.place.push(strings.add(&labels::declared(analysis, of.routine)));
            columns.calls.push(of.calls);
            columns.instructions.push(of.instructions_self);
            columns.own.push(analysis, &of.cost);
            columns.total.push(row, of.cycles_total, of.instructions_total);
        }
        columns
    }
}

/// Which function called which, as columns: how often, and what these calls cost; null where it is not known.
#[derive(Default, Serialize)]
pub struct Calls {
    from: Vec<u32>,
    to: Vec<u32>,
    count: Vec<Option<u64>>,
    cycles: Vec<Option<Short>>,
}

impl Calls {
    pub fn new(analysis: &Analysis, order: &Order) -> Calls {
        let totals = analysis.totals();
        let mut sums: BTreeMap<(u32, u32), (Option<u64>, Option<f64>)> = BTreeMap::new();
        for (site, total) in totals.call_sites.iter().zip(&totals.calls) {
            let Some(callee) = site.callee else { continue };
            let (calls, cycles) = sums.entry((order.of(site.caller), order.of(callee))).or_default();
            *calls = add(*calls, site.calls);
            *cycles = add(*cycles, total.has_time.then_some(total.cost.weight.cycles));
        }
        let mut columns = Calls::default();
        for ((from, to), (calls, cycles)) in sums {
            columns.from.push(from);
            columns.to.push(to);
            columns.count.push(calls);
            columns.cycles.push(cycles.map(Short::from));
        }
        columns
    }
}

/// The sum of what is known.
fn add<T: std::ops::Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (one, other) => one.or(other),
    }
}
