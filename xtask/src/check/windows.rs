//! `cargo xtask check windows`: whether limits that windows give hold the cycles per instruction of the whole.
//!
//! A workload is simulated as a whole, cut into pieces, from which windows are then drawn at equal distances that begin at
//! many places: that tells of the limits alone, as nothing about such a window is colder than in one piece. Windows with
//! gaps between them, at the same places, then tell what caches and predictors lack that a part of each gap has warmed.

use crate::folder::Folder;
use crate::profiler::{Profiler, politely};
use crate::suite::{self, Size, Workload, execute};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use timewise_flow::windows::{Sampled, sampled};
use timewise_profile::{Profile, SimulatedPart, SimulatedWindow, SimulationId};

/// What to check, and how.
#[derive(Args)]
pub struct Options {
    /// Workloads of one thread
    #[arg(default_values = ["lua-g", "xz", "qsortdiv", "hmmsearch"])]
    names: Vec<String>,
    /// The core
    #[arg(long, default_value = "raptor-cove")]
    core: String,
    /// Windows of a run, about
    #[arg(long, value_delimiter = ',', default_values_t = [32, 60])]
    windows: Vec<u64>,
    /// Thousands of instructions of a window
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1000])]
    lengths: Vec<u64>,
    /// Places at which windows of the whole begin
    #[arg(long, default_value_t = 50)]
    places: u64,
    /// Per cent of all limits that must hold what they are of
    #[arg(long, default_value_t = 95.0)]
    least: f64,
}

/// Seconds after which a run is killed.
const LIMIT_SECONDS: u32 = 7200;

/// The whole of a workload, in pieces.
struct Whole {
    profile: Profile,
    /// Instructions of a piece.
    length: u64,
    instructions: u64,
    cycles_per_instruction: f64,
}

/// How often limits held the truth, and how far estimates were off.
#[derive(Default)]
struct Tally {
    drawn: u64,
    held: u64,
    errors: f64,
    widths: f64,
}

impl Tally {
    fn add(&mut self, found: &Sampled, truth: f64) {
        self.drawn += 1;
        self.held += u64::from(found.cpi.low <= truth && truth <= found.cpi.high);
        self.errors += (found.cpi.value / truth - 1.0).abs();
        self.widths += (found.cpi.high - found.cpi.low) / 2.0 / truth;
    }

    fn of(&self, sum: f64) -> f64 {
        100.0 * sum / self.drawn as f64
    }
}

/// Prints what was found of each workload.
///
/// # Errors
/// If a workload cannot be simulated, or of all limits too few hold the truth.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let check = Check {
        timewise: Profiler::build(root)?.program,
        work: suite::work_folder(root)?,
        folder: Folder::of(root, "windows")?,
        options,
    };
    let mut all = Tally::default();
    println!(
        "workload, thousands of instructions of a window, windows; of windows drawn from the whole: how many of the limits"
    );
    println!(
        "hold its cycles per instruction, mean error, mean distance of limits; of windows in a run: too many cycles, error"
    );
    for workload in suite::select(root, &options.names)? {
        check.of(&workload, &mut all)?;
    }
    let held = all.of(all.held as f64);
    println!("{} of {} limits of 95 % hold what they are of: {held:.1} %", all.held, all.drawn);
    ensure!(held >= options.least, "{held:.1} % of all limits hold the truth, less than {} %", options.least);
    Ok(())
}

struct Check<'a> {
    timewise: PathBuf,
    work: PathBuf,
    folder: Folder,
    options: &'a Options,
}

