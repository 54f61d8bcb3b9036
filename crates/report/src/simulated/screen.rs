//! The screen: the program's cycle stack, its functions, loops and costliest instructions.

use super::covered::{covered, estimated};
use super::rows::{Row, rows};
use super::why::why;
use super::{Simulated, accuracy, impact, part, threads};
use crate::listing::told_without_lines;
use crate::number::{count, figure, percent, quantity};
use crate::request::By;
use crate::style::{Style, Tone};
use crate::table::{Column, Table};
use crate::visible::{command_line, visible};
use timewise_attribution::category::Class;
use timewise_attribution::{Category, Parts};

/// Rows of each table on the screen.
const ROWS: usize = 10;

/// Rows below this share of the cycles are not worth a line.
const WORTH_SHOWING: f64 = 0.005;

/// Shares from which a row stands out.
const HOT: f64 = 0.2;
const WARM: f64 = 0.05;

/// Columns of a bar that stands for all cycles.
const BAR: f64 = 40.0;

/// The whole screen.
pub fn text(simulated: &Simulated, style: Style) -> String {
    let mut out = head(simulated, style);
    let threads = of_threads(simulated);
    if !threads.is_empty() {
        out += &format!("\n{}\n{}", style.paint(Tone::Heading, "Threads"), threads.render(style));
    }
    for (title, by) in [
        ("Functions, by cycles of their own", By::Function),
        ("Loops, by cycles of their own", By::Loop),
        ("Costliest instructions", By::Instruction),
    ] {
        let worth = rows(simulated, by).into_iter().flatten().take(ROWS);
        let worth = worth.take_while(|row| share(simulated, row) >= WORTH_SHOWING);
        let table = table(simulated, by, worth);
        if !table.is_empty() {
            out += &format!("\n{}\n{}", style.paint(Tone::Heading, title), table.render(style));
        }
    }
    if let Some(compared) = simulated.compared {
        out += &accuracy(simulated, compared, style);
    }
    if let Some(events) = simulated.events {
        out += &impact(simulated, events, style);
    }
    out
}

/// The program's cycle stack and the rows of one kind, at most `limit`; `None` for what has no cycle stack of its
/// own.
pub fn listing(simulated: &Simulated, by: By, limit: Option<usize>, style: Style) -> Option<String> {
    let mut rows = rows(simulated, by)?;
    let table = table(simulated, by, rows.by_ref().take(limit.unwrap_or(usize::MAX)));
    let mut out = format!("{}\n{}", head(simulated, style), table.render(style));
    let rest = rows.count();
    if rest > 0 {
        out += &style.wrap(Tone::Faint, &format!("… and {} more: --limit 0 shows all", count(rest as u64)));
    }
    if by == By::Line {
        let with_lines = self::rows(simulated, by)?.map(|row| share(simulated, &row)).sum::<f64>();
        out += &told_without_lines(1.0 - with_lines, "modelled time", style);
    }
    Some(out)
}

/// What was simulated, the program's cycle stack, and what is not in it.
fn head(simulated: &Simulated, style: Style) -> String {
    let warnings = simulated.run().warnings.iter();
    let warnings =
        warnings.map(|warning| style.wrap(Tone::Warning, &format!("warning: {}", visible(warning))));
    let estimated = estimated(simulated.modelled).map(|text| style.wrap(Tone::Plain, &text));
    let facts = style.wrap(Tone::Plain, &facts(simulated, style)) + &estimated.unwrap_or_default();
    let facts = facts + &warnings.collect::<String>();
    if simulated.modelled.simulation.instructions == 0 {
        return facts;
    }
    let heading = style.paint(Tone::Heading, "Where the cycles go");
    let beside = format!(
        "not modelled: waiting, and what the kernel does in the run's {} system calls, which take a fixed time each{}",
        count(simulated.analysis.system_calls()),
        threads::undisturbed(simulated.analysis.profile)
    );
    format!("{facts}\n{heading}\n{}{}", categories(simulated).render(style), style.wrap(Tone::Faint, &beside))
}

