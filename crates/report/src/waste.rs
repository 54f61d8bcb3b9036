//! `timewise waste`: instructions that did nothing for what came after, as text, JSON and CSV.

use crate::code_text::CodeText;
use crate::number::{count, grouped, percent, share};
use crate::rows::compact;
use crate::site::{self, Site};
use crate::style::{Style, Tone};
use crate::table::{Column, Table};
use crate::{csv, heading, labels, origin};
use serde::Serialize;
use std::collections::BTreeMap;
use timewise_flow::{Analysis, InstructionId, RoutineId};
use timewise_isa::effects::storage_name;
use timewise_workload::{Kind, Waste, Wasted};

/// Name and version of the JSON's schema. The number changes when a field changes its meaning or goes; new
/// fields do not change it.
pub const SCHEMA: &str = "timewise-waste/1";

/// What a kind is called.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Dead => "dead",
        Kind::DeadStore => "dead-store",
        Kind::Reload => "reload",
        Kind::SameStore => "same-store",
        Kind::Unchanged => "unchanged",
        Kind::Held => "held",
        Kind::Recomputed => "recomputed",
        Kind::Move => "move",
        Kind::Pair => "pair",
    }
}

/// What a kind is, for the table of kinds.
fn meaning(kind: Kind) -> &'static str {
    match kind {
        Kind::Dead => "what it writes is overwritten unread",
        Kind::DeadStore => "what it stores is overwritten unread",
        Kind::Reload => "loads what its register holds",
        Kind::SameStore => "stores what is there already",
        Kind::Unchanged => "computes what its register holds",
        Kind::Held => "loads what another register holds",
        Kind::Recomputed => "computes what another register holds",
        Kind::Move => "copies what could be read where it is",
        Kind::Pair => "saves and restores for nothing",
    }
}

/// An instruction, as programs read it.
#[derive(Serialize, Default)]
struct Row {
    module: String,
    offset: u64,
    length: u8,
    function: String,
    file: Option<String>,
    line: Option<u32>,
    text: String,
    kind: &'static str,
    executions: u64,
    removable: u64,
    of: u64,
    #[serde(serialize_with = "compact")]
    share: f64,
    why: String,
    because_offset: Option<u64>,
}

/// A function.
#[derive(Serialize, Default)]
struct FunctionRow {
    module: String,
    function: String,
    wasted: u64,
    instructions: u64,
    #[serde(serialize_with = "compact")]
    share: f64,
    #[serde(serialize_with = "compact")]
    share_of_function: f64,
}

#[derive(Serialize)]
struct KindRow {
    kind: &'static str,
    instructions: usize,
    executions: u64,
    #[serde(serialize_with = "compact")]
    share: f64,
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    executed: u64,
    executed_on_paths: u64,
    wasted: u64,
    removable: u64,
    kinds: Vec<KindRow>,
    functions: Vec<FunctionRow>,
    instructions: Vec<Row>,
}

/// Words for what makes an instruction wasteful.
fn why(analysis: &Analysis, wasted: &Wasted) -> String {
    let place = |id: InstructionId| labels::place(analysis.profile, analysis.code.place(id));
    let storage = wasted.storage.map_or("memory", storage_name);
    let at = wasted.because.map(place);
    let since = at.as_ref().map_or("since before".into(), |at| format!("since {at}"));
    match (wasted.kind, at) {
        (Kind::Dead, Some(at)) => format!("{storage} is overwritten at {at} unread"),
        (Kind::Dead, None) => format!("{storage} is overwritten unread later"),
        (Kind::DeadStore, Some(at)) => format!("memory is overwritten at {at} unread"),
        (Kind::DeadStore, None) => "memory is overwritten unread".into(),
        (Kind::SameStore, _) => format!("memory holds it, {since}"),
        (Kind::Reload | Kind::Unchanged | Kind::Held | Kind::Recomputed, _) => {
            format!("{storage} holds it, {since}")
        }
        (Kind::Move, Some(at)) => format!("{storage} could be read at {at}"),
        (Kind::Pair, Some(at)) => format!("with its counterpart at {at}"),
        (Kind::Move | Kind::Pair, None) => String::new(),
    }
}

fn row(analysis: &Analysis, text: &CodeText, waste: &Waste, wasted: &Wasted) -> Row {
    let Site { module, function, offset, file, line, text, .. } =
        site::instruction(text, analysis, wasted.instruction);
    Row {
        module,
        offset: offset.unwrap_or(0),
        length: analysis.code.instructions[wasted.instruction.index()].step.length,
        function,
        file,
        line,
        text: text.unwrap_or_default(),
        kind: name(wasted.kind),
        executions: wasted.executions,
        removable: wasted.removable,
        of: wasted.of,
        share: share(wasted.executions, waste.executed),
        why: why(analysis, wasted),
        because_offset: wasted.because.map(|id| analysis.code.place(id).offset.0),
    }
}

fn functions(analysis: &Analysis, waste: &Waste) -> Vec<FunctionRow> {
    let mut by_function: BTreeMap<RoutineId, u64> = BTreeMap::new();
    for wasted in &waste.instructions {
        let routine = analysis.owner[analysis.block_of(wasted.instruction).index()];
        let all = by_function.entry(routine).or_default();
        *all = all.saturating_add(wasted.executions);
    }
    let costs = analysis.by_routine();
    let row = |(routine, wasted): (RoutineId, u64)| {
        let instructions = costs[routine.index()].instructions;
        let Site { module, function, .. } = site::function(analysis, routine);
        FunctionRow {
            module,
            function,
            wasted,
            instructions,
            share: share(wasted, waste.executed),
            share_of_function: share(wasted, instructions),
        }
    };
    let mut rows: Vec<FunctionRow> = by_function.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.wasted));
    rows
}