impl Check<'_> {
    fn of(&self, workload: &Workload, all: &mut Tally) -> Result<()> {
        let piece = self.options.lengths.iter().min().context("no lengths")? * 1000;
        let whole = Whole::of(self.simulate(workload, 0, piece)?, piece)?;
        println!(
            "{}: {:.1} million instructions, {:.3} cycles each",
            workload.name,
            whole.instructions as f64 / 1e6,
            whole.cycles_per_instruction
        );
        for length in self.options.lengths.iter().map(|thousands| 1000 * thousands) {
            for &windows in &self.options.windows {
                // Whole pieces, so that windows lie where pieces do.
                let distance = whole.instructions / windows / length * length;
                ensure!(
                    distance > length,
                    "{}: too short for {windows} windows of {length} instructions; ask for fewer or shorter ones: --windows, --lengths",
                    workload.name
                );
                let mut tally = Tally::default();
                for place in whole.places(distance, length, self.options.places) {
                    let Some(found) = whole.drawn(distance, length, place) else { continue };
                    tally.add(&found, whole.cycles_per_instruction);
                }
                ensure!(
                    tally.drawn > 0,
                    "{}: {windows} windows have no limits; ask for thirty or more: --windows",
                    workload.name
                );
                let apart = self.simulate(workload, distance - length, length)?;
                println!(
                    "  {:5} {:4}  {:5.1} % of {:2}, {:5.2} %, {:5.2} %  {}",
                    length / 1000,
                    windows,
                    tally.of(tally.held as f64),
                    tally.drawn,
                    tally.of(tally.errors),
                    tally.of(tally.widths),
                    whole.beside(&apart)?
                );
                all.drawn += tally.drawn;
                all.held += tally.held;
            }
        }
        Ok(())
    }

    /// All windows of this length, each behind so many that pass.
    fn simulate(&self, workload: &Workload, skip: u64, length: u64) -> Result<Profile> {
        let file = self.folder.join(format!("{}.tw", workload.name));
        let mut prefix = politely([&*self.timewise.to_string_lossy(), "simulate", "-q", "--windows", "all"]);
        for (option, value) in [
            ("--core", self.options.core.clone()),
            ("--skip", skip.to_string()),
            ("--instructions", length.to_string()),
            ("-o", file.display().to_string()),
        ] {
            prefix.extend([option.to_string(), value]);
        }
        prefix.push("--".into());
        let executed = execute(workload, Size::Test, &self.work, &prefix, LIMIT_SECONDS)?;
        let profile = Profile::load(&file).with_context(|| executed.last_words())?;
        // What follows must not be taken for the next one.
        std::fs::remove_file(&file)?;
        Ok(profile)
    }
}

impl Whole {
    fn of(profile: Profile, length: u64) -> Result<Whole> {
        ensure!(profile.simulated_threads.len() == 1, "a workload of one thread is needed");
        let instructions = profile.simulations[0].instructions;
        let cycles_per_instruction = profile.simulations[0].cycles as f64 / instructions as f64;
        ensure!(profile.simulations[0].executed == Some(instructions), "not all was simulated");
        Ok(Whole { profile, length, instructions, cycles_per_instruction })
    }

    /// Instructions before the first windows, so many at most, evenly over a distance.
    fn places(&self, distance: u64, length: u64, most: u64) -> impl Iterator<Item = u64> {
        let all = (distance - length) / self.length + 1;
        let number = all.min(most);
        let piece = self.length;
        (0..number).map(move |at| at * all / number * piece)
    }

    /// What windows of this length at this distance tell, of which the first begins at a place.
    fn drawn(&self, distance: u64, length: u64, place: u64) -> Option<Sampled> {
        let mut windows: HashMap<u64, SimulatedWindow> = HashMap::new();
        for piece in &self.profile.simulated_windows {
            let Some(from) = piece.first_instruction.checked_sub(place) else { continue };
            if from % distance < length {
                let window = windows.entry(from / distance).or_insert(SimulatedWindow {
                    instructions: 0,
                    cycles: 0,
                    ..*piece
                });
                window.instructions += piece.instructions;
                window.cycles += piece.cycles;
            }
        }
        let mut simulation = self.profile.simulations[0].clone();
        simulation.part = SimulatedPart { skipped: distance - length, length: Some(length), windows: None };
        let profile = Profile {
            simulations: vec![simulation],
            simulated_threads: self.profile.simulated_threads.clone(),
            simulated_windows: windows.into_values().collect(),
            ..Profile::default()
        };
        sampled(&profile, SimulationId(0))?.1
    }

