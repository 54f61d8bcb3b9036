//! One row for each instruction, block, branch, path, loop, call, source line or function, costliest first: the fields of
//! the `timewise-report/1` contract (`docs/reports.md`).

mod block;
mod branch;
mod call;
mod costed;
mod function;
mod instruction;
mod kernel;
mod line;
mod loops;
mod path;
mod ranking;
mod stacked;
mod total;
mod waiting;

pub use block::{BlockRow, blocks};
pub use branch::{BranchRow, BranchingRow, Seen, Share, branches, branching, is_traced_only, times, traces};
pub use call::{CallRow, calls};
pub use costed::{CostFields, Costed};
pub use function::{FunctionRow, functions};
pub use instruction::{InstructionRow, instructions, instructions_of};
pub use kernel::{InKernel, kernel, kernel_share, kernel_stands_out};
pub use line::{LineRow, lines};
pub use loops::{LoopRow, loops};
pub use path::{PathRow, UntoldRow, paths, titles, untold};
pub use stacked::{Ends, Stacked, titled};
pub use total::{TotalCpi, Totalled};
pub use waiting::{Waited, waited_ns, waiting_stands_out, waits};

use crate::labels;
use serde::Serializer;
use timewise_flow::{Analysis, Cost};
use timewise_profile::{ModuleId, Profile};

/// Cycles; nothing where nothing was sampled.
fn cycles(analysis: &Analysis, cost: &Cost) -> Option<f64> {
    is_sampled(analysis).then_some(cost.weight.cycles)
}

/// What was counted; nothing where nothing was.
fn counted(analysis: &Analysis, value: u64) -> Option<u64> {
    (analysis.quality.counting_runs > 0).then_some(value)
}

/// A run without samples is no measurement: that nothing costs anything does not follow from it.
fn is_sampled(analysis: &Analysis) -> bool {
    analysis.samples.user.cycles > 0.0
}

/// Where the path of each module stands among those of all.
fn module_ranks(profile: &Profile) -> Vec<u32> {
    let modules = (0..profile.modules.len() as u32).map(ModuleId);
    ranking::ranks(&modules.map(|module| labels::module_path(profile, module)).collect::<Vec<_>>())
}

/// Serialises a number without digits that mean nothing: whole if it is, else to nine digits.
pub(crate) fn compact<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let rounded = || format!("{value:.8e}").parse().unwrap_or(*value);
    let shown = if value.fract() == 0.0 { *value } else { rounded() };
    if shown.fract() == 0.0 && shown.abs() < 9e15 {
        return serializer.serialize_i64(shown as i64);
    }
    serializer.serialize_f64(shown)
}

/// Likewise, or null.
pub(crate) fn compact_option<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => compact(value, serializer),
        None => serializer.serialize_none(),
    }
}
