//! What tracing a program once or several times gives.

use super::breakpoints::Breakpoints;
use super::edges::Edges;
use super::overlap::Agreement;
use timewise_profile::Profile;

/// The branches of several runs, each as often as it was seen and by weight. Runs go to two halves in turn, so that one
/// tells how far the other is a matter of chance.
#[derive(Default)]
pub struct Traces {
    halves: [[Edges; 2]; 2],
    breakpoints: Vec<Breakpoints>,
}

impl Traces {
    /// Adds a run, and what `timewise branches` said of it.
    pub fn add(&mut self, profile: &Profile, said: &str) {
        let half = &mut self.halves[self.breakpoints.len() % 2];
        for (edges, is_weighted) in half.iter_mut().zip([false, true]) {
            edges.merge(Edges::traced(profile, is_weighted));
        }
        self.breakpoints.push(Breakpoints::said(said));
    }

    /// Whether there is another run to be made: until there are so many, and so many branches in them, or none at all.
    pub fn want(&self, runs: usize, branches: u64) -> bool {
        let seen: u64 = self.halves.iter().map(|[seen, _]| seen.total()).sum();
        self.breakpoints.len() < runs || (1..branches).contains(&seen)
    }

    /// How far they agree with exact counts.
    pub fn agreement(&self, exact: &Edges) -> Agreement {
        let both = [0, 1].map(|kind| {
            let mut all = self.halves[0][kind].clone();
            all.merge(self.halves[1][kind].clone());
            all
        });
        Agreement::between(exact, both.each_ref())
    }

    /// How far one half of the runs agrees with the other, as branches were seen; with one run there is none.
    pub fn of_halves(&self) -> Option<f64> {
        let [[one, _], [other, _]] = &self.halves;
        (self.breakpoints.len() > 1).then(|| Agreement::of_halves(one, other))
    }

    /// Breakpoints of a run, on average.
    pub fn breakpoints(&self) -> Breakpoints {
        Breakpoints::mean(&self.breakpoints)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_go_to_the_halves_in_turn() {
        let mut traces = Traces::default();
        assert!(traces.want(1, 9) && traces.of_halves().is_none());
        traces.add(&Profile::default(), "(0.5 a branch; without evaluation 2)");
        assert!(!traces.want(1, 0) && traces.want(2, 0) && traces.of_halves().is_none());
        traces.add(&Profile::default(), "(0.25 a branch; without evaluation 4)");
        // None was seen, nor ever will be.
        assert!(!traces.want(2, 9));
        assert_eq!(traces.of_halves(), Some(0.0));
        assert_eq!(traces.breakpoints(), Breakpoints { reached: 0.375, without_evaluation: 3.0 });
    }
}
