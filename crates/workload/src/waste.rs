//! Instructions that did nothing for what came after, of a whole profile.

use crate::backward::{Claim, Kind};
use crate::exact::Exact;
use crate::liveness::{Liveness, of_block};
use crate::path::wasted_on;
use crate::ways::{Way, Ways};
use std::collections::{BTreeMap, HashMap};
use timewise_flow::{Analysis, InstructionId, RoutineId};
use timewise_isa::effects::{Effects, Storages};
use timewise_profile::{BlockId, RunKind};

/// What of a profile was executed for nothing.
#[derive(Clone, Debug)]
pub struct Waste {
    /// All executed instructions.
    pub executed: u64,
    /// Those in functions of which paths were counted.
    pub on_paths: u64,
    /// The instructions, the one most often executed for nothing first.
    pub instructions: Vec<Wasted>,
}

/// An instruction that was executed for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wasted {
    /// Which one.
    pub instruction: InstructionId,
    /// In which way, most of the time.
    pub kind: Kind,
    /// What it writes or reads for nothing, by number; `None` for memory.
    pub storage: Option<u8>,
    /// What makes it so, if that is one instruction on the same path.
    pub because: Option<InstructionId>,
    /// How often it was executed for nothing.
    pub executions: u64,
    /// How often of these the path would have done the same without it, and with no other change.
    pub removable: u64,
    /// How often it was executed.
    pub of: u64,
}

impl Waste {
    /// Executions for nothing, of all instructions or those of some kinds.
    pub fn wasted(&self, is_meant: impl Fn(Kind) -> bool) -> u64 {
        let meant = self.instructions.iter().filter(|wasted| is_meant(wasted.kind));
        meant.fold(0, |sum, wasted| sum.saturating_add(wasted.executions))
    }
}

/// Why an instruction is wasted: the same on several paths adds up.
type Reason = (Kind, Option<u8>, Option<InstructionId>);

/// Goes along the ways of all functions.
pub fn waste(analysis: &Analysis) -> Waste {
    let (profile, code) = (analysis.profile, &analysis.code);
    let exact = Exact::new(profile);
    let liveness = Liveness::new(profile, code, &exact);
    let ways = Ways::new(analysis, &exact);
    let costs = analysis.by_routine();
    let mut on_paths = 0u64;
    let mut function = Function::new(analysis, &liveness);
    for routine in &analysis.routines {
        let executed = |block: &&BlockId| code.blocks[block.index()].executions > 0;
        let blocks: Vec<BlockId> = routine.blocks.iter().filter(executed).copied().collect();
        ways.chains(&blocks).for_each(|chain| function.look_at(&chain, |_| false));
    }
    // A chain may go on in another function, to which a jump always leads.
    let always = function.take();
    for (id, cost) in (0..).map(RoutineId).zip(&costs) {
        if ways.has_paths(id) {
            on_paths = on_paths.saturating_add(cost.instructions);
        }
        ways.paths(id)
            .for_each(|path| function.look_at(&path, |instruction| always.contains_key(&instruction)));
    }
    let found = always.into_iter().chain(function.take());
    let wasted = found.map(|(instruction, reasons)| wasted(analysis, &exact, instruction, &reasons));
    // Of several runs, less than half an execution in each is none.
    let mut instructions: Vec<Wasted> = wasted.filter(|wasted| wasted.executions > 0).collect();
    instructions.sort_by_key(|wasted| (std::cmp::Reverse(wasted.executions), wasted.instruction));
    Waste { executed: code.instructions_executed(), on_paths, instructions }
}

/// An instruction with its reasons added up, as executions of an average run.
fn wasted(
    analysis: &Analysis,
    exact: &Exact,
    instruction: InstructionId,
    reasons: &BTreeMap<Reason, u64>,
) -> Wasted {
    let of = analysis.code.executions(instruction);
    let all = exact.executions[analysis.block_of(instruction).index()];
    let sum = |is_meant: fn(Kind) -> bool| {
        let meant = reasons.iter().filter(|((kind, ..), _)| is_meant(*kind));
        let total = meant.map(|(_, executions)| executions).fold(0u64, |sum, more| sum.saturating_add(*more));
        let runs = analysis.profile.runs_to_average(RunKind::Counting) as u64;
        let average = total.saturating_add(runs / 2) / runs;
        // What is not so each time must not come to be so by rounding.
        average.min(if total < all { of.saturating_sub(1) } else { of })
    };
    let main = reasons.iter().max_by_key(|(_, executions)| **executions);
    let (kind, storage, because) = main.map_or((Kind::Dead, None, None), |(reason, _)| *reason);
    Wasted {
        instruction,
        kind,
        storage,
        because,
        executions: sum(|_| true),
        removable: sum(Kind::is_removable),
        of,
    }
}

/// The instructions of a function, and what was found of them.
struct Function<'a> {
    analysis: &'a Analysis<'a>,
    liveness: &'a Liveness,
    effects: HashMap<BlockId, Vec<Effects>>,
    found: BTreeMap<InstructionId, BTreeMap<Reason, u64>>,
}

impl<'a> Function<'a> {
    fn new(analysis: &'a Analysis<'a>, liveness: &'a Liveness) -> Function<'a> {
        Function { analysis, liveness, effects: HashMap::new(), found: BTreeMap::new() }
    }

    /// What was found since this was asked for.
    fn take(&mut self) -> BTreeMap<InstructionId, BTreeMap<Reason, u64>> {
        std::mem::take(&mut self.found)
    }

    fn look_at(&mut self, way: &Way, is_known: impl Fn(InstructionId) -> bool) {
        let Analysis { profile, code, .. } = self.analysis;
        for &block in &way.blocks {
            let decode = || of_block(profile, code, block).collect();
            self.effects.entry(block).or_insert_with(decode);
        }
        let effects: Vec<&Effects> = way.blocks.iter().flat_map(|block| &self.effects[block]).collect();
        let ids: Vec<InstructionId> =
            way.blocks.iter().flat_map(|block| code.blocks[block.index()].instructions()).collect();
        let live = way.blocks.last().map_or(Storages::ALL, |last| self.liveness.at_end(*last));
        let claims = wasted_on(&effects, live);
        for (&id, claim) in ids.iter().zip(claims) {
            let Some(Claim { kind, storage, because }) = claim.filter(|_| !is_known(id)) else { continue };
            let reason = (kind, storage, because.map(|position| ids[position]));
            let all = self.found.entry(id).or_default().entry(reason).or_default();
            *all = all.saturating_add(way.executions);
        }
    }
}

#[cfg(test)]
mod tests;
