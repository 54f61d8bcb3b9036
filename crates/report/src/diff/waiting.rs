//! Where threads waited more or less: fields, a table, and in a few words.

use crate::number::{count, duration};
use crate::rows::{Ends, compact, compact_option};
use crate::style::{Style, Tone};
use crate::table::{Column, Table, UNKNOWN};
use serde::Serialize;
use timewise_diff::waiting::Waited;
use timewise_diff::{Both, Comparison, WaitingRow};
use timewise_flow::names::Names;
use timewise_flow::waiting::Culprit;
use timewise_profile::Profile;

/// All rows, and what they are called.
pub struct Waits<'a> {
    /// Findings first.
    pub all: Vec<WaitingRow>,
    base: Side<'a>,
    test: Side<'a>,
}

struct Side<'a> {
    profile: &'a Profile,
    names: Names<'a>,
}

impl Side<'_> {
    fn ends(&self, place: Option<Culprit>) -> Ends {
        Ends::new(self.profile, &self.names, place)
    }
}

/// What waited on one side, as fields of JSON and CSV.
#[derive(Default, Serialize)]
pub struct WaitingFields {
    /// Whether its change is more than noise.
    finding: bool,
    /// `both`, `new` (only TEST waited so) or `gone` (only BASE did).
    status: &'static str,
    /// What waits in TEST, or in BASE if only that waited so.
    function: String,
    /// The function that called it; null if there is none.
    caller: Option<String>,
    /// What waits in BASE; null if nothing did.
    base_function: Option<String>,
    /// The function that called it there.
    base_caller: Option<String>,
    /// The line of that call in BASE, or of what waits itself; null if not known.
    base_file: Option<String>,
    /// Its line.
    base_line: Option<u32>,
    /// Likewise in TEST.
    test_file: Option<String>,
    /// Its line.
    test_line: Option<u32>,
    /// How often in BASE; null if that was not counted.
    #[serde(serialize_with = "compact_option")]
    base_times: Option<f64>,
    /// How often in TEST.
    #[serde(serialize_with = "compact_option")]
    test_times: Option<f64>,
    /// How long in BASE, all threads together, nanoseconds as all that follow.
    #[serde(serialize_with = "compact")]
    base_waiting: f64,
    /// How long in TEST.
    #[serde(serialize_with = "compact")]
    test_waiting: f64,
    /// By how much that changed.
    #[serde(serialize_with = "compact")]
    waiting: f64,
    /// Lower limit of its 95 % interval.
    #[serde(serialize_with = "compact")]
    waiting_low: f64,
    /// Upper limit.
    #[serde(serialize_with = "compact")]
    waiting_high: f64,
    /// The part of it that is certain for all rows together; 0 where it may be noise.
    #[serde(serialize_with = "compact")]
    waiting_certain: f64,
}

impl<'a> Waits<'a> {
    /// Those of a comparison.
    pub fn new(comparison: &Comparison<'a>) -> Waits<'a> {
        let side = |profile| Side { profile, names: Names::of(profile) };
        let (base, test) = (comparison.base.profile, comparison.test.profile);
        Waits { all: comparison.waiting(), base: side(base), test: side(test) }
    }

    /// What JSON and CSV tell of each row.
    pub fn fields(&self) -> impl Iterator<Item = WaitingFields> {
        self.all.iter().map(|row| self.fields_of(row))
    }

    fn fields_of(&self, row: &WaitingRow) -> WaitingFields {
        let (base, test) =
            (row.place.base.map(|at| self.base.ends(at)), row.place.test.map(|at| self.test.ends(at)));
        let status = match (&base, &test) {
            (None, _) => "new",
            (_, None) => "gone",
            _ => "both",
        };
        let (base_file, base_line) =
            base.as_ref().map_or((None, None), |ends| (ends.file.clone(), ends.line));
        let (test_file, test_line) =
            test.as_ref().map_or((None, None), |ends| (ends.file.clone(), ends.line));
        let (base_function, base_caller) =
            base.as_ref().map_or((None, None), |ends| (Some(ends.function.clone()), ends.caller.clone()));
        let Ends { function, caller, .. } = test.or(base).unwrap_or_default();
        let change = row.change.estimate();
        WaitingFields {
            finding: row.is_finding,
            status,
            function,
            caller,
            base_function,
            base_caller,
            base_file,
            base_line,
            test_file,
            test_line,
            base_times: row.base.times,
            test_times: row.test.times,
            base_waiting: row.base.duration_ns,
            test_waiting: row.test.duration_ns,
            waiting: change.value,
            waiting_low: change.low,
            waiting_high: change.high,
            waiting_certain: row.change.certain,
        }
    }

    /// What a row is called: by its place in TEST, and by that in BASE where only that waited so, or under other names.
    fn title(&self, row: &WaitingRow) -> String {
        let Both { base, test } = row.place.map(|at| self.base.ends(at), |at| self.test.ends(at));
        let (Some(base), Some(test)) = (&base, &test) else {
            return test.or(base).unwrap_or_default().title();
        };
        let was = base.title();
        match (base.function == test.function, base.caller == test.caller) {
            (true, true) => test.title(),
            (true, false) if base.caller.is_some() => {
                format!("{} (BASE:{})", test.title(), &was[base.function.len()..])
            }
            _ => format!("{} (BASE: {was})", test.title()),
        }
    }

    /// What waits longest that is certain to wait longer than in BASE, in a few words.
    pub fn worst(&self) -> Option<String> {
        let found = self.all.iter().find(|row| row.is_finding && row.change.certain > 0.0)?;
        let (old, new) = (found.base.duration_ns, found.test.duration_ns);
        Some(format!("{} waits {}, before {}", self.title(found), duration(new), duration(old)))
    }

    /// A table of some rows.
    pub fn table(&self, rows: &[&WaitingRow], style: Style) -> String {
        let mut columns = vec![Column::number("waiting"), Column::detail("95 %")];
        columns.extend(["in BASE", "in TEST"].map(Column::number));
        columns.extend(["times in BASE", "in TEST"].map(Column::detail));
        columns.push(Column::name("waiting in < called by"));
        let mut table = Table::new(columns);
        let times = |waited: &Waited| waited.times.map_or(UNKNOWN.into(), |n| count(n.round() as u64));
        for row in rows {
            let change = row.change.estimate();
            let grown = signed(change.value);
            let limits = match change.low < change.high {
                true => format!("{} to {}", signed(change.low), signed(change.high)),
                false => String::new(),
            };
            let mut cells = vec![if row.is_finding { grown } else { format!("({grown})") }, limits];
            cells.extend([duration(row.base.duration_ns), duration(row.test.duration_ns)]);
            cells.extend([times(&row.base), times(&row.test), self.title(row)]);
            table.row(Tone::Plain, cells);
        }
        table.render(style)
    }
}

/// A change of time with its sign: `+1.2 s`.
fn signed(change_ns: f64) -> String {
    let sign = if change_ns < 0.0 { "-" } else { "+" };
    format!("{sign}{}", duration(change_ns.abs()))
}
