//! What each sample stands for.

use timewise_profile::{Profile, Sample};

/// CPU time that a sample stands for.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Weight {
    /// Nanoseconds; made of cycles by the core's mean frequency where cycles were counted.
    pub ns: f64,
    /// Cycles; made of nanoseconds likewise where time was measured.
    pub cycles: f64,
}

/// The core's frequency in each run of a profile.
#[derive(Debug)]
pub struct Weights<'p> {
    profile: &'p Profile,
    /// Cycles a nanosecond, by run.
    cycles_per_ns: Vec<f64>,
    /// Nanoseconds a cycle over all samples, if cycles were counted.
    ns_per_counted_cycle: Option<f64>,
}

impl<'p> Weights<'p> {
    /// For the samples of `profile`.
    pub fn new(profile: &'p Profile) -> Weights<'p> {
        let runs = profile.runs.iter();
        let cycles_per_ns = runs.map(|run| run.clock.as_ref().map_or(1.0, |clock| clock.core_hz / 1e9));
        let mut weights =
            Weights { profile, cycles_per_ns: cycles_per_ns.collect(), ns_per_counted_cycle: None };
        let counted = profile.samples.iter().any(|sample| sample.weight_cycles.is_some());
        weights.ns_per_counted_cycle = counted.then(|| weights.mean_ns_per_cycle());
        weights
    }

    /// Nanoseconds that a cycle took on average, where the clock counted cycles; `None` where it measured
    /// time, so that there is nothing to convert. By it, cycles of all runs together make the time that their
    /// samples stand for.
    pub fn ns_per_counted_cycle(&self) -> Option<f64> {
        self.ns_per_counted_cycle
    }

    fn mean_ns_per_cycle(&self) -> f64 {
        let (mut ns, mut cycles) = (0.0, 0.0);
        for sample in &self.profile.samples {
            let weight = self.of(sample);
            ns += weight.ns;
            cycles += weight.cycles;
        }
        if cycles > 0.0 { ns / cycles } else { 1.0 }
    }

    /// What one of its samples stands for.
    pub fn of(&self, sample: &Sample) -> Weight {
        let process = self.profile.threads[sample.thread.index()].process;
        let run = self.profile.processes[process.index()].run;
        let cycles_per_ns = self.cycles_per_ns[run.index()];
        match sample.weight_cycles {
            Some(cycles) => Weight { ns: cycles as f64 / cycles_per_ns, cycles: cycles as f64 },
            None => {
                let ns = sample.weight_ns as f64;
                Weight { ns, cycles: ns * cycles_per_ns }
            }
        }
    }
}
