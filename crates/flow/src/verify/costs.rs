//! Whether what calls cost can be true.

use super::{Check, Kind, executed, place_of};
use crate::analysis::Analysis;
use crate::graph::is_call;
use crate::routine::RoutineId;
use std::collections::{BTreeMap, BTreeSet};
use timewise_profile::{BlockId, CallCost, ModuleId, Offset, Profile};

/// Each cost belongs to a call that was made, which may have been before the process was forked. Where the total of a
/// function is told, neither that, what it executed itself and at its call sites, recursion counted once, nor a cost of
/// its calls is more than its process executed, or may have: each thread of which nobody knows where it ended may have
/// executed each of its blocks once more.
pub fn check(analysis: &Analysis) -> Check {
    let profile = analysis.profile;
    let mut check = Check::new(Kind::Costs);
    // Code that was overwritten since is another block at the same place.
    let ends = |from, to| Some((spot(profile, from?), spot(profile, to?)));
    let calls = profile.edge_counts.iter().filter(|edge| is_call(edge.kind));
    let calls = calls.filter_map(|edge| Some((edge.process, ends(edge.from, edge.to)?)));
    let own: BTreeSet<_> = calls.collect();
    let all: BTreeSet<_> = own.iter().map(|&(_, ends)| ends).collect();
    let was_made = |cost: &CallCost| {
        let is_forked = profile.processes[cost.process.index()].parent.is_some();
        let ends = (spot(profile, cost.site), spot(profile, cost.callee));
        own.contains(&(cost.process, ends)) || (is_forked && all.contains(&ends))
    };
    let told = analysis.totals();
    let is_told = |routine: RoutineId| told.of_routine(routine).has_instructions;
    let executed = executed(profile);
    let mut most = executed.clone();
    for count in &profile.block_counts {
        let unknown = u64::from(profile.processes[count.process.index()].count_uncertainty);
        let length = u64::from(profile.blocks[count.block.index()].instructions);
        let most = &mut most[count.process.index()];
        *most = most.saturating_add(unknown.saturating_mul(length));
    }
    let mut totals: BTreeMap<_, u64> = BTreeMap::new();
    for cost in &profile.call_costs {
        check.checked += 1;
        let all = executed[cost.process.index()];
        let owner = analysis.owner[cost.site.index()];
        let what = if !was_made(cost) {
            let callee = place_of(profile, cost.callee).offset.0;
            format!("cost of a call to {callee:#x} that was not made")
        } else if cost.instructions > most[cost.process.index()] && is_told(owner) {
            format!("a call cost {} instructions of the {all} of its process", cost.instructions)
        } else {
            let total = totals.entry((cost.process, owner)).or_default();
            *total = total.saturating_add(cost.instructions);
            continue;
        };
        check.find(Some(place_of(profile, cost.site)), Some(cost.process), what);
    }
    for count in &profile.block_counts {
        if let Some(total) = totals.get_mut(&(count.process, analysis.owner[count.block.index()])) {
            let length = u64::from(profile.blocks[count.block.index()].instructions);
            *total = total.saturating_add(count.executions.saturating_mul(length));
        }
    }
    for ((process, routine), total) in totals.into_iter().filter(|((_, routine), _)| is_told(*routine)) {
        check.checked += 1;
        let all = executed[process.index()];
        if total > most[process.index()] {
            let name = analysis.name_of(routine);
            let what =
                format!("{name} cost {total} instructions with its calls, of the {all} of its process");
            check.find(Some(analysis.routines[routine.index()].place), Some(process), what);
        }
    }
    check
}

/// Where a block lies, whichever code stood there.
fn spot(profile: &Profile, block: BlockId) -> (ModuleId, Offset) {
    let place = place_of(profile, block);
    (place.module, place.offset)
}
