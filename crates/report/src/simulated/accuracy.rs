//! How far each profiler of the thesis is from the reference, for this program.

use super::Simulated;
use super::rows::rows;
use crate::number::{grouped, percent};
use crate::request::By;
use crate::style::{Style, Tone};
use crate::table::{Column, Table};
use timewise_attribution::comparison::{Errors, Findings};
use timewise_attribution::{Technique, Units};

/// Instructions of which is shown what each profiler makes of them.
const ROWS: usize = 8;

/// What each profiler makes of the costliest instructions (paper A, figure A.12), and the tables of errors of papers
/// A and B.
pub fn accuracy(simulated: &Simulated, findings: &Findings, style: Style) -> String {
    let units = [Units::Instructions, simulated.blocks(), simulated.functions()];
    let tables = [
        ("Errors of profilers that tell where time goes (thesis, paper A)", &Technique::WHERE[..]),
        ("Errors of profilers that also tell why (thesis, paper B)", &Technique::WHY[..]),
    ];
    let mut out = format!(
        "\n{}\n{}",
        style.paint(Tone::Heading, "Costliest instructions, and what each profiler makes of them"),
        costliest(simulated, findings).render(style)
    );
    for (title, techniques) in tables {
        let columns = ["instruction", "block", "function"].map(Column::number);
        let systematic = Column::detail("instruction, systematic");
        let mut table =
            Table::new([Column::name("")].into_iter().chain(columns).chain([systematic]).collect());
        for technique in techniques {
            let errors = units.each_ref().map(|units| findings.errors(*technique, units));
            let cells = errors.map(|Errors { total, .. }| hundredths(total));
            let systematic = hundredths(errors[0].systematic);
            table.row(
                Tone::Plain,
                [technique.name.to_owned()].into_iter().chain(cells).chain([systematic]).collect(),
            );
        }
        out += &format!("\n{}\n{}", style.paint(Tone::Heading, title), table.render(style));
    }
    let how = format!(
        "{} samples, one every {} cycles · an error is the part of the cycles that is attributed otherwise than by \
         the reference, which sees every cycle · systematic: otherwise than by the reference at the same samples",
        grouped(findings.samples),
        grouped(findings.period)
    );
    out + &style.wrap(Tone::Faint, &how)
}

fn costliest(simulated: &Simulated, findings: &Findings) -> Table {
    let techniques = Technique::WHERE.map(|technique| Column::number(technique.name));
    let mut columns = vec![Column::place(""), Column::name(""), Column::number("cycles")];
    columns.extend(techniques);
    let mut table = Table::new(columns);
    let total = simulated.modelled.stacks.total();
    for row in rows(simulated, By::Instruction).into_iter().flatten().take(ROWS) {
        let Some(id) = row.instruction else { continue };
        let found = Technique::WHERE.map(|technique| findings.found(technique.blame).height(id.0));
        let shares = [row.cost.cycles()].into_iter().chain(found).map(|cycles| percent(cycles.of(total)));
        let names = [row.site.source(), row.site.text.unwrap_or_default()];
        table.row(Tone::Plain, names.into_iter().chain(shares).collect());
    }
    table
}

fn hundredths(part: f64) -> String {
    format!("{:.2} %", 100.0 * part)
}
