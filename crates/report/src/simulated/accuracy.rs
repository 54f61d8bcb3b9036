//! How far each profiler of the thesis is from the reference, for this program.

use super::Simulated;
use crate::number::grouped;
use crate::style::{Style, Tone};
use crate::table::{Column, Table};
use timewise_attribution::comparison::{Errors, Findings};
use timewise_attribution::{Technique, Units};

/// The tables of errors of papers A and B.
pub fn accuracy(simulated: &Simulated, findings: &Findings, style: Style) -> String {
    let units = [Units::Instructions, simulated.blocks(), simulated.functions()];
    let tables = [
        ("Errors of profilers that tell where time goes (thesis, paper A)", &Technique::WHERE[..]),
        ("Errors of profilers that also tell why (thesis, paper B)", &Technique::WHY[..]),
    ];
    let mut out = String::new();
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

fn hundredths(part: f64) -> String {
    format!("{:.2} %", 100.0 * part)
}
