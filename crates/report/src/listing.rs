//! `timewise report`: one row for each function, loop, call, block, branch, path, instruction or line, costliest first.

use crate::apart::{Label, tell_apart};
use crate::figures::{self, Figures};
use crate::labels;
use crate::number::{count, duration, figure, percent, quantity};
use crate::origin;
use crate::path_hints;
use crate::request::{By, Calls, Request};
use crate::rows::{self, InKernel, Seen, Share, Stacked, Totalled, Waited};
use crate::style::{Style, Tone};
use crate::table::{Column, Table, UNKNOWN};
use timewise_flow::{Analysis, Cost, RoutineId, waiting};

/// The report as text: origin, table, and what was left out. At most `limit` rows.
pub fn report(
    analysis: &Analysis,
    request: impl Into<Request>,
    limit: Option<usize>,
    style: Style,
) -> String {
    let Request { by, sort, calls } = request.into();
    let figures = Figures::new(analysis);
    let limit = limit.unwrap_or(usize::MAX);
    let (table, all) = match by {
        By::Function if rows::is_traced_only(analysis.profile) => branching(analysis, limit),
        By::Branch => branches(analysis, limit),
        By::Function => functions(analysis, figures, rows::functions(analysis, sort), limit),
        By::Loop => loops(analysis, figures, rows::loops(analysis, sort), limit),
        By::Call => self::calls(analysis, figures, rows::calls(analysis, calls), limit),
        By::Block => blocks(analysis, figures, limit),
        By::Instruction => instructions(analysis, figures, limit),
        By::Line => lines(analysis, figures, limit),
        By::Path => paths(analysis, limit),
        By::Waiting => waits(analysis, rows::waits(analysis), limit),
        By::Kernel => kernel(rows::kernel(analysis), limit),
    };
    let explanation = figures.explanation(figures::has_mark(&table), style);
    let mut out = format!("{}\n{}{explanation}", origin::head(analysis, style), table.render(style));
    if all == 0 {
        out += &style.wrap(Tone::Faint, none(by, figures.is_counted()));
    }
    out += &rest(all, limit, "--limit 0", style);
    if let (By::Call, Calls::Of(callee)) = (by, calls) {
        out += &without_calls(analysis, callee, style);
    }
    let is_of_traces = by == By::Branch || by == By::Function && rows::is_traced_only(analysis.profile);
    if is_of_traces && all > 0 {
        out += &style.wrap(Tone::Faint, OF_TRACES);
    }
    if by == By::Line {
        out += &without_lines(analysis, figures, style);
    }
    if by == By::Path {
        if analysis.profile.paths.iter().any(|path| path.is_bound) {
            out += &style.wrap(Tone::Faint, AT_MOST);
        }
        out += &untold(analysis, style);
        out += &path_hints::text(analysis, style);
    }
    out
}

/// What traced branches tell of a program, and how sure that is.
const OF_TRACES: &str = "shares by weight, of all branches that traces saw; intervals are of chance alone, a trace \
     for one draw; weights err besides where loops differ in pace, by a third at times, and many times over where one waits \
     for memory and another does not (docs/branches.md)";

/// All that there is of a profile of traced branches alone: functions, and below them branches.
pub fn traced(analysis: &Analysis, limit: Option<usize>, style: Style) -> String {
    let functions = report(analysis, By::Function, limit, style);
    let limit = limit.unwrap_or(usize::MAX);
    let (table, all) = branches(analysis, limit);
    format!("{functions}\n{}{}", table.render(style), rest(all, limit, "--by branch --limit 0", style))
}

/// How often a function was entered without a call, if it was.
fn without_calls(analysis: &Analysis, callee: RoutineId, style: Style) -> String {
    let of_it = analysis.totals().call_sites.iter().filter(|site| site.callee == Some(callee));
    let made: u64 = of_it.filter_map(|site| site.calls).sum();
    match analysis.calls_of(callee).saturating_sub(made) {
        0 => String::new(),
        more => style.wrap(
            Tone::Faint,
            &format!(
                "entered {} without a call: by jumps (tail calls), or by the system",
                quantity(more, "time")
            ),
        ),
    }
}

