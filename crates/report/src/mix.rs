//! `timewise mix`: which instructions were executed, as text, JSON and CSV.

use crate::number::{count, percent, quantity, share};
use crate::rows::compact;
use crate::site::{self, Site};
use crate::style::{Style, Tone};
use crate::table::{Column, Table};
use crate::{csv, heading, origin};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use timewise_flow::{Analysis, RoutineId};
use timewise_isa::Category;
use timewise_workload::footprint::{Footprint, SHARE, footprint};
use timewise_workload::mix::{Mix, Transfers, mixes};

/// Name and version of the JSON's schema. The number changes when a field changes its meaning or goes; new
/// fields do not change it.
pub const SCHEMA: &str = "timewise-mix/1";

/// What was executed, and in how much code most of it was.
pub struct Mixed<'a> {
    analysis: &'a Analysis<'a>,
    whole: Mix,
    functions: Vec<(RoutineId, Mix)>,
    all: Footprint,
    most: Footprint,
}

impl<'a> Mixed<'a> {
    /// Of a profile, functions with the most executed instructions first.
    pub fn new(analysis: &'a Analysis<'a>) -> Mixed<'a> {
        let mut whole = Mix::default();
        let mut functions = Vec::new();
        for (number, mix) in mixes(analysis).into_iter().enumerate().filter(|(_, mix)| mix.instructions > 0) {
            whole += &mix;
            functions.push((RoutineId(number as u32), mix));
        }
        functions.sort_by_key(|(routine, mix)| (Reverse(mix.instructions), *routine));
        let [all, most] = [1.0, SHARE].map(|share| footprint(analysis, share));
        Mixed { analysis, whole, functions, all, most }
    }
}

/// A screen: the mix of the whole, what follows from where code lies, how much code it is, and the hottest functions.
pub fn text(mixed: &Mixed, limit: Option<usize>, style: Style) -> String {
    let Mixed { analysis, whole, .. } = mixed;
    let mut out = heading::heading(analysis.profile, style);
    out += &origin::doubts(analysis, style);
    let facts =
        format!("{} instructions executed · {} bytes of them", count(whole.instructions), count(whole.bytes));
    out += &style.wrap(Tone::Heading, &facts);
    out += &style.wrap(Tone::Plain, &code_in_words("of", "all", &mixed.all));
    out += &style.wrap(Tone::Plain, &code_in_words("of", &percent(SHARE), &mixed.most));
    out += &style.wrap(Tone::Plain, &transfers_in_words(whole));
    out += "\n";
    out += &categories_table(whole).render(style);
    out += "\n";
    out + &functions_table(mixed, limit).render(style)
}

fn code_in_words(of: &str, share: &str, code: &Footprint) -> String {
    let Footprint { instructions, bytes, lines, pages, functions } = *code;
    format!(
        "code {of} {share}: {} · {} · {} · {} · {}",
        quantity(instructions, "instruction"),
        quantity(bytes, "byte"),
        quantity(lines, "line"),
        quantity(pages, "page"),
        quantity(functions, "function")
    )
}

fn transfers_in_words(mix: &Mix) -> String {
    let Transfers { all, misaligned_16, misaligned_32, misaligned_64 } = mix.transfers;
    format!(
        "{} transfers of control · to places not aligned to 16 bytes {}, to 32 {}, to 64 {} · instructions in two cache \
         lines {}",
        count(all),
        percent(share(misaligned_16, all)),
        percent(share(misaligned_32, all)),
        percent(share(misaligned_64, all)),
        percent(share(mix.split, mix.instructions))
    )
}

