//! Whether different ways to add up instructions give the same number, executed natively or on a modelled core.

use super::{Check, Kind, executed};
use crate::analysis::Analysis;
use timewise_profile::{ProcessId, Profile, SimulationId};

/// Instructions by block, by function, by thread and in all are the same number.
pub fn check(analysis: &Analysis) -> Check {
    let profile = analysis.profile;
    let mut check = Check::new(Kind::Totals);
    let by_block = executed(profile);
    let mut by_thread = vec![None; profile.processes.len()];
    for thread in &profile.threads {
        if let Some(instructions) = thread.instructions {
            let sum: &mut u64 = by_thread[thread.process.index()].get_or_insert(0);
            *sum = sum.saturating_add(instructions);
        }
    }
    for (process, (blocks, threads)) in (0..).map(ProcessId).zip(by_block.iter().zip(by_thread)) {
        let Some(threads) = threads else { continue };
        check.checked += 1;
        if *blocks != threads {
            let what = format!("blocks executed {blocks} instructions, threads {threads}");
            check.find(None, Some(process), what);
        }
    }
    // Of several runs, the analysis speaks of an average one.
    let whole = analysis.code.instructions_executed();
    let groups = [("instructions", analysis.by_instruction()), ("functions", analysis.by_routine())];
    for (name, costs) in groups {
        check.checked += 1;
        let sum = costs.iter().fold(0u64, |sum, cost| sum.saturating_add(cost.instructions));
        if sum != whole {
            check.find(None, None, format!("all {name} executed {sum} instructions, all code {whole}"));
        }
    }
    simulated(profile, &mut check);
    check
}

/// A simulation saw as many instructions commit as it executed. Where somebody else ended
/// threads, code may have no place because its counts were lost, so fewer are no contradiction.
fn simulated(profile: &Profile, check: &mut Check) {
    for (id, simulation) in (0..).map(SimulationId).zip(&profile.simulations) {
        check.checked += 1;
        let rows = profile.simulated_instructions.iter().filter(|row| row.simulation == id);
        let (sum, instructions) = (rows.map(|row| row.executions).sum::<u64>(), simulation.instructions);
        let mut processes = profile.processes.iter().filter(|process| process.run == simulation.run);
        let is_uncertain = processes.any(|process| process.count_uncertainty > 0);
        if sum > instructions || sum < instructions && !is_uncertain {
            let core = &simulation.core;
            let what = format!("{core} executed {instructions} instructions, of which {sum} committed");
            check.find(None, None, what);
        }
    }
}
