//! Whether counts of events tell what they cost (paper B, section 5.3 and figure B.7).

use super::Simulated;
use super::words::meaning;
use crate::number::{count, percent};
use crate::style::{Style, Tone};
use crate::table::{Column, Table};
use timewise_attribution::Parts;
use timewise_attribution::event_counts::EventCounts;
use timewise_trace::Psv;

/// An event of the program.
pub(super) struct Impact {
    pub event: Psv,
    /// Executions that were subject to it.
    pub executions: u64,
    /// Cycles of the components that have it, alone or with others.
    pub cycles: Parts,
    /// Pearson's coefficient of the two over all instructions that were subject to it, if these are three or more, and
    /// both vary.
    pub correlation: Option<f64>,
}

/// All events that occurred, in the order of the pipeline.
pub(super) fn impacts(simulated: &Simulated, counts: &EventCounts) -> Vec<Impact> {
    let stacks = &simulated.modelled.stacks;
    let impact = |event| {
        let with = stacks.iter().filter(|(_, component, _)| component.events().contains(event));
        let cycles = with.map(|(_, _, parts)| parts).sum();
        Impact {
            event,
            executions: counts.all(event),
            cycles,
            correlation: counts.correlation(event, stacks),
        }
    };
    Psv::ALL.events().map(impact).filter(|impact| impact.executions > 0).collect()
}

/// How often each event occurred, what the cycles of instructions that were subject to it are, and how well the one tells
/// the other.
pub fn impact(simulated: &Simulated, counts: &EventCounts, style: Style) -> String {
    let title = "Do counts of events tell what they cost? (thesis, figure B.7)";
    let columns = [Column::number("executions"), Column::number("cycles"), Column::number("correlation")];
    let mut table = Table::new([Column::name(""), Column::name("")].into_iter().chain(columns).collect());
    let total = simulated.modelled.stacks.total();
    for impact in impacts(simulated, counts) {
        let correlation = impact.correlation.map_or(String::new(), |r| format!("{r:.2}"));
        let cells = [impact.event.to_string(), meaning(impact.event).to_owned(), count(impact.executions)];
        table.row(
            Tone::Plain,
            cells.into_iter().chain([percent(impact.cycles.of(total)), correlation]).collect(),
        );
    }
    let how = format!(
        "executions that were subject to the event, and cycles of what they then cost, alone or with other events · \
         correlation: of the two by instruction, 1 where counts tell costs, empty where fewer than three instructions tell \
         or either of the two is the same for all · {} of the executions with an event had several",
        percent(counts.combined())
    );
    format!(
        "\n{}\n{}{}",
        style.paint(Tone::Heading, title),
        table.render(style),
        style.wrap(Tone::Faint, &how)
    )
}