fn kinds(waste: &Waste) -> Vec<KindRow> {
    let of = |kind: Kind| {
        let executions = waste.wasted(|other| other == kind);
        let instructions = waste.instructions.iter().filter(|wasted| wasted.kind == kind).count();
        KindRow { kind: name(kind), instructions, executions, share: share(executions, waste.executed) }
    };
    Kind::ALL.map(of).into()
}

fn removable(waste: &Waste) -> u64 {
    waste.instructions.iter().fold(0, |sum, wasted| sum.saturating_add(wasted.removable))
}

/// A screen: how much, of which kinds, in which functions, and the instructions that were executed for nothing most often.
pub fn text(analysis: &Analysis, waste: &Waste, limit: Option<usize>, style: Style) -> String {
    let mut out = heading::heading(analysis.profile, style);
    out += &origin::doubts(analysis, style);
    let wasted = waste.wasted(|_| true);
    out += &style.wrap(
        Tone::Heading,
        &format!(
            "{} of {} executed instructions did nothing for what came after: {}",
            percent(share(wasted, waste.executed)),
            count(waste.executed),
            count(wasted)
        ),
    );
    out += &style.wrap(
        Tone::Plain,
        &format!(
            "{} of them could be left out as they stand; the others could if what is around them were written otherwise",
            percent(share(removable(waste), wasted))
        ),
    );
    out += &style.wrap(Tone::Plain, &told(waste));
    out += "\n";
    let kinds = kinds(waste);
    let mut table = Table::new(vec![
        Column::number("share"),
        Column::number("executions"),
        Column::number("instructions"),
        Column::name("kind"),
        Column::name(""),
    ]);
    for (row, kind) in kinds.iter().zip(Kind::ALL).filter(|(row, _)| row.executions > 0) {
        let cells = [
            percent(row.share),
            count(row.executions),
            grouped(row.instructions as u64),
            row.kind.into(),
            meaning(kind).into(),
        ];
        table.row(Tone::Plain, cells.into());
    }
    out += &table.render(style);
    out += "\n";
    out += &functions_table(analysis, waste, limit).render(style);
    out += "\n";
    out += &instructions_table(analysis, waste, limit).render(style);
    out += "\n";
    out + &style.wrap(
        Tone::Plain,
        "a path does the same without what is wasted on it; the compiler may have had reasons: other paths, which were not \
         taken here, memory that may be shared, or none, where it was not asked to optimise",
    )
}

/// What was looked at.
fn told(waste: &Waste) -> String {
    let on_paths = share(waste.on_paths, waste.executed);
    match waste.on_paths {
        0 => "no paths were counted: this is what holds whichever way was taken; timewise paths --all tells more".into(),
        _ => format!(
            "{} of the instructions are in functions whose paths were counted; of the others this is what holds whichever \
             way was taken",
            percent(on_paths)
        ),
    }
}

fn functions_table(analysis: &Analysis, waste: &Waste, limit: Option<usize>) -> Table {
    let mut table = Table::new(vec![
        Column::number("share"),
        Column::number("of function"),
        Column::number("wasted"),
        Column::function("function"),
    ]);
    for row in functions(analysis, waste).iter().take(limit.unwrap_or(usize::MAX)) {
        let cells =
            [percent(row.share), percent(row.share_of_function), count(row.wasted), row.function.clone()];
        table.row(Tone::Plain, cells.into());
    }
    table
}

fn instructions_table(analysis: &Analysis, waste: &Waste, limit: Option<usize>) -> Table {
    let mut table = Table::new(vec![
        Column::number("share"),
        Column::number("wasted"),
        Column::detail("of"),
        Column::name("kind"),
        Column::place_in_function("where"),
        Column::name("instruction"),
        Column::name("why"),
    ]);
    let text = CodeText::new(analysis);
    for wasted in waste.instructions.iter().take(limit.unwrap_or(usize::MAX)) {
        let place = site::instruction(&text, analysis, wasted.instruction);
        let cells = [
            percent(share(wasted.executions, waste.executed)),
            count(wasted.executions),
            count(wasted.of),
            name(wasted.kind).into(),
            format!("{} in {}", place.source(), place.function),
            text.in_sentence(wasted.instruction),
            why(analysis, wasted),
        ];
        table.row(Tone::Plain, cells.into());
    }
    table
}

/// All of it as JSON, one line.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn json(analysis: &Analysis, waste: &Waste) -> Result<String, serde_json::Error> {
    let text = CodeText::new(analysis);
    let document = Document {
        schema: SCHEMA,
        executed: waste.executed,
        executed_on_paths: waste.on_paths,
        wasted: waste.wasted(|_| true),
        removable: removable(waste),
        kinds: kinds(waste),
        functions: functions(analysis, waste),
        instructions: waste.instructions.iter().map(|wasted| row(analysis, &text, waste, wasted)).collect(),
    };
    Ok(serde_json::to_string(&document)? + "\n")
}

/// The instructions as CSV.
///
/// # Errors
/// None in practice: rows are flat and memory does not fail.
pub fn csv(analysis: &Analysis, waste: &Waste) -> Result<String, ::csv::Error> {
    let text = CodeText::new(analysis);
    csv::table(waste.instructions.iter().map(|wasted| row(analysis, &text, waste, wasted)))
}
