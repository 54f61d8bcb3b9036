//! Joining what was counted of one run at several times.

use crate::model::{Profile, RunId};

impl Profile {
    /// Adds a later time of this profile's only run: not another run, of which counts would be the average.
    ///
    /// # Panics
    /// As [`Profile::append`] does, or if there is no run.
    pub fn append_later(&mut self, later: Profile) {
        self.append(later);
        let later = self.runs.split_off(1);
        let run = &mut self.runs[0];
        for later in later {
            run.elapsed_ns += later.elapsed_ns;
            run.user_ns += later.user_ns;
            run.kernel_ns += later.kernel_ns;
            run.counts_complete &= later.counts_complete;
            let new = later.warnings.into_iter().filter(|warning| !run.warnings.contains(warning));
            run.warnings.extend(new.collect::<Vec<_>>());
        }
        let of_processes = self.processes.iter_mut().map(|process| &mut process.run);
        let of_tallies = self.tallies.iter_mut().map(|tally| &mut tally.run);
        let of_simulations = self.simulations.iter_mut().map(|simulation| &mut simulation.run);
        of_processes.chain(of_tallies).chain(of_simulations).for_each(|run| *run = RunId(0));
    }
}
