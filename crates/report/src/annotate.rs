//! `timewise annotate`: one function, instruction by instruction, between its source lines.

use crate::arrows::Arrows;
use crate::beside::Beside;
use crate::branch;
use crate::code_text::CodeText;
use crate::csv::table;
use crate::figures::{self, Figures};
use crate::hints;
use crate::json::document;
use crate::jumps::jumps;
use crate::labels;
use crate::number::{count, times};
use crate::origin;
use crate::request::By;
use crate::rows::{Costed, InstructionRow, instructions_of};
use crate::style::{Style, Tone};
use crate::table::{Column, Table, UNKNOWN, cut};
use crate::visible::visible;
use std::collections::{BTreeSet, HashMap};
use timewise_flow::lines::{SourceLine, line_at};
use timewise_flow::{Analysis, InstructionId, LoopId, RoutineId};
use timewise_profile::{BlockId, Offset, Place};

pub use crate::find::{AnnotateError, find, find_any};

/// What is known of a line of a source file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SourceText {
    /// Its text.
    Line(String),
    /// The file is another than the program was made from: the line's text may be another's.
    Changed,
    /// The file cannot be read, or ends before.
    Unknown,
}

/// Gives the text of a line, counted from 1, of a source file by its path.
pub type Source<'a> = &'a dyn Fn(&str, u32) -> SourceText;

/// The function as text.
pub fn text(analysis: &Analysis, routine: RoutineId, source: Source, style: Style) -> String {
    let figures = Figures::new(analysis);
    let listing = Listing {
        analysis,
        modelled: Beside::of(analysis, routine),
        figures,
        text: CodeText::new(analysis),
        costs: analysis.by_instruction(),
        hints: hints(analysis),
    };
    let cost = analysis.by_routine()[routine.index()];
    let name = analysis.name_of(routine);
    let share = figures.share_cell(&cost);
    let total = match figures.total_cell(analysis.totals().of_routine(routine)) {
        total if total == UNKNOWN || total == share => String::new(),
        total => format!(" ({total} with callees)"),
    };
    let (body, has_mark, changed) = listing.render(routine, source, style);
    let mut out = origin::head(analysis, style);
    for file in changed {
        let warning = format!("warning: {file} was changed after the run: its lines may be others");
        out += &style.wrap(Tone::Warning, &warning);
    }
    let place = format!(" ({}):", visible(&labels::declared(analysis, routine)));
    let facts = format!(
        "{share} of {}{total}, CPI {}, called {}",
        if figures.is_sampled() { "the time" } else { "all instructions" },
        figures.cpi_cell(&cost),
        times(analysis.calls_of(routine)),
    );
    let name = visible(&name);
    let length = |text: &str| text.chars().count();
    let fits = length(&name) + length(&place) + length(" ") + length(&facts) <= style.width;
    let space = if fits { " " } else { "\n  " };
    out += &format!("\n{}{place}{space}{facts}\n\n", style.paint(Tone::Heading, &name));
    out += &body;
    out += &listing.modelled.as_ref().map_or(String::new(), |modelled| modelled.legend(style));
    out += &figures.explanation(has_mark || figures::is_marked(&cost) || figures.is_doubtful(), style);
    out
}

struct Listing<'a> {
    analysis: &'a Analysis<'a>,
    /// What a modelled core says of the same instructions.
    modelled: Option<Beside<'a>>,
    figures: Figures<'a>,
    text: CodeText<'a>,
    costs: Vec<timewise_flow::Cost>,
    /// What is to be said of instructions, or of the loops that begin with them.
    hints: HashMap<InstructionId, Vec<String>>,
}

fn hints(analysis: &Analysis) -> HashMap<InstructionId, Vec<String>> {
    let mut hints: HashMap<InstructionId, Vec<String>> = HashMap::new();
    for row in hints::rows(analysis) {
        hints.entry(row.of.instruction(analysis)).or_default().push(row.short);
    }
    hints
}