/// How many rows were left out, if any were, and what shows them.
fn rest(all: usize, limit: usize, shown_by: &str, style: Style) -> String {
    match all.saturating_sub(limit) {
        0 => String::new(),
        more => style.wrap(Tone::Faint, &format!("… and {} more: {shown_by} shows all", count(more as u64))),
    }
}

/// If the paths of a smaller share of the instructions are not known, nobody misses them.
pub const WORTH_SAYING: f64 = 0.005;

/// Functions that are named by what of them is not told apart.
const NAMED: usize = 3;

/// Which instructions are on no path of the table.
fn untold(analysis: &Analysis, style: Style) -> String {
    let rows = rows::untold(analysis);
    let share: f64 = rows.iter().map(|row| row.share).sum();
    if share < WORTH_SAYING {
        return String::new();
    }
    let named = rows.iter().filter(|row| row.share >= WORTH_SAYING).take(NAMED);
    let of = |row: &rows::UntoldRow| {
        format!("{} in {} ({} of it)", percent(row.share), row.function, percent(row.share_of_function))
    };
    let mut functions: Vec<String> = named.map(of).collect();
    if functions.len() < rows.len() {
        functions.push(quantity((rows.len() - functions.len()) as u64, "other"));
    }
    style.wrap(
        Tone::Faint,
        &format!(
            "on paths that are not told apart: {} of the instructions: {}",
            percent(share),
            functions.join(", ")
        ),
    )
}

/// What a mark in tables of paths means.
const AT_MOST: &str =
    "≤: not counted, since edges tell it; at most so often. timewise paths --all counts every path";

/// What stands below a table without rows.
fn none(by: By, is_counted: bool) -> &'static str {
    match by {
        By::Loop | By::Call | By::Block if !is_counted => {
            "none: loops, calls and blocks are known of what was counted, as by: timewise run"
        }
        By::Path => "no paths in this profile: count them with: timewise paths -- PROGRAM",
        By::Branch => {
            "no branches were traced in this profile: trace them with: timewise branches -- PROGRAM"
        }
        By::Waiting => "no thread was seen to wait; that others took its processor is no waiting",
        By::Kernel => "no samples of the kernel: take them with --kernel",
        _ => "none in this profile",
    }
}

fn functions(
    analysis: &Analysis,
    figures: Figures,
    rows: impl ExactSizeIterator<Item = Totalled<rows::FunctionRow>>,
    limit: usize,
) -> (Table, usize) {
    let mut columns = vec![figures.share_column("self"), figures.share_column("total")];
    columns.push(Column::number("CPI"));
    columns.extend([Column::number("calls"), Column::detail(&figures.per_call("instr/call"))]);
    columns.extend(figures.each_columns(&figures.per_call("a call")));
    columns.push(Column::detail("CPI, total"));
    columns.extend([Column::function("function"), Column::place_in_function("where")]);
    let (mut table, all) = (Table::new(columns), rows.len());
    let rows: Vec<_> = rows.take(limit).collect();
    let labels = rows.iter().map(|row| Label {
        name: &row.of.function,
        place: labels::declared(analysis, row.of.routine),
        module: &row.of.module,
    });
    for (row, place) in rows.iter().zip(tell_apart(labels.collect())) {
        let calls = row.of.calls.unwrap_or(0);
        let mut cells = vec![figures.share_cell(&row.of.cost), figures.total_cell(&row.total)];
        cells.push(figures.cpi_cell(&row.of.cost));
        cells.extend([row.of.calls.map_or(UNKNOWN.into(), count), instructions_a_call(figures, &row.of)]);
        cells.extend(match figures.are_calls_whole() {
            true => figures.total_each_cells(&row.total, calls),
            false => figures.each_cells(&row.of.cost, calls),
        });
        cells.push(figures.total_cpi_cell(&row.total));
        cells.extend([row.of.function.clone(), place]);
        table.row(figures.tone(&row.of.cost), cells);
    }
    (table, all)
}

