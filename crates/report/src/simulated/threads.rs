//! The threads that were simulated, each on a core of its own, and the programs and processes that they are of.

use super::Simulated;
use crate::labels::file_name;
use crate::number::count;
use std::collections::BTreeSet;
use timewise_profile::{Process, Profile, SimulatedThread, SimulationId};

/// A simulated thread.
pub struct Thread<'a> {
    /// What is known of it.
    pub row: &'a SimulatedThread,
    /// Its number among those of its program, from 1; none if it is the only one.
    pub number: Option<usize>,
    /// Its process.
    pub process: &'a Process,
}

impl Thread<'_> {
    /// What it is called: `thread 3 of sh (pid 12)`, or `sh (pid 12)` where the program has no other.
    pub fn name(&self) -> String {
        let path = String::from_utf8_lossy(&self.row.executable);
        let process = match self.process.pid {
            0 => "several processes".to_owned(),
            pid => format!("pid {pid}"),
        };
        let program = format!("{} ({process})", file_name(&path));
        self.number.map_or(program.clone(), |number| format!("thread {number} of {program}"))
    }
}

/// All threads of a simulation, by program.
pub fn threads<'a>(simulated: &Simulated<'a>) -> Vec<Thread<'a>> {
    let profile = simulated.analysis.profile;
    let latest = SimulationId(profile.simulations.len() as u32 - 1);
    let rows = profile.simulated_threads.iter().filter(|row| row.simulation == latest);
    let rows: Vec<&SimulatedThread> = rows.collect();
    let of_image = rows.chunk_by(|one, next| one.image == next.image);
    let thread = |(at, row, all): (usize, &'a SimulatedThread, usize)| Thread {
        row,
        number: (all > 1).then_some(at + 1),
        process: &profile.processes[profile.threads[row.thread.index()].process.index()],
    };
    let numbered = of_image.flat_map(|of| of.iter().enumerate().map(|(at, row)| (at, *row, of.len())));
    numbered.map(thread).collect()
}

/// How many there are of threads, of programs and of processes.
pub fn counts(simulated: &Simulated) -> [usize; 3] {
    let threads = threads(simulated);
    let programs: BTreeSet<u32> = threads.iter().map(|thread| thread.row.image).collect();
    let all = &simulated.analysis.profile.threads;
    let processes = threads.iter().map(|thread| all[thread.row.thread.index()].process);
    [threads.len(), programs.len(), processes.collect::<BTreeSet<_>>().len()]
}

/// What a model does not know of several threads, to stand behind what else it does not; nothing where there is one.
pub fn undisturbed(profile: &Profile) -> &'static str {
    let latest = profile.simulations.len().saturating_sub(1);
    let threads = profile.simulated_threads.iter().filter(|row| row.simulation.index() == latest).count();
    if threads > 1 { "; and that threads disturb each other's caches" } else { "" }
}

/// How many, in words; nothing where there is one of each.
pub fn counted(simulated: &Simulated) -> Option<String> {
    let [threads, programs, processes] = counts(simulated);
    let some = |number: usize, one: &str, several: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{} {several}", count(number as u64)),
    };
    let of = match (programs, processes) {
        (0 | 1, _) => String::new(),
        (programs, processes) if programs == processes => {
            format!(" of {}", some(processes, "process", "processes"))
        }
        (programs, processes) => format!(
            " of {} in {}",
            some(programs, "program", "programs"),
            some(processes, "process", "processes")
        ),
    };
    let threads = (threads > 1).then(|| some(threads, "thread", "threads"))?;
    Some(format!("{threads}{of}, each on a core of its own"))
}
