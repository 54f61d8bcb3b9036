//! Whether different ways to add up instructions give the same number, executed natively or on a modelled core.

use super::{Check, Kind, executed};
use crate::analysis::Analysis;
use timewise_profile::{
    ProcessId, Profile, Run, RunKind, SimulatedThreadId, SimulatedWindow, Simulation, SimulationId,
    StackComponent,
};

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
    sampled(profile, &mut check);
    simulated(profile, &mut check);
    windows(profile, &mut check);
    check
}

/// Samples of a run stand for no more time than its processors had while it lasted, and a tenth for what begins before and
/// ends after it is measured.
fn sampled(profile: &Profile, check: &mut Check) {
    const ALLOWED: f64 = 1.1;
    const ALLOWED_NS: f64 = 1e8;
    let mut sampled_ns = vec![0.0; profile.runs.len()];
    for sample in &profile.samples {
        let process = profile.threads[sample.thread.index()].process;
        sampled_ns[profile.processes[process.index()].run.index()] += sample.weight_ns as f64;
    }
    // Who imports a recording may not know the machine.
    let known = |run: &Run| run.kind == RunKind::Sampling && run.machine.cpus > 0 && run.elapsed_ns > 0;
    for (run, sampled_ns) in profile.runs.iter().zip(sampled_ns).filter(|(run, _)| known(run)) {
        check.checked += 1;
        let (elapsed_ns, processors) = (run.elapsed_ns as f64, run.machine.cpus);
        if sampled_ns > ALLOWED * elapsed_ns * f64::from(processors) + ALLOWED_NS {
            let (sampled, elapsed) = (sampled_ns / 1e9, elapsed_ns / 1e9);
            let what = format!(
                "samples stand for {sampled:.2} s, which {processors} processors do not have in {elapsed:.2} s"
            );
            check.find(None, None, what);
        }
    }
}

/// A simulation saw as many instructions commit as it executed, and its cycles are those of its threads and of all stacks
/// together. Where somebody else ended threads, code may have no place because its counts were lost, so less is no
/// contradiction.
fn simulated(profile: &Profile, check: &mut Check) {
    for (id, simulation) in (0..).map(SimulationId).zip(&profile.simulations) {
        let Simulation { core, instructions, cycles, .. } = simulation;
        let mut processes = profile.processes.iter().filter(|process| process.run == simulation.run);
        let is_uncertain = processes.any(|process| process.count_uncertainty > 0);
        let committed = profile.simulated_instructions.iter().filter(|row| row.simulation == id);
        let committed: u64 = committed.map(|row| row.executions).sum();
        let mut compare = |whole: u64, sum: u64, may_be_less: bool, what: String| {
            check.checked += 1;
            if sum > whole || sum < whole && !may_be_less {
                check.find(None, None, what);
            }
        };
        let what = format!("{core} executed {instructions} instructions, of which {committed} committed");
        compare(*instructions, committed, is_uncertain, what);

        let stacks = profile.cycle_stacks.iter().filter(|row| row.simulation == id);
        let parts: u64 = stacks.map(|row| row.parts).sum();
        let whole = cycles.saturating_mul(StackComponent::PARTS_OF_A_CYCLE);
        let shown = parts as f64 / StackComponent::PARTS_OF_A_CYCLE as f64;
        let what = format!("{core} took {cycles} cycles, all stacks together {shown}");
        compare(whole, parts, is_uncertain, what);

        let threads = || profile.simulated_threads.iter().filter(|row| row.simulation == id);
        let of_threads: [u64; 2] =
            [threads().map(|row| row.instructions).sum(), threads().map(|row| row.cycles).sum()];
        for (name, whole, sum) in
            [("instructions", *instructions, of_threads[0]), ("cycles", *cycles, of_threads[1])]
        {
            compare(whole, sum, false, format!("{core}: {whole} {name}, all threads together {sum}"));
        }
    }
}

/// Windows of a thread add up to what was simulated of it. Older profiles have none.
fn windows(profile: &Profile, check: &mut Check) {
    let mut sums = vec![None; profile.simulated_threads.len()];
    for window in &profile.simulated_windows {
        let SimulatedWindow { instructions, cycles, .. } = *window;
        let (sum, all): &mut (u64, u64) = sums[window.thread.index()].get_or_insert_default();
        (*sum, *all) = (sum.saturating_add(instructions), all.saturating_add(cycles));
    }
    for (id, sum) in (0..).map(SimulatedThreadId).zip(sums) {
        let Some((instructions, cycles)) = sum else { continue };
        let thread = &profile.simulated_threads[id.index()];
        check.checked += 1;
        if (instructions, cycles) != (thread.instructions, thread.cycles) {
            let what = format!(
                "simulated thread {}: {} instructions in {} cycles, all windows together {instructions} in {cycles}",
                id.0, thread.instructions, thread.cycles
            );
            check.find(None, None, what);
        }
    }
}