    /// By how much windows of a run took more cycles than the same instructions in one piece, and what they tell of the
    /// whole.
    fn beside(&self, apart: &Profile) -> Result<String> {
        let mut known: HashMap<u64, (u64, u64)> = HashMap::new();
        for piece in &self.profile.simulated_windows {
            known.insert(piece.first_instruction, (piece.instructions, piece.cycles));
        }
        let (mut cycles, mut in_one_piece) = (0, 0);
        for window in &apart.simulated_windows {
            let pieces = (window.first_instruction..window.end()).step_by(self.length as usize);
            let pieces: Option<Vec<(u64, u64)>> = pieces.map(|at| known.get(&at).copied()).collect();
            let pieces =
                pieces.context("windows lie elsewhere: the workload does not execute the same twice")?;
            // The last one may be cut elsewhere.
            if pieces.iter().map(|piece| piece.0).sum::<u64>() == window.instructions {
                cycles += window.cycles;
                in_one_piece += pieces.iter().map(|piece| piece.1).sum::<u64>();
            }
        }
        let found =
            sampled(apart, SimulationId(0)).and_then(|(_, found)| found).context("too few windows")?;
        let holds = (found.cpi.low..=found.cpi.high).contains(&self.cycles_per_instruction);
        Ok(format!(
            "{:+.2} %, {:+.2} %: {}",
            100.0 * (cycles as f64 / in_one_piece as f64 - 1.0),
            100.0 * (found.cpi.value / self.cycles_per_instruction - 1.0),
            if holds { "held" } else { "not held" }
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::Whole;
    use timewise_profile::{
        Profile, RunId, SimulatedPart, SimulatedThread, SimulatedThreadId, SimulatedWindow, Simulation,
        SimulationId, ThreadId,
    };

    /// Two hundred pieces of ten instructions: the first of every five takes 30 cycles, the others 10.
    fn whole() -> Whole {
        let windows = (0..200).map(|at| SimulatedWindow {
            thread: SimulatedThreadId(0),
            first_instruction: 10 * at,
            instructions: 10,
            cycles: if at % 5 == 0 { 30 } else { 10 },
        });
        let (instructions, cycles) = (2000, 2800);
        let simulation = Simulation {
            run: RunId(0),
            core: "toy".into(),
            core_hash: 0,
            part: SimulatedPart { length: Some(10), windows: None, ..SimulatedPart::ALL },
            executed: Some(instructions),
            instructions,
            cycles,
        };
        let thread = SimulatedThread {
            simulation: SimulationId(0),
            thread: ThreadId(0),
            image: 0,
            executable: Vec::new(),
            instructions,
            cycles,
        };
        let profile = Profile {
            simulations: vec![simulation],
            simulated_threads: vec![thread],
            simulated_windows: windows.collect(),
            ..Profile::default()
        };
        Whole::of(profile, 10).unwrap()
    }

    #[test]
    fn windows_are_drawn_where_they_begin() {
        let whole = whole();
        assert_eq!(whole.cycles_per_instruction, 1.4);
        let drawn = |length, place| whole.drawn(50, length, place).unwrap().cpi.value;
        assert_eq!(
            [drawn(10, 0), drawn(10, 10), drawn(20, 0), drawn(20, 40)],
            [3.0, 1.0, 2.0, 1570.0 / 790.0]
        );
        assert_eq!(whole.places(50, 20, 9).collect::<Vec<_>>(), [0, 10, 20, 30]);
        assert_eq!(whole.places(50, 20, 2).collect::<Vec<_>>(), [0, 20]);
    }

    #[test]
    fn the_same_windows_take_no_more() {
        let whole = whole();
        let mut apart = whole.profile.clone();
        apart.simulations[0].part.skipped = 40;
        apart.simulated_windows.retain(|window| window.first_instruction % 50 == 40);
        assert_eq!(whole.beside(&apart).unwrap(), "+0.00 %, -28.57 %: not held");
        apart.simulated_windows.iter_mut().for_each(|window| window.cycles = 11);
        assert_eq!(whole.beside(&apart).unwrap(), "+10.00 %, -21.43 %: not held");
        apart.simulated_windows[3].first_instruction += 5;
        assert!(whole.beside(&apart).is_err());
    }
}
