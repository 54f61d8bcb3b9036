//! The rows for spreadsheets.

use super::Simulated;
use super::json::Sums;
use super::rows::rows;
use super::why::why;
use crate::request::By;
use serde::Serialize;

#[derive(Default, Serialize)]
struct Cells {
    module: String,
    function: String,
    offset: Option<u64>,
    file: Option<String>,
    line: Option<u32>,
    line_last: Option<u32>,
    text: Option<String>,
    instructions: u64,
    cycles: f64,
    why: Option<String>,
}

/// The rows as CSV with one header line; `None` for what has no cycle stack of its own.
///
/// # Errors
/// None in practice: rows are flat and memory does not fail.
pub fn csv(simulated: &Simulated, by: By) -> Option<Result<String, csv::Error>> {
    let rows = rows(simulated, by)?.map(|row| {
        let site = row.site;
        let cells = Cells {
            module: site.module,
            function: site.function,
            offset: site.offset,
            file: site.file,
            line: site.line,
            line_last: site.last_line,
            text: site.text,
            instructions: row.cost.instructions,
            cycles: row.cost.cycles().as_cycles(),
            why: row.instruction.map(|id| why(simulated.analysis, simulated.modelled, id)),
        };
        (cells, Sums::of(&row.cost))
    });
    Some(crate::csv::table(rows))
}
