//! `cargo xtask bench timers`: what profilers find in a modelled core, beside samples that timers really took.
//!
//! The papers on TIP and TEA model a profiler that interrupts the program by a timer, and check the model against real
//! samples. So does this: programs are sampled natively, many times over, and windows of the same runs are simulated with
//! all profilers at the modelled core. A difference is the part of the profile that is elsewhere in the other, by
//! instruction and by function. Two halves of the native samples differ by chance, which no model can be below.

use super::compared::{Comparer, Simulated};
use super::samples::{Sampler, Windows};
use super::table::Destination;
use crate::counter::target_folder;
use crate::profiler::{NATIVE, Profiler};
use crate::suite::{self, Size, Workload, execute};
use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::path::{Path, PathBuf};
use timewise_profile::Profile;

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Workloads
    #[arg(default_values = DEFAULT)]
    names: Vec<String>,
    /// The core, by its name or file; native is that of this machine
    #[arg(long, default_value = NATIVE)]
    core: String,
    /// Native runs that are sampled
    #[arg(long, default_value_t = 16)]
    natives: u32,
    /// Windows of a million instructions that are simulated
    #[arg(long, default_value_t = 20)]
    windows: u64,
    #[command(flatten)]
    into: Destination,
}

/// Workloads of one thread and of different kinds.
const DEFAULT: [&str; 10] =
    ["bzip2-g", "hmmsearch", "xz", "python", "sqlite", "lua-g", "gzip", "lbm", "qsortdiv", "nbody"];

/// The table's name in a Markdown file.
const TABLE: &str = "timers";

/// Profilers whose finds are compared with samples.
const TECHNIQUES: [&str; 5] = ["Software", "Dispatch", "LCI", "NCI", "TIP"];

/// Instructions of a window.
const WINDOW: u64 = 1_000_000;

/// Samples per second of CPU time.
const FREQUENCY_HZ: u32 = 10_000;

/// Cycles between samples of the modelled core.
const PERIOD_CYCLES: u64 = 31;

/// Seconds after which a run is killed.
const LIMIT_SECONDS: u32 = 1200;

/// What instructions got, by module and offset.
type Weights = HashMap<(String, u64), f64>;

/// Prints a row for each workload.
///
/// # Errors
/// If a workload cannot be sampled or simulated.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    options.into.check(TABLE)?;
    let windows = Windows { count: options.windows, length: WINDOW, warming: 0 };
    let bench = Bench {
        timewise: Profiler::build(root)?.program,
        sampler: Sampler::build(root, &options.core, windows)?,
        comparer: Comparer::build(root, "timers")?,
        work: suite::work_folder(root)?,
        file: target_folder(root).join("timers"),
        options,
    };
    let mut rows = vec![titles()];
    let mut sums = vec![0.0; rows[0].len() - 2];
    for workload in suite::select(root, &options.names)? {
        let (samples, differences) = bench.measure(&workload)?;
        sums.iter_mut().zip(&differences).for_each(|(sum, difference)| *sum += difference);
        rows.push(row(&workload.name, &samples.to_string(), &differences));
        println!("{}", rows[rows.len() - 1].join("  "));
    }
    let count = (rows.len() - 1).max(1) as f64;
    rows.push(row("mean", "", &sums.iter().map(|sum| sum / count).collect::<Vec<_>>()));
    println!("{}", rows[rows.len() - 1].join("  "));
    let caption = format!(
        "Difference of profilers at {} from samples by a timer at {FREQUENCY_HZ} Hz, by instruction and by function: {} \
         native runs, {} windows of a million instructions; chance is what two halves of the samples differ by",
        bench.sampler.core(),
        options.natives,
        options.windows
    );
    println!("{caption}");
    options.into.put(TABLE, &caption, &rows)
}

fn titles() -> Vec<String> {
    let mut titles = vec!["workload".to_string(), "samples".to_string()];
    for unit in ["instruction", "function"] {
        titles.extend(["chance"].iter().chain(&TECHNIQUES).map(|name| format!("{name}, {unit}")));
    }
    titles
}

fn row(name: &str, samples: &str, differences: &[f64]) -> Vec<String> {
    let percents = differences.iter().map(|difference| format!("{:.0} %", 100.0 * difference));
    [name.to_string(), samples.to_string()].into_iter().chain(percents).collect()
}

struct Bench<'a> {
    timewise: PathBuf,
    sampler: Sampler,
    comparer: Comparer,
    work: PathBuf,
    file: PathBuf,
    options: &'a Options,
}

