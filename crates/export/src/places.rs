//! The table of places: a row for each instruction that was executed or sampled, in order of place.

use crate::costs::costs;
use crate::owners::{Owners, one_line};
use crate::weights::Weights;
use serde::Serialize;
use timewise_flow::Analysis;
use timewise_flow::lines::line_at;
use timewise_profile::Module;

/// One instruction. `docs/exchange.md` describes the columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceRow {
    /// Path of the module.
    pub module: String,
    /// Its build id in hexadecimal digits; empty if it has none.
    pub build_id: String,
    /// Which of the codes that stood at one address; 0 for code of a file.
    pub code_version: u32,
    /// Link-time address within the module.
    pub offset: u64,
    /// Name of the function.
    pub function: String,
    /// Source file, if known.
    pub file: Option<String>,
    /// Source line, if known.
    pub line: Option<u32>,
    /// How often it was executed; `None` where that was not counted.
    pub executions: Option<u64>,
    /// Samples of all runs that were charged to it; a fraction where a sample was divided.
    pub samples: f64,
    /// CPU time that they stand for, nanoseconds.
    pub cpu_ns: f64,
    /// Cycles that they stand for, counted or estimated from time.
    pub cycles: f64,
}

/// All rows.
pub fn rows(analysis: &Analysis) -> Vec<PlaceRow> {
    let profile = analysis.profile;
    let owners = Owners::new(analysis);
    let weights = Weights::new(profile);
    let row = |(place, cost): (_, crate::costs::Cost)| {
        let line = line_at(profile, place);
        PlaceRow {
            module: owners.module_path(place.module),
            build_id: build_id(&profile.modules[place.module.index()]),
            code_version: place.version.0,
            offset: place.offset.0,
            function: owners.name(owners.at(place)),
            file: line.map(|line| one_line(&profile.files[line.file.index()].path)),
            line: line.map(|line| line.line),
            executions: cost.executions,
            samples: cost.samples,
            cpu_ns: cost.ns,
            cycles: cost.cycles,
        }
    };
    costs(analysis, &owners, &weights).into_iter().map(row).collect()
}

/// The build id of a module in hexadecimal digits.
pub fn build_id(module: &Module) -> String {
    module.build_id.iter().map(|byte| format!("{byte:02x}")).collect()
}
