//! The screen: the program's cycle stack, its functions and its costliest instructions.

use super::words::reason;
use super::{Simulated, accuracy};
use crate::code_text::CodeText;
use crate::labels;
use crate::number::{count, figure, grouped, percent};
use crate::style::{Style, Tone};
use crate::table::{Column, Table};
use crate::visible::command_line;
use std::collections::BTreeMap;
use timewise_attribution::category::Class;
use timewise_attribution::{Category, Parts};

/// Functions on the screen, and instructions.
const ROWS: usize = 10;

/// Rows below this share of the cycles are not worth a line.
const WORTH_SHOWING: f64 = 0.005;

/// Shares from which a row stands out.
const HOT: f64 = 0.2;
const WARM: f64 = 0.05;

/// Reasons of an instruction that are told, and what share of its cycles each must have.
const REASONS: usize = 3;
const WORTH_TELLING: f64 = 0.1;

/// Columns of a bar that stands for all cycles.
const BAR: f64 = 40.0;

/// The whole screen.
pub fn text(simulated: &Simulated, style: Style) -> String {
    let mut out = style.wrap(Tone::Plain, &header(simulated, style));
    let tables = [
        ("Where the cycles go", categories(simulated)),
        ("Functions, by cycles of their own", functions(simulated)),
        ("Costliest instructions", instructions(simulated)),
    ];
    for (title, table) in tables {
        if !table.is_empty() {
            out += &format!("\n{}\n{}", style.paint(Tone::Heading, title), table.render(style));
        }
    }
    if let Some(compared) = simulated.compared {
        out += &accuracy(simulated, compared, style);
    }
    out
}

fn header(simulated: &Simulated, style: Style) -> String {
    let Simulated { instructions, cycles, core, threads, .. } = simulated;
    let command = command_line(simulated.run, style.width.saturating_sub(":".len()));
    let cpi = *cycles as f64 / (*instructions).max(1) as f64;
    let categories = simulated.categories();
    let class = match Class::of(|category| categories.get(&category).copied().unwrap_or_default()) {
        Class::ComputeIntensive => "mostly computing",
        Class::FlushIntensive => "flushes matter",
        Class::StallIntensive => "mostly stalled",
    };
    let mut facts = vec![
        format!("{command}: modelled on {core}, not on this processor"),
        format!("{} instructions", grouped(*instructions)),
        format!("{} cycles", grouped(*cycles)),
        format!("CPI (cycles per instruction) {}", figure(cpi)),
        class.to_owned(),
    ];
    facts.extend(simulated.part.clone());
    if *threads != 1 {
        facts.push(format!("{threads} threads, each on a core of its own"));
    }
    let unknown = Parts::cycles(*cycles).saturating_sub(simulated.attributed()).of(Parts::cycles(*cycles));
    if unknown >= WORTH_SHOWING {
        facts.push(format!("{} of the cycles in code without a place", percent(unknown)));
    }
    facts.join(" · ")
}

fn categories(simulated: &Simulated) -> Table {
    let total = simulated.attributed();
    let mut table =
        Table::new(vec![Column::name(""), Column::number(""), Column::number(""), Column::name("")]);
    let sums = simulated.categories();
    for category in Category::ALL {
        let parts = sums.get(&category).copied().unwrap_or_default();
        let share = parts.of(total);
        let bar = "█".repeat((share * BAR).round() as usize);
        let cycles = count(parts.as_cycles().round() as u64);
        table.row(Tone::Plain, vec![category.name().to_owned(), percent(share), cycles, bar]);
    }
    table
}

fn functions(simulated: &Simulated) -> Table {
    let total = simulated.attributed();
    let mut columns = vec![Column::function(""), Column::place("")];
    columns.extend(["cycles", "CPI"].map(Column::number));
    columns.extend(Category::ALL.map(|category| Column::detail(category.name())));
    let mut table = Table::new(columns);
    for row in simulated.function_rows().into_iter().take(ROWS) {
        let share = row.cycles().of(total);
        if share < WORTH_SHOWING {
            break;
        }
        let name = simulated.analysis.name_of(row.routine);
        let mut cells = vec![name, labels::declared(simulated.analysis, row.routine), percent(share)];
        cells.push(figure(row.cycles().as_cycles() / row.instructions.max(1) as f64));
        cells.extend(Category::ALL.map(|category| match row.of(category).of(total) {
            share if share < WORTH_SHOWING => String::new(),
            share => percent(share),
        }));
        table.row(tone(share), cells);
    }
    table
}

fn instructions(simulated: &Simulated) -> Table {
    let total = simulated.attributed();
    let analysis = simulated.analysis;
    let code = CodeText::new(analysis);
    let columns = ["cycles", "each", "executions"].map(Column::number);
    let mut table = Table::new(
        [Column::place(""), Column::name("")]
            .into_iter()
            .chain(columns)
            .chain([Column::name("why")])
            .collect(),
    );
    for (id, parts) in simulated.instruction_rows().into_iter().take(ROWS) {
        let share = parts.of(total);
        if share < WORTH_SHOWING {
            break;
        }
        let executions = simulated.executions.get(id.index()).copied().unwrap_or_default();
        let each = parts.as_cycles() / executions.max(1) as f64;
        let place = labels::place(analysis.profile, analysis.code.place(id));
        let cells =
            vec![place, code.of(id), percent(share), figure(each), count(executions), why(simulated, id.0)];
        table.row(tone(share), cells);
    }
    table
}

/// What most of an instruction's cycles are, in words.
fn why(simulated: &Simulated, id: u32) -> String {
    let height = simulated.stacks.height(id);
    let mut reasons: BTreeMap<String, Parts> = BTreeMap::new();
    for (component, parts) in simulated.stacks.stack(id) {
        *reasons.entry(reason(component, simulated.kind(id))).or_default() += parts;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let told = reasons.iter().take(REASONS).filter(|(_, parts)| parts.of(height) >= WORTH_TELLING);
    let whole = |(reason, parts): &(String, Parts)| format!("{reason} {:.0} %", 100.0 * parts.of(height));
    told.map(whole).collect::<Vec<_>>().join(", ")
}

fn tone(share: f64) -> Tone {
    match share {
        share if share >= HOT => Tone::Hot,
        share if share >= WARM => Tone::Warm,
        _ => Tone::Plain,
    }
}