/// Rows beside categories: what else an instruction is, or how a branch went.
fn beside(mix: &Mix) -> [(&'static str, u64); 4] {
    [
        ("loads", mix.loads),
        ("stores", mix.stores),
        ("branch taken", mix.taken),
        ("branch not taken", mix.not_taken()),
    ]
}

fn categories_table(mix: &Mix) -> Table {
    let mut table =
        Table::new(vec![Column::number("share"), Column::number("executions"), Column::name("instructions")]);
    let mut rows: Vec<(&str, u64)> = Category::ALL.iter().map(|&of| (of.name(), mix.of(of))).collect();
    rows.retain(|(_, executions)| *executions > 0);
    rows.sort_by_key(|(_, executions)| Reverse(*executions));
    let also = beside(mix).map(|(name, executions)| (format!("  of all these: {name}"), executions));
    let all = rows.iter().map(|(name, executions)| (name.to_string(), *executions)).chain(also);
    for (name, executions) in all {
        let cells = [percent(share(executions, mix.instructions)), count(executions), name];
        table.row(Tone::Plain, cells.into());
    }
    table
}

fn functions_table(mixed: &Mixed, limit: Option<usize>) -> Table {
    let titles = ["moves", "loads", "stores", "branches", "float", "vector"].map(Column::detail);
    let mut columns = vec![Column::number("share"), Column::number("instructions")];
    columns.extend(titles);
    columns.extend([
        Column::detail("transfers to it"),
        Column::detail("misaligned"),
        Column::function("function"),
    ]);
    let mut table = Table::new(columns);
    for (routine, mix) in mixed.functions.iter().take(limit.unwrap_or(usize::MAX)) {
        let sum = |categories: &[Category]| {
            let all = categories.iter().map(|&category| mix.of(category)).fold(0, u64::saturating_add);
            percent(share(all, mix.instructions))
        };
        let cells = [
            percent(share(mix.instructions, mixed.whole.instructions)),
            count(mix.instructions),
            sum(&[Category::Move, Category::VectorMove]),
            percent(share(mix.loads, mix.instructions)),
            percent(share(mix.stores, mix.instructions)),
            sum(&[Category::Branch]),
            sum(&[Category::ScalarFloat, Category::PackedFloat, Category::X87]),
            sum(&[Category::Vector]),
            count(mix.transfers.all),
            percent(share(mix.transfers.misaligned_16, mix.transfers.all)),
            mixed.analysis.name_of(*routine),
        ];
        table.row(Tone::Plain, cells.into());
    }
    table
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    #[serde(flatten)]
    whole: MixFields,
    all_code: CodeFields,
    footprint_share: f64,
    footprint: CodeFields,
    functions: Vec<FunctionFields>,
}

#[derive(Serialize)]
struct MixFields {
    instructions: u64,
    bytes: u64,
    distinct_instructions: u64,
    categories: BTreeMap<&'static str, u64>,
    loads: u64,
    stores: u64,
    branches_taken: u64,
    branches_not_taken: u64,
    instructions_in_two_lines: u64,
    transfers: u64,
    transfers_misaligned_16: u64,
    transfers_misaligned_32: u64,
    transfers_misaligned_64: u64,
}

#[derive(Serialize)]
struct CodeFields {
    instructions: u64,
    bytes: u64,
    lines: u64,
    pages: u64,
    functions: u64,
}

#[derive(Serialize)]
struct FunctionFields {
    module: String,
    function: String,
    #[serde(serialize_with = "compact")]
    share: f64,
    #[serde(flatten)]
    mix: MixFields,
}

impl MixFields {
    fn of(mix: &Mix) -> MixFields {
        let named = Category::ALL.iter().map(|&category| (category.name(), mix.of(category)));
        MixFields {
            instructions: mix.instructions,
            bytes: mix.bytes,
            distinct_instructions: mix.distinct,
            categories: named.filter(|(_, executions)| *executions > 0).collect(),
            loads: mix.loads,
            stores: mix.stores,
            branches_taken: mix.taken,
            branches_not_taken: mix.not_taken(),
            instructions_in_two_lines: mix.split,
            transfers: mix.transfers.all,
            transfers_misaligned_16: mix.transfers.misaligned_16,
            transfers_misaligned_32: mix.transfers.misaligned_32,
            transfers_misaligned_64: mix.transfers.misaligned_64,
        }
    }
}

impl CodeFields {
    fn of(code: &Footprint) -> CodeFields {
        let Footprint { instructions, bytes, lines, pages, functions } = *code;
        CodeFields { instructions, bytes, lines, pages, functions }
    }
}

/// All of it as JSON, one line.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn json(mixed: &Mixed) -> Result<String, serde_json::Error> {
    let function = |(routine, mix): &(RoutineId, Mix)| {
        let Site { module, function, .. } = site::function(mixed.analysis, *routine);
        let share = share(mix.instructions, mixed.whole.instructions);
        FunctionFields { module, function, share, mix: MixFields::of(mix) }
    };
    let document = Document {
        schema: SCHEMA,
        whole: MixFields::of(&mixed.whole),
        all_code: CodeFields::of(&mixed.all),
        footprint_share: SHARE,
        footprint: CodeFields::of(&mixed.most),
        functions: mixed.functions.iter().map(function).collect(),
    };
    Ok(serde_json::to_string(&document)? + "\n")
}

/// A figure of a function, or of the whole, which has no name.
#[derive(Serialize, Default)]
struct Row {
    module: String,
    function: String,
    figure: &'static str,
    executions: u64,
    #[serde(serialize_with = "compact")]
    share: f64,
}

/// Each figure of the whole and of each function as CSV, a row each.
///
/// # Errors
/// None in practice: rows are flat and memory does not fail.
pub fn csv(mixed: &Mixed) -> Result<String, ::csv::Error> {
    let whole = rows(&Site::default(), &mixed.whole);
    let functions = mixed.functions.iter();
    let functions = functions.flat_map(|(routine, mix)| rows(&site::function(mixed.analysis, *routine), mix));
    csv::table(whole.into_iter().chain(functions))
}

fn rows(site: &Site, mix: &Mix) -> Vec<Row> {
    let transfers = mix.transfers;
    let figures = [
        ("instructions", mix.instructions),
        ("loads", mix.loads),
        ("stores", mix.stores),
        ("branches-taken", mix.taken),
        ("branches-not-taken", mix.not_taken()),
        ("instructions-in-two-lines", mix.split),
        ("transfers", transfers.all),
        ("transfers-misaligned-16", transfers.misaligned_16),
        ("transfers-misaligned-32", transfers.misaligned_32),
        ("transfers-misaligned-64", transfers.misaligned_64),
    ];
    let categories = Category::ALL.iter().map(|&category| (category.name(), mix.of(category)));
    let all = figures.into_iter().chain(categories.filter(|(_, executions)| *executions > 0));
    all.map(|(figure, executions)| Row {
        module: site.module.clone(),
        function: site.function.clone(),
        figure,
        executions,
        share: share(executions, mix.instructions),
    })
    .collect()
}