/// Instructions of a call, as the heading says: with callees or without.
pub(crate) fn instructions_a_call(figures: Figures, row: &rows::FunctionRow) -> String {
    let instructions = match figures.are_calls_whole() {
        true => row.instructions_total,
        false => Some(row.cost.instructions),
    };
    instructions.map_or(UNKNOWN.into(), |instructions| ratio(instructions, row.calls.unwrap_or(0)))
}

fn loops(
    analysis: &Analysis,
    figures: Figures,
    rows: impl ExactSizeIterator<Item = Totalled<rows::LoopRow>>,
    limit: usize,
) -> (Table, usize) {
    let mut columns = vec![figures.share_column("self"), figures.share_column("total")];
    columns.push(Column::number("CPI"));
    columns.extend([Column::number("entered"), Column::number("rounds each"), Column::detail("instr/round")]);
    columns.extend(figures.each_columns("a round"));
    columns.push(Column::detail("CPI, total"));
    columns.extend([Column::detail("depth"), Column::place("loop"), Column::function("function")]);
    let (mut table, all) = (Table::new(columns), rows.len());
    for row in rows.take(limit) {
        let mut cells = vec![figures.share_cell(&row.of.own), figures.total_cell(&row.total)];
        cells.push(figures.cpi_cell(&row.of.own));
        cells.extend([count(row.of.invocations), ratio(row.of.iterations, row.of.invocations)]);
        cells.push(ratio(row.of.own.instructions, row.of.iterations));
        cells.extend(figures.each_cells(&row.of.own, row.of.iterations));
        cells.push(figures.total_cpi_cell(&row.total));
        cells.extend([row.of.depth.to_string(), loop_name(analysis, &row.of), row.of.function.clone()]);
        table.row(figures.tone(&row.of.own), cells);
    }
    (table, all)
}

fn calls(
    analysis: &Analysis,
    figures: Figures,
    rows: impl ExactSizeIterator<Item = Totalled<rows::CallRow>>,
    limit: usize,
) -> (Table, usize) {
    let mut columns = vec![figures.share_column("total"), Column::number("CPI"), Column::number("calls")];
    columns.push(Column::detail("instr/call"));
    columns.extend(figures.each_columns("a call"));
    columns.extend([Column::function("caller"), Column::place("where"), Column::function("callee")]);
    let (mut table, all) = (Table::new(columns), rows.len());
    for row in rows.take(limit) {
        let calls = row.of.calls.unwrap_or(0);
        let mut cells = vec![figures.total_cell(&row.total), figures.total_cpi_cell(&row.total)];
        cells.push(row.of.calls.map_or(UNKNOWN.into(), count));
        cells.push(
            row.of.instructions_total.map_or(UNKNOWN.into(), |instructions| ratio(instructions, calls)),
        );
        cells.extend(figures.total_each_cells(&row.total, calls));
        let callee = row.of.callee.clone().unwrap_or(UNKNOWN.into());
        cells.extend([row.of.caller.clone(), labels::place(analysis.profile, row.of.place), callee]);
        table.row(figures.tone(&row.total.cost), cells);
    }
    (table, all)
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
    columns.extend([Column::number("offset"), Column::place("where"), Column::function("function")]);
    let rows = rows::blocks(analysis);
    let (mut table, all) = (Table::new(columns), rows.len());
    for row in rows.take(limit) {
        let mut cells = vec![figures.share_cell(&row.cost), figures.cpi_cell(&row.cost)];
        cells.extend([count(row.of.executions), row.of.instructions.to_string()]);
        cells.extend(figures.each_cells(&row.cost, row.of.executions));
        let place = labels::line_or_module(row.of.file.as_deref(), row.of.line, &row.of.module);
        cells.extend([format!("{:#x}", row.of.offset), place, row.of.function.clone()]);
        table.row(figures.tone(&row.cost), cells);
    }
    (table, all)
}