fn facts(simulated: &Simulated, style: Style) -> String {
    let simulation = &simulated.modelled.simulation;
    let command = command_line(simulated.run(), style.width.saturating_sub(":".len()));
    let mut facts = vec![format!("{command}: modelled on {}, not measured", simulation.core)];
    let class = simulated.class().map(|class| match class {
        Class::ComputeIntensive => "mostly computing",
        Class::FlushIntensive => "flushes matter",
        Class::StallIntensive => "mostly stalled",
    });
    match class {
        None => facts.push("no instruction was simulated".to_owned()),
        Some(class) => {
            let cpi = simulation.cycles as f64 / simulation.instructions as f64;
            facts.extend([
                quantity(simulation.instructions, "instruction"),
                quantity(simulation.cycles, "cycle"),
                format!("CPI (cycles per instruction) {}", figure(cpi)),
                class.to_owned(),
            ]);
        }
    }
    facts.extend(part(simulation.part));
    facts.extend(simulated.modelled.coverage.as_ref().and_then(covered));
    facts.extend(threads::counted(simulated));
    facts.extend(simulated.signal().map(|signal| format!("ended by signal {signal}")));
    let unknown = simulated.modelled.unattributed().of(Parts::cycles(simulation.cycles));
    if unknown >= WORTH_SHOWING {
        facts.push(format!("{} of the cycles in code without a place", percent(unknown)));
    }
    facts.join(" · ")
}

fn categories(simulated: &Simulated) -> Table {
    let whole = simulated.analysis.modelled_whole();
    let mut table =
        Table::new(vec![Column::name(""), Column::number(""), Column::number(""), Column::name("")]);
    for category in Category::ALL {
        let parts = whole.of(category);
        let share = parts.of(whole.cycles());
        let bar = "█".repeat((share * BAR).round() as usize);
        let cycles = count(parts.as_cycles().round() as u64);
        table.row(Tone::Plain, vec![category.name().to_owned(), percent(share), cycles, bar]);
    }
    table
}

/// What each thread's core spent, where there are several.
fn of_threads(simulated: &Simulated) -> Table {
    let columns = ["cycles", "CPI", "instructions"].map(Column::number);
    let mut table = Table::new([Column::name("")].into_iter().chain(columns).collect());
    let mut threads = threads::threads(simulated);
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.row.cycles));
    let several = if threads.len() > 1 { ROWS } else { 0 };
    for thread in threads.iter().take(several) {
        let (cycles, instructions) = (thread.row.cycles, thread.row.instructions);
        let share = cycles as f64 / simulated.modelled.simulation.cycles.max(1) as f64;
        let cpi = figure(cycles as f64 / instructions.max(1) as f64);
        table
            .row(Tone::Plain, vec![visible(&thread.name()).into(), percent(share), cpi, count(instructions)]);
    }
    table
}

fn share(simulated: &Simulated, row: &Row) -> f64 {
    row.cost.cycles().of(simulated.modelled.stacks.total())
}

fn table(simulated: &Simulated, by: By, rows: impl Iterator<Item = Row>) -> Table {
    let mut columns = match by {
        By::Function => vec![Column::function(""), Column::place("")],
        By::Instruction => vec![Column::place(""), Column::name("")],
        _ => vec![Column::place(""), Column::function("")],
    };
    columns.push(Column::number("cycles"));
    match by {
        By::Instruction => {
            columns.extend(["each", "executions"].map(Column::number));
            columns.push(Column::name("why"));
        }
        _ => {
            columns.push(Column::number("CPI"));
            columns.extend(Category::ALL.map(|category| Column::detail(category.name())));
        }
    }
    let mut table = Table::new(columns);
    for row in rows {
        let share = share(simulated, &row);
        let mut cells = Vec::from(names(by, &row));
        cells.push(percent(share));
        let each = row.cost.cpi().map_or(String::new(), figure);
        match row.instruction {
            Some(id) => {
                cells.extend([each, count(row.cost.instructions)]);
                cells.push(why(simulated.analysis, simulated.modelled, id));
            }
            None => {
                cells.push(each);
                let total = simulated.modelled.stacks.total();
                cells.extend(Category::ALL.map(|category| match row.cost.of(category).of(total) {
                    share if share < WORTH_SHOWING => String::new(),
                    share => percent(share),
                }));
            }
        }
        table.row(tone(share), cells);
    }
    table
}

fn names(by: By, row: &Row) -> [String; 2] {
    let site = &row.site;
    match by {
        By::Function => [site.function.clone(), site.source()],
        By::Instruction => [site.source(), site.text.clone().unwrap_or_default()],
        By::Line => [site.source(), String::new()],
        _ => [site.lines(), site.function.clone()],
    }
}

fn tone(share: f64) -> Tone {
    match share {
        share if share >= HOT => Tone::Hot,
        share if share >= WARM => Tone::Warm,
        _ => Tone::Plain,
    }
}