impl Bench<'_> {
    /// Samples, and for each unit the difference by chance and that of each technique.
    fn measure(&self, workload: &Workload) -> Result<(usize, Vec<f64>)> {
        let modelled = self.simulate(workload)?;
        let functions = Functions::of(&modelled)?;
        let mut halves = [Weights::new(), Weights::new()];
        let mut samples = 0;
        for native in 0..self.options.natives {
            samples += self.sample(workload, &mut halves[native as usize % 2])?;
        }
        let mut measured = halves[0].clone();
        halves[1].iter().for_each(|(place, weight)| *measured.entry(place.clone()).or_default() += weight);
        let techniques = TECHNIQUES.map(|technique| found(&modelled, technique));
        let techniques = techniques.into_iter().collect::<Result<Vec<Weights>>>()?;
        let mut differences = vec![difference(&halves[0], &halves[1])];
        differences.extend(techniques.iter().map(|found| difference(&measured, found)));
        let by_function = |weights: &Weights| functions.sums(weights);
        differences.push(difference(&by_function(&halves[0]), &by_function(&halves[1])));
        let measured = by_function(&measured);
        differences.extend(techniques.iter().map(|found| difference(&measured, &by_function(found))));
        Ok((samples, differences))
    }

    /// Adds the samples of a native run to weights: how many there are.
    fn sample(&self, workload: &Workload, weights: &mut Weights) -> Result<usize> {
        let file = self.file.with_extension("tw");
        let mut prefix = vec![self.timewise.display().to_string()];
        prefix.extend(["sample", "-q", "--call-graph", "none", "-F"].map(String::from));
        prefix.extend([FREQUENCY_HZ.to_string(), "-o".into(), file.display().to_string(), "--".into()]);
        let executed = execute(workload, Size::Test, &self.work, &prefix, LIMIT_SECONDS)?;
        let profile = Profile::load(&file).with_context(|| executed.last_words())?;
        std::fs::remove_file(&file)?;
        let samples = profile.samples.iter().filter(|sample| !sample.kernel);
        let places = samples.filter_map(|sample| Some((sample, sample.place?)));
        let mut count = 0;
        for (sample, place) in places {
            let module = String::from_utf8_lossy(&profile.modules[place.module.index()].path).into_owned();
            *weights.entry((module, place.offset.0)).or_default() += sample.weight_ns as f64;
            count += 1;
        }
        Ok(count)
    }

    /// What profilers make of windows of a run in the model.
    fn simulate(&self, workload: &Workload) -> Result<Value> {
        let run = |prefix: &[String]| {
            let executed = execute(workload, Size::Test, &self.work, prefix, LIMIT_SECONDS)?;
            Ok(executed.errors)
        };
        let instructions = self.sampler.count(run)?;
        let every = (instructions / self.options.windows.max(1)).max(WINDOW);
        let simulated = Simulated {
            core: self.sampler.core(),
            skip: every - WINDOW,
            instructions: WINDOW,
            windows: self.options.windows,
            period: PERIOD_CYCLES,
            periodic: false,
        };
        self.comparer.simulate(workload, Size::Test, LIMIT_SECONDS, &simulated)
    }
}

fn instructions(modelled: &Value) -> Result<impl Iterator<Item = (&Value, (String, u64))>> {
    let rows = modelled["by_instruction"].as_array().context("no instructions")?;
    let place = |row: &Value| Some((row["module"].as_str()?.to_string(), row["offset"].as_u64()?));
    Ok(rows.iter().filter_map(move |row| Some((row, place(row)?))))
}

/// What a technique attributes to instructions.
fn found(modelled: &Value, technique: &str) -> Result<Weights> {
    let weights = instructions(modelled)?.map(|(row, place)| (place, row["sampled"][technique].as_f64()));
    let weights: Weights = weights.filter_map(|(place, cycles)| Some((place, cycles?))).collect();
    ensure!(weights.values().sum::<f64>() > 0.0, "{technique} found nothing");
    Ok(weights)
}

/// Functions of instructions, by module and by the offset of the instruction.
struct Functions(HashMap<String, BTreeMap<u64, String>>);

impl Functions {
    fn of(modelled: &Value) -> Result<Functions> {
        let mut functions: HashMap<String, BTreeMap<u64, String>> = HashMap::new();
        for (row, (module, offset)) in instructions(modelled)? {
            let name = row["function"].as_str().unwrap_or_default().to_string();
            functions.entry(module).or_default().insert(offset, name);
        }
        Ok(Functions(functions))
    }

    /// Weights by module and function: that of the nearest instruction at or before each that was simulated.
    fn sums(&self, weights: &Weights) -> HashMap<(String, String), f64> {
        let mut sums = HashMap::new();
        for ((module, offset), weight) in weights {
            let before = self.0.get(module).and_then(|known| known.range(..=offset).next_back());
            let function = before.map_or_else(String::new, |(_, name)| name.clone());
            *sums.entry((module.clone(), function)).or_default() += weight;
        }
        sums
    }
}

/// The part of each of two profiles that is elsewhere in the other.
fn difference<K: Hash + Eq>(one: &HashMap<K, f64>, other: &HashMap<K, f64>) -> f64 {
    let [all, others] = [one, other].map(|weights| weights.values().sum::<f64>());
    let common = one.iter().filter_map(|(unit, weight)| Some((weight / all).min(other.get(unit)? / others)));
    1.0 - common.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_of_shares() {
        let weights = |pairs: &[(&'static str, f64)]| pairs.iter().copied().collect::<HashMap<_, _>>();
        let one = weights(&[("a", 3.0), ("b", 1.0)]);
        assert!(difference(&one, &weights(&[("a", 6.0), ("b", 2.0)])).abs() < 1e-12);
        assert!((difference(&one, &weights(&[("a", 1.0), ("c", 1.0)])) - 0.5).abs() < 1e-12);
        assert!((difference(&one, &weights(&[("c", 1.0)])) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn code_that_was_not_simulated_is_of_the_function_before() {
        let names = [(0, "f".to_string()), (16, "g".to_string())];
        let functions = Functions(HashMap::from([("m".to_string(), BTreeMap::from(names))]));
        let place = |offset| ("m".to_string(), offset);
        let sums = functions.sums(&HashMap::from([(place(4), 1.0), (place(15), 1.0), (place(16), 3.0)]));
        assert_eq!(sums[&("m".to_string(), "f".to_string())], 2.0);
        assert_eq!(sums[&("m".to_string(), "g".to_string())], 3.0);
    }
}