fn branches(analysis: &Analysis, limit: usize) -> (Table, usize) {
    let mut columns = vec![Column::number("share"), Column::number("(95 %)"), Column::number("seen")];
    columns.extend([Column::function("function"), Column::place("branch"), Column::place("leads to")]);
    let (mut table, rows) = (Table::new(columns), rows::branches(analysis.profile));
    for Seen { of: row, share } in rows.iter().take(limit) {
        let place = |file: &Option<String>, line, module: &str, offset: u64| match file {
            Some(_) => labels::line_or_module(file.as_deref(), line, module),
            None => format!("{}+{offset:#x}", labels::file_name(module)),
        };
        let mut cells = share_cells(share);
        let to = place(&row.to_file, row.to_line, &row.to_module, row.to_offset);
        let to = if row.to_function == row.function { to } else { format!("{to} {}", row.to_function) };
        cells.extend([row.function.clone(), place(&row.file, row.line, &row.module, row.offset), to]);
        table.row(Tone::Plain, cells);
    }
    (table, rows.len())
}

fn branching(analysis: &Analysis, limit: usize) -> (Table, usize) {
    let mut columns = vec![Column::number("branches"), Column::number("(95 %)"), Column::number("seen")];
    columns.extend([Column::function("function"), Column::place("where")]);
    let (mut table, rows) = (Table::new(columns), rows::branching(analysis.profile));
    for Seen { of: row, share } in rows.iter().take(limit) {
        let mut cells = share_cells(share);
        cells.extend([row.function.clone(), labels::file_name(&row.module).to_string()]);
        table.row(Tone::Plain, cells);
    }
    (table, rows.len())
}

/// A share, its interval, and how often.
fn share_cells(share: &Share) -> Vec<String> {
    let limits = format!("({:.1}–{:.1})", 100.0 * share.share_low, 100.0 * share.share_high);
    vec![percent(share.share), limits, count(share.seen)]
}

fn instructions(analysis: &Analysis, figures: Figures, limit: usize) -> (Table, usize) {
    let mut columns = vec![figures.share_column("time"), Column::detail("samples")];
    columns.extend(figures.each_columns("each"));
    columns.extend([Column::number("executions"), Column::number("offset")]);
    columns.extend([Column::name("instruction"), Column::place("where"), Column::function("function")]);
    let rows = rows::instructions(analysis);
    let (mut table, all) = (Table::new(columns), rows.len());
    for row in rows.take(limit) {
        let mut cells = vec![figures.share_cell(&row.cost), figures.samples_cell(&row.cost)];
        cells.extend(figures.each_cells(&row.cost, row.cost.instructions));
        cells.extend([row.of.executions.map_or(UNKNOWN.into(), count), format!("{:#x}", row.of.offset)]);
        let place = labels::line_or_module(row.of.file.as_deref(), row.of.line, &row.of.module);
        cells.extend([row.of.text.clone(), place, row.of.function.clone()]);
        table.row(figures.tone(&row.cost), cells);
    }
    (table, all)
}

fn lines(analysis: &Analysis, figures: Figures, limit: usize) -> (Table, usize) {
    let mut columns = vec![figures.share_column("time"), Column::detail("samples"), Column::number("CPI")];
    columns.extend([Column::number("instructions"), Column::place("line"), Column::name("module")]);
    let rows = rows::lines(analysis);
    let (mut table, all) = (Table::new(columns), rows.len());
    let rows: Vec<_> = rows.take(limit).collect();
    let lines: Vec<String> = rows
        .iter()
        .map(|row| labels::line_or_module(Some(&row.of.file), Some(row.of.line), &row.of.module))
        .collect();
    let labels = rows.iter().zip(&lines).map(|(row, line)| Label {
        name: line,
        place: labels::file_name(&row.of.module).to_string(),
        module: &row.of.module,
    });
    for ((row, line), module) in rows.iter().zip(&lines).zip(tell_apart(labels.collect())) {
        let mut cells =
            vec![figures.share_cell(&row.cost), figures.samples_cell(&row.cost), figures.cpi_cell(&row.cost)];
        cells.push(row.of.instructions.map_or(UNKNOWN.into(), count));
        cells.extend([line.clone(), module]);
        table.row(figures.tone(&row.cost), cells);
    }
    (table, all)
}

