//! Ball-Larus path profiling of everything, and targeted path profiling of what an edge profile does not tell.

use crate::cfg::Cfg;
use crate::cold::cold_edges;
use crate::cut::{back_edges, disconnect_loops};
use crate::plan::{Limits, Plan, Store};

/// By how much fewer paths are numbered where the register would hold too much.
const FEWER: u64 = 16;

/// Which paths to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All: PP.
    All,
    /// TPP(i, j): those that an edge profile does not tell.
    Targeted {
        /// i: percent of its source's executions below which an edge is cold.
        cold: u32,
        /// j: percent of its header's executions below which a loop that is entered so rarely is cut off.
        disconnect: u32,
    },
}

impl Method {
    /// TPP(5, 15), which the paper finds to be a good choice (section 5.1).
    pub const USUAL: Method = Method::Targeted { cold: 5, disconnect: 15 };

    /// PP and the configurations of TPP that the paper compares it with (tables 2 and 3), by name.
    pub const COMPARED: [(&'static str, Method); 5] = [
        ("PP", Method::All),
        ("TPP(1,1)", Method::Targeted { cold: 1, disconnect: 1 }),
        ("TPP(5,5)", Method::Targeted { cold: 5, disconnect: 5 }),
        ("TPP(10,10)", Method::Targeted { cold: 10, disconnect: 10 }),
        ("TPP(5,15)", Method::USUAL),
    ];

    /// The plan for a routine. Where the register would not hold what it must, fewer paths are numbered than `limits`
    /// admits.
    pub fn plan(self, cfg: &Cfg, mut limits: Limits) -> Plan {
        loop {
            let plan = self.plan_within(cfg, limits);
            if plan.fits() || limits.paths == 0 {
                return plan;
            }
            limits.paths /= FEWER;
        }
    }

    fn plan_within(self, cfg: &Cfg, limits: Limits) -> Plan {
        let back = back_edges(cfg);
        let everything = vec![false; cfg.edges.len()];
        let Method::Targeted { cold, disconnect } = self else {
            return Plan::new(cfg, &back, everything, false, limits);
        };
        let apart = disconnect_loops(cfg, &back, disconnect);
        let best = |cold: &[bool]| {
            let whole = Plan::new(cfg, &back, cold.to_vec(), true, limits);
            if apart == back {
                return whole;
            }
            let apart = Plan::new(cfg, &apart, cold.to_vec(), true, limits);
            if apart.cost(cfg) < whole.cost(cfg) { apart } else { whole }
        };
        let all = best(&everything);
        let cold = cold_edges(cfg, cold);
        if all.store == Store::Nothing || !cold.contains(&true) {
            return all;
        }
        // Leaving paths out loses their counts, so it must be worth that (section 5).
        let hot = best(&cold);
        let is_worth_it = (all.store == Store::Hash && hot.store != Store::Hash) || hot.told() > all.told();
        if is_worth_it && hot.cost(cfg) < all.cost(cfg) { hot } else { all }
    }
}
