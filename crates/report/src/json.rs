//! Reports for programs: JSON in the schema `timewise-report/1` (`docs/reports.md`).

use crate::hints::{self, HintRow};
use crate::origin::{ClockFacts, Measurement, clock, measurement};
use crate::path_hints::{self, PathHintRow};
use crate::request::{By, Request};
use crate::rows::{self, UntoldRow};
use serde::Serialize;
use timewise_flow::Analysis;

/// Name and version of the schema. The number changes when a field changes its meaning or goes; new
/// fields do not change it.
pub const SCHEMA: &str = "timewise-report/1";

#[derive(Serialize)]
struct Document<R> {
    schema: &'static str,
    by: &'static str,
    clock: Option<ClockFacts>,
    measurement: Measurement,
    hints: Vec<HintRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    path_hints: Vec<PathHintRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths_not_told_apart: Vec<UntoldRow>,
    rows: R,
}

/// The whole document, one line.
pub fn report(analysis: &Analysis, request: impl Into<Request>) -> Result<String, serde_json::Error> {
    let Request { by, sort, calls } = request.into();
    match by {
        By::Function if rows::is_traced_only(analysis.profile) => {
            document(analysis, by, rows::branching(analysis.profile))
        }
        By::Branch => document(analysis, by, rows::branches(analysis.profile)),
        By::Function => document(analysis, by, rows::functions(analysis, sort).collect::<Vec<_>>()),
        By::Loop => document(analysis, by, rows::loops(analysis, sort).collect::<Vec<_>>()),
        By::Call => document(analysis, by, rows::calls(analysis, calls).collect::<Vec<_>>()),
        By::Block => document(analysis, by, rows::blocks(analysis).collect::<Vec<_>>()),
        By::Instruction => document(analysis, by, rows::instructions(analysis).collect::<Vec<_>>()),
        By::Path => document(analysis, by, rows::paths(analysis)),
        By::Waiting => document(analysis, by, rows::waits(analysis)),
        By::Kernel => document(analysis, by, rows::kernel(analysis)),
        By::Line => document(analysis, by, rows::lines(analysis).collect::<Vec<_>>()),
    }
}

pub(crate) fn document<R: Serialize>(
    analysis: &Analysis,
    by: By,
    rows: R,
) -> Result<String, serde_json::Error> {
    let (clock, measurement) = (clock(analysis), measurement(analysis));
    let hints = hints::rows(analysis);
    let (path_hints, paths_not_told_apart) = match by {
        By::Path => (path_hints::rows(analysis), rows::untold(analysis)),
        _ => Default::default(),
    };
    let document = Document {
        schema: SCHEMA,
        by: by.name(),
        clock,
        measurement,
        hints,
        path_hints,
        paths_not_told_apart,
        rows,
    };
    Ok(serde_json::to_string(&document)? + "\n")
}