impl Listing<'_> {
    /// All instructions in one table, so that columns align, cut apart by source lines and gaps; whether any
    /// figure is marked; and the source files that were changed.
    fn render(&self, routine: RoutineId, source: Source, style: Style) -> (String, bool, BTreeSet<String>) {
        let blocks = &self.analysis.routines[routine.index()].blocks;
        let code = &self.analysis.code.blocks;
        let instructions: Vec<InstructionId> =
            blocks.iter().flat_map(|block| code[block.index()].instructions()).collect();
        let arrows = Arrows::new(&jumps(self.analysis, routine), &instructions);
        let style = Style { width: style.width.saturating_sub(arrows.width()), ..style };
        let mut table = Table::new(self.columns());
        let mut changed = BTreeSet::new();
        let mut between: Vec<Vec<String>> = Vec::new();
        let mut above = Vec::new();
        let mut last_line: Option<SourceLine> = None;
        let mut last_end: Option<Offset> = None;
        for block in blocks {
            let executed = &code[block.index()];
            if last_end.is_some_and(|end| end != executed.place.offset) {
                above.push("  ⋮".into());
            }
            last_end = Some(executed.end);
            above.extend(self.loop_marks(*block));
            for id in executed.instructions() {
                let place = self.analysis.code.place(id);
                let line = line_at(self.analysis.profile, place);
                if line != last_line {
                    above.push(self.source_line(line, source, style, &mut changed));
                    last_line = line;
                }
                above.extend(self.hint_lines(id, style));
                between.push(std::mem::take(&mut above));
                table.row(self.figures.tone(&self.costs[id.index()]), self.cells(id, place));
            }
        }
        let has_mark = figures::has_mark(&table);
        let rendered = table.render(style);
        let mut lines = rendered.lines();
        let indent = " ".repeat(arrows.width());
        let headings = lines.clone().count().saturating_sub(between.len());
        let mut out: String =
            lines.by_ref().take(headings).map(|heading| format!("{indent}{heading}\n")).collect();
        for (row, (between, line)) in between.iter().zip(lines).enumerate() {
            let above = style.paint(Tone::Faint, &arrows.above(row));
            out.extend(between.iter().map(|line| format!("{above}{line}").trim_end().to_string() + "\n"));
            out += &format!("{}{line}\n", style.paint(Tone::Faint, &arrows.beside(row)));
        }
        (out, has_mark, changed)
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::number("offset"), Column::name("instruction"), Column::name("")];
        columns.extend([
            Column::number("executions"),
            Column::detail("samples"),
            self.figures.share_column("time"),
        ]);
        columns.extend(self.figures.each_columns("each"));
        columns.extend(self.modelled.iter().flat_map(Beside::columns));
        columns
    }

    fn cells(&self, id: InstructionId, place: Place) -> Vec<String> {
        let cost = self.costs[id.index()];
        let mut cells =
            vec![format!("{:#x}", place.offset.0), self.text.of(id), branch::taken(self.analysis, id)];
        cells.extend([
            count(cost.instructions),
            self.figures.samples_cell(&cost),
            self.figures.share_cell(&cost),
        ]);
        cells.extend(self.figures.each_cells(&cost, cost.instructions));
        cells.extend(self.modelled.iter().flat_map(|modelled| modelled.cells(id)));
        cells
    }

    fn source_line(
        &self,
        line: Option<SourceLine>,
        source: Source,
        style: Style,
        changed: &mut BTreeSet<String>,
    ) -> String {
        let Some(line) = line else { return String::new() };
        let label = labels::line(self.analysis.profile, line);
        let path = labels::file_path(self.analysis.profile, line.file);
        let text = match source(path, line.line) {
            SourceText::Line(text) => text,
            SourceText::Unknown => String::new(),
            SourceText::Changed => {
                changed.insert(labels::file_name(path).to_string());
                String::new()
            }
        };
        let text = format!("{label}  {}", text.trim_end().replace('\t', "    "));
        style.paint(Tone::Heading, &cut(&visible(text.trim_end()), style.width))
    }

    fn hint_lines(&self, id: InstructionId, style: Style) -> Vec<String> {
        let sentences = self.hints.get(&id).into_iter().flatten();
        let lines = |sentence: &String| {
            let wrapped = style.wrap(Tone::Warm, &format!("  ◆ {sentence}"));
            wrapped.lines().map(str::to_string).collect::<Vec<_>>()
        };
        sentences.flat_map(lines).collect()
    }

    /// Says which loops begin here.
    fn loop_marks(&self, block: BlockId) -> Vec<String> {
        let forest = &self.analysis.forest;
        let begins = |id: &LoopId| forest.loops[id.index()].header == block;
        let mut loops: Vec<LoopId> = forest.around(block).filter(begins).collect();
        loops.reverse();
        let mark = |id: LoopId| {
            let one = &forest.loops[id.index()];
            let rounds = crate::listing::ratio(one.iterations, one.invocations);
            format!("  ↻ loop, depth {}: entered {}, {rounds} rounds each", one.depth, times(one.invocations))
        };
        loops.into_iter().map(mark).collect()
    }
}

/// The function's instructions as JSON, in the order of the code.
///
/// # Errors
/// None in practice.
pub fn json(analysis: &Analysis, routine: RoutineId) -> Result<String, serde_json::Error> {
    document(analysis, By::Instruction, rows_of(analysis, routine))
}

/// The function's instructions as CSV, in the order of the code.
///
/// # Errors
/// None in practice.
pub fn csv(analysis: &Analysis, routine: RoutineId) -> Result<String, csv::Error> {
    table(rows_of(analysis, routine).into_iter().map(Costed::into_parts))
}

fn rows_of(analysis: &Analysis, routine: RoutineId) -> Vec<Costed<InstructionRow>> {
    let mut rows: Vec<_> = instructions_of(analysis, routine).collect();
    rows.sort_by_key(|row| row.of.offset);
    rows
}
