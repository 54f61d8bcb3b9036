//! A table of system calls by what they take.

use crate::csv;
use crate::heading::heading;
use crate::number::{duration, mean_count, percent, share};
use crate::style::{Style, Tone};
use crate::table::{Column, Table, more};
use serde::Serialize;
use timewise_eventtree::CallRow;
use timewise_profile::Profile;

/// Name and version of the JSON's schema. The number changes when a field changes its meaning or goes; new
/// fields do not change it.
const SCHEMA: &str = "timewise-ostrace-calls/1";

/// The table for people, with at most `limit` rows; all of an average run but the longest, which is of all.
pub fn text(profile: &Profile, rows: &[CallRow], runs: usize, limit: Option<usize>, style: Style) -> String {
    let shown = rows.len().min(limit.unwrap_or(usize::MAX));
    format!("{}\n{}", heading(profile, style), table(&rows[..shown], rows, runs).render(style))
        + &more(rows.len() - shown, "--limit 0 shows all", style)
}

/// Those of the rows that are to be shown, without what they are of.
pub fn table(shown: &[CallRow], all: &[CallRow], runs: usize) -> Table {
    let whole_ns: u64 = all.iter().map(|row| row.total_ns).sum();
    let titles = ["time", "share", "calls", "errors", "a call", "longest"].map(Column::number);
    let mut table = Table::new(titles.into_iter().chain([Column::name("system call")]).collect());
    let runs = runs.max(1) as f64;
    for row in shown {
        table.row(
            Tone::Plain,
            vec![
                duration(row.total_ns as f64 / runs),
                percent(share(row.total_ns, whole_ns)),
                mean_count(row.calls as f64 / runs),
                mean_count(row.errors as f64 / runs),
                duration(row.total_ns as f64 / row.calls.max(1) as f64),
                duration(row.longest_ns as f64),
                String::from_utf8_lossy(&row.name).into_owned(),
            ],
        );
    }
    table
}

/// A row as programs read it: sums over all runs.
#[derive(Serialize, Default)]
struct Fields {
    name: String,
    calls: u64,
    errors: u64,
    total_ns: u64,
    longest_ns: u64,
}

impl From<&CallRow> for Fields {
    fn from(row: &CallRow) -> Fields {
        Fields {
            name: String::from_utf8_lossy(&row.name).into_owned(),
            calls: row.calls,
            errors: row.errors,
            total_ns: row.total_ns,
            longest_ns: row.longest_ns,
        }
    }
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    runs: usize,
    calls: Vec<Fields>,
}

/// All of it as JSON, one line.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn json(rows: &[CallRow], runs: usize) -> Result<String, serde_json::Error> {
    let document = Document { schema: SCHEMA, runs, calls: rows.iter().map(Fields::from).collect() };
    Ok(serde_json::to_string(&document)? + "\n")
}

/// The rows as CSV.
///
/// # Errors
/// None in practice: rows are flat and memory does not fail.
pub fn csv(rows: &[CallRow]) -> Result<String, ::csv::Error> {
    csv::table(rows.iter().map(Fields::from))
}
