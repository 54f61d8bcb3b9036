//! `timewise report`: one row for each function, loop, block, instruction or line, costliest first.

use crate::figures::{self, Figures};
use crate::labels;
use crate::number::{count, figure};
use crate::origin;
use crate::rows;
use crate::style::{Style, Tone};
use crate::table::{Column, Table, UNKNOWN};
use timewise_flow::Analysis;

/// What a report has one row for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// A function.
    Function,
    /// A loop.
    Loop,
    /// A block: code with one way in at its top and one way out at its bottom.
    Block,
    /// An instruction.
    Instruction,
    /// A source line.
    Line,
}

impl By {
    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            By::Function => "function",
            By::Loop => "loop",
            By::Block => "block",
            By::Instruction => "instruction",
            By::Line => "line",
        }
    }
}

/// The report as text: origin, table, and what was left out. At most `limit` rows.
pub fn report(analysis: &Analysis, by: By, limit: Option<usize>, style: Style) -> String {
    let figures = Figures::new(analysis);
    let limit = limit.unwrap_or(usize::MAX);
    let (table, all) = match by {
        By::Function => functions(analysis, figures, limit),
        By::Loop => loops(analysis, figures, limit),
        By::Block => blocks(analysis, figures, limit),
        By::Instruction => instructions(analysis, figures, limit),
        By::Line => lines(analysis, figures, limit),
    };
    let explanation = figures.explanation(figures::has_mark(&table), style);
    let mut out = format!("{}\n{}{explanation}", origin::head(analysis, style), table.render(style));
    if all > limit {
        let rest = format!("… and {} more: --limit 0 shows all", count((all - limit) as u64));
        out += &style.wrap(Tone::Faint, &rest);
    }
    out
}

fn functions(analysis: &Analysis, figures: Figures, limit: usize) -> (Table, usize) {
    let mut columns = vec![figures.share_column("self")];
    columns.push(Column::number("CPI"));
    columns.extend([Column::number("calls"), Column::detail("instr/call")]);
    columns.extend(figures.each_columns("a call"));
    columns.extend([Column::name("function"), Column::name("where")]);
    let mut table = Table::new(columns);
    let rows = rows::functions(analysis);
    for row in rows.iter().take(limit) {
        let calls = row.calls.unwrap_or(0);
        let mut cells = vec![figures.share_cell(&row.cost), figures.cpi_cell(&row.cost)];
        cells.extend([row.calls.map_or(UNKNOWN.into(), count), ratio(row.cost.instructions, calls)]);
        cells.extend(figures.each_cells(&row.cost, calls));
        cells.extend([row.function.clone(), labels::declared(analysis, row.routine)]);
        table.row(figures.tone(&row.cost), cells);
    }
    (table, rows.len())
}

fn loops(analysis: &Analysis, figures: Figures, limit: usize) -> (Table, usize) {
    let mut columns =
        vec![figures.share_column("self"), figures.share_column("total"), Column::number("CPI")];
    columns.extend([Column::number("entered"), Column::number("rounds each"), Column::detail("instr/round")]);
    columns.extend(figures.each_columns("a round"));
    columns.extend([Column::detail("depth"), Column::name("loop"), Column::name("function")]);
    let mut table = Table::new(columns);
    let rows = rows::loops(analysis);
    for row in rows.iter().take(limit) {
        let total = row.instructions_total.map_or(UNKNOWN.into(), |_| figures.share_cell(&row.whole));
        let mut cells = vec![figures.share_cell(&row.own), total, figures.cpi_cell(&row.own)];
        cells.extend([count(row.invocations), ratio(row.iterations, row.invocations)]);
        cells.push(ratio(row.own.instructions, row.iterations));
        cells.extend(figures.each_cells(&row.own, row.iterations));
        cells.extend([row.depth.to_string(), loop_name(analysis, row), row.function.clone()]);
        table.row(figures.tone(&row.own), cells);
    }
    (table, rows.len())
}

/// A loop by its source lines, or by its header where no lines are known.
pub(crate) fn loop_name(analysis: &Analysis, row: &rows::LoopRow) -> String {
    let header = analysis.forest.loops[row.id.index()].header;
    match analysis.lines_of_loop(row.id) {
        Some((first, last)) => labels::lines(analysis.profile, first, last),
        None => labels::offset(analysis.profile, analysis.code.blocks[header.index()].place),
    }
}

fn blocks(analysis: &Analysis, figures: Figures, limit: usize) -> (Table, usize) {
    let mut columns = vec![figures.share_column("self"), Column::number("CPI"), Column::number("executions")];
    columns.push(Column::detail("instr"));
    columns.extend(figures.each_columns("each"));
    columns.extend([Column::number("offset"), Column::name("where"), Column::name("function")]);
    let mut table = Table::new(columns);
    let rows = rows::blocks(analysis);
    for row in rows.iter().take(limit) {
        let mut cells = vec![figures.share_cell(&row.cost), figures.cpi_cell(&row.cost)];
        cells.extend([count(row.of.executions), row.of.instructions.to_string()]);
        cells.extend(figures.each_cells(&row.cost, row.of.executions));
        let place = source(row.of.file.as_deref(), row.of.line, &row.of.module);
        cells.extend([format!("{:#x}", row.of.offset), place, row.of.function.clone()]);
        table.row(figures.tone(&row.cost), cells);
    }
    (table, rows.len())
}

fn instructions(analysis: &Analysis, figures: Figures, limit: usize) -> (Table, usize) {
    let mut columns = vec![figures.share_column("time"), Column::detail("samples")];
    columns.extend(figures.each_columns("each"));
    columns.extend([Column::number("executions"), Column::number("offset")]);
    columns.extend([Column::name("instruction"), Column::name("where"), Column::name("function")]);
    let mut table = Table::new(columns);
    let rows = rows::instructions(analysis);
    for row in rows.iter().take(limit) {
        let mut cells = vec![figures.share_cell(&row.cost), figures.samples_cell(&row.cost)];
        cells.extend(figures.each_cells(&row.cost, row.cost.instructions));
        cells.extend([row.of.executions.map_or(UNKNOWN.into(), count), format!("{:#x}", row.of.offset)]);
        let place = source(row.of.file.as_deref(), row.of.line, &row.of.module);
        cells.extend([row.of.text.clone(), place, row.of.function.clone()]);
        table.row(figures.tone(&row.cost), cells);
    }
    (table, rows.len())
}

fn lines(analysis: &Analysis, figures: Figures, limit: usize) -> (Table, usize) {
    let mut columns = vec![figures.share_column("time"), Column::detail("samples"), Column::number("CPI")];
    columns.extend([Column::number("instructions"), Column::name("line"), Column::name("module")]);
    let mut table = Table::new(columns);
    let rows = rows::lines(analysis);
    for row in rows.iter().take(limit) {
        let mut cells =
            vec![figures.share_cell(&row.cost), figures.samples_cell(&row.cost), figures.cpi_cell(&row.cost)];
        cells.push(row.of.instructions.map_or(UNKNOWN.into(), count));
        let place = source(Some(&row.of.file), Some(row.of.line), &row.of.module);
        cells.extend([place, labels::file_name(&row.of.module).to_string()]);
        table.row(figures.tone(&row.cost), cells);
    }
    (table, rows.len())
}

fn source(file: Option<&str>, line: Option<u32>, module: &str) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}", labels::file_name(file)),
        _ => labels::file_name(module).to_string(),
    }
}

/// `part` for each of `count`.
pub(crate) fn ratio(part: u64, count: u64) -> String {
    if count == 0 { UNKNOWN.into() } else { figure(part as f64 / count as f64) }
}
