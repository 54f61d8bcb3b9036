//! What `timewise diff` says, as checks read it.

use crate::profiler::Profiler;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;

/// A comparison of profiles.
pub struct Changes {
    document: Value,
    /// Time of BASE, in the document's unit.
    whole: f64,
    /// The exit status of the command.
    pub status: i32,
}

impl Changes {
    /// Compares the profiles of each side, with further arguments of the command.
    ///
    /// # Errors
    /// If the command fails, but for a gate, or nothing was sampled.
    pub fn between(
        profiler: &Profiler,
        base: &[PathBuf],
        test: &[PathBuf],
        arguments: &[&str],
    ) -> Result<Changes> {
        let (document, status) = profiler.diff(base, test, arguments)?;
        let whole = document["whole"]["base_time"].as_f64().context("no time was sampled")?;
        Ok(Changes { document, whole, status })
    }

    /// The change of the whole program.
    pub fn whole(&self) -> Row<'_> {
        Row { fields: &self.document["whole"], whole: self.whole }
    }

    /// The first row, which is a finding if there is any.
    pub fn first(&self) -> Row<'_> {
        Row { fields: &self.document["rows"][0], whole: self.whole }
    }

    /// All rows that are findings.
    pub fn findings(&self) -> impl Iterator<Item = Row<'_>> {
        let rows = self.document["rows"].as_array().into_iter().flatten();
        rows.map(|fields| Row { fields, whole: self.whole }).filter(Row::is_finding)
    }
}

/// One row, with changes as shares of BASE's time.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    fields: &'a Value,
    whole: f64,
}

impl Row<'_> {
    /// Whether it is more than noise.
    pub fn is_finding(&self) -> bool {
        self.fields["finding"] == true
    }

    /// What a field of TEST holds, or of BASE where TEST has none; empty if neither.
    pub fn name(&self, field: &str) -> &str {
        let of = |side: &str| self.fields[format!("{side}_{field}")].as_str();
        of("test").or_else(|| of("base")).unwrap_or_default()
    }

    /// Lines of TEST: of a loop its first and last, else one twice.
    pub fn lines(&self) -> Option<(u64, u64)> {
        let first = self.fields["test_line"].as_u64()?;
        Some((first, self.fields["test_line_last"].as_u64().unwrap_or(first)))
    }

    /// The change of `time`, `by_count` or `by_cost`, and the limits of its 95 % interval.
    pub fn change(&self, part: &str) -> (f64, f64, f64) {
        let of = |limit: &str| self.share(&format!("{part}{limit}"));
        (of(""), of("_low"), of("_high"))
    }

    /// What of the change of `time`, `by_count` or `by_cost` is certain.
    pub fn certain(&self, part: &str) -> f64 {
        self.share(&format!("{part}_certain"))
    }

    fn share(&self, field: &str) -> f64 {
        self.fields[field].as_f64().map_or(f64::NAN, |amount| amount / self.whole)
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        for (part, title) in [("time", ""), ("by_count", " = by count "), ("by_cost", " + by cost ")] {
            let (value, low, high) = self.change(part);
            write!(
                formatter,
                "{title}{:+.2} % ({:+.2} to {:+.2})",
                100.0 * value,
                100.0 * low,
                100.0 * high
            )?;
        }
        Ok(())
    }
}