/// Worth telling: less has no line in programs that were built with all of them.
pub const MUCH_WITHOUT_LINES: f64 = 0.005;

/// What no row of lines can show.
fn without_lines(analysis: &Analysis, figures: Figures, style: Style) -> String {
    let (part, what): (fn(&Cost) -> f64, _) = match figures.is_sampled() {
        true => (|cost| cost.weight.cycles, "time"),
        false => (|cost| cost.instructions as f64, "instructions"),
    };
    let whole = part(&analysis.whole());
    let with_lines: f64 = analysis.by_line().iter().map(|(.., cost)| part(cost)).sum();
    if whole > 0.0 { told_without_lines(1.0 - with_lines / whole, what, style) } else { String::new() }
}

/// Says which share of the time, or of what else is listed, no row of lines shows; nothing if that is little.
pub fn told_without_lines(share: f64, what: &str, style: Style) -> String {
    if share < MUCH_WITHOUT_LINES {
        return String::new();
    }
    let told = format!(
        "{} of the {what} is in code without line numbers: --by function shows it, debug information names its lines",
        percent(share)
    );
    style.wrap(Tone::Faint, &told)
}

fn paths(analysis: &Analysis, limit: usize) -> (Table, usize) {
    let mut columns = vec![Column::number("instructions"), Column::number("of function")];
    columns.extend([Column::number("taken"), Column::detail("instr each"), Column::detail("CPI")]);
    columns.extend([Column::path("path"), Column::function("function")]);
    let (mut table, rows) = (Table::new(columns), rows::paths(analysis));
    let shown = &rows[..limit.min(rows.len())];
    for (row, title) in shown.iter().zip(rows::titles(shown)) {
        let at_most = if row.is_bound { "≤ " } else { "" };
        let mut cells = vec![percent(row.share), percent(row.share_of_function)];
        cells.extend([format!("{at_most}{}", count(row.executions)), count(row.instructions)]);
        cells.push(row.cpi().map_or(UNKNOWN.into(), figure));
        cells.extend([title, row.function.clone()]);
        table.row(Tone::Plain, cells);
    }
    (table, rows.len())
}

/// Where threads waited, and which share that is of the time of all threads.
pub(crate) fn waits(analysis: &Analysis, rows: Vec<Stacked<Waited>>, limit: usize) -> (Table, usize) {
    let mut columns = Vec::from(["time", "share"].map(Column::number));
    columns.extend(["threads", "times", "each"].map(Column::number));
    columns.push(Column::name("waiting in < called by"));
    let mut table = Table::new(columns);
    let rows = rows::titled(rows);
    let whole = waiting::threads_time_ns(analysis).max(1.0);
    for row in rows.iter().take(limit) {
        let times = row.fields.times.map_or(UNKNOWN.into(), |times| count(times.round() as u64));
        let each = row
            .fields
            .times
            .filter(|&times| times > 0.0)
            .map(|times| duration(row.fields.duration_ns / times));
        let mut cells = vec![duration(row.fields.duration_ns), percent(row.fields.duration_ns / whole)];
        cells.extend([
            row.fields.threads.count().to_string(),
            times,
            each.unwrap_or(UNKNOWN.into()),
            row.title(),
        ]);
        table.row(Tone::Plain, cells);
    }
    (table, rows.len())
}

/// What the kernel was called for, and which share of the CPU time that took.
pub(crate) fn kernel(rows: Vec<Stacked<InKernel>>, limit: usize) -> (Table, usize) {
    let columns = ["share of CPU time", "samples"].map(Column::number).into_iter();
    let mut table = Table::new(columns.chain([Column::name("the kernel for < called by")]).collect());
    let rows = rows::titled(rows);
    for row in rows.iter().take(limit) {
        let cells = vec![percent(row.fields.share), count(row.fields.samples.round() as u64), row.title()];
        table.row(Tone::Plain, cells);
    }
    (table, rows.len())
}

/// `part` for each of `count`.
pub(crate) fn ratio(part: u64, count: u64) -> String {
    if count == 0 { UNKNOWN.into() } else { figure(part as f64 / count as f64) }
}
