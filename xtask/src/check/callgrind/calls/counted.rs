//! What `timewise count` stored of a program: executions, calls, and the ways that control took.

use super::super::dump::Function;
use crate::check::executions::Executed;
use crate::check::segments::Place;
use anyhow::{Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use timewise_profile::{self as profile, BlockId, EdgeKind, Profile};

/// A call instruction and the first one of what it calls.
pub type Site = (Place, Place);

/// What calls cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Calls.
    pub times: i64,
    /// Instructions executed in them.
    pub instructions: i64,
}

/// A counted run.
#[derive(Debug, Default)]
pub struct Counted {
    /// Every instruction that was executed.
    pub executions: BTreeMap<Place, Executed>,
    /// What calls cost.
    pub calls: BTreeMap<Site, Cost>,
    /// Ways from one instruction to another, but for returns.
    pub ways: BTreeSet<(Place, Place)>,
    /// Functions by their first instruction, with their lengths.
    pub functions: BTreeMap<Place, (u64, String)>,
}

impl Counted {
    /// Reads a profile.
    ///
    /// # Errors
    /// If it cannot be read, or is of more than one process, or not all is known of its calls.
    pub fn load(file: &Path) -> Result<Counted> {
        let profile = Profile::load(file)?;
        let [run] = &profile.runs[..] else { anyhow::bail!("not one run") };
        ensure!(profile.processes.len() == 1, "a program of more than one process");
        ensure!(run.counts_complete, "counts are incomplete: {}", run.warnings.join("; "));
        ensure!(run.lost_calls == Some(0), "lost calls: {:?}", run.lost_calls);
        Ok(Counted::of(&profile))
    }

    fn of(profile: &Profile) -> Counted {
        let mut counted = Counted::default();
        for count in &profile.block_counts {
            let block = &profile.blocks[count.block.index()];
            for step in timewise_isa::walk(&block.code, block.place.offset.0) {
                let start = (step.offset - block.place.offset.0) as usize;
                let code = &block.code[start..start + usize::from(step.length)];
                let place = place(profile, block.place, step.offset);
                let executed = counted.executions.entry(place).or_default();
                executed.times += count.executions as i64;
                executed.code = code.to_vec();
            }
        }
        let last = |block: BlockId| {
            let block = &profile.blocks[block.index()];
            let step = timewise_isa::walk(&block.code, block.place.offset.0).last();
            place(profile, block.place, step.map_or(block.place.offset.0, |step| step.offset))
        };
        let first = |block: BlockId| {
            let start = profile.blocks[block.index()].place;
            place(profile, start, start.offset.0)
        };
        for edge in &profile.edge_counts {
            let (Some(from), Some(to)) = (edge.from, edge.to) else { continue };
            let way = (last(from), first(to));
            if matches!(edge.kind, EdgeKind::Call | EdgeKind::IndirectCall) {
                counted.calls.entry(way.clone()).or_default().times += edge.count as i64;
            }
            if edge.kind != EdgeKind::Return {
                counted.ways.insert(way);
            }
        }
        for cost in &profile.call_costs {
            let site = (last(cost.site), first(cost.callee));
            counted.calls.entry(site).or_default().instructions += cost.instructions as i64;
        }
        for function in &profile.functions {
            let start = place(profile, function.place, function.place.offset.0);
            counted.functions.insert(start, (function.size, function.name.clone()));
        }
        counted
    }

    /// Executions of an instruction.
    pub fn times(&self, place: &Place) -> i64 {
        self.executions.get(place).map_or(0, |executed| executed.times)
    }

    /// The function that holds a place, by the profile's own table.
    pub fn function(&self, place: &Place) -> Function {
        let (module, offset) = place;
        let before = self.functions.range(..=place.clone()).next_back();
        let holder = before.filter(|((m, start), (size, _))| m == module && offset - start < *size);
        let name = holder.map_or_else(|| format!("{offset:#x}"), |(_, (_, name))| name.clone());
        Function { module: module.clone(), name }
    }
}

fn place(profile: &Profile, of: profile::Place, offset: u64) -> Place {
    let module = &profile.modules[of.module.index()];
    (String::from_utf8_lossy(&module.path).into_owned(), offset)
}
