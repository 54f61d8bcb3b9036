//! Where the register is set, where it is added to, and where paths are counted.
//!
//! A path's register need not be set before the first increment on it, nor counted behind the last: both move to
//! where increments are, so that one does for two (Ball and Larus: Efficient Path Profiling, section 3.3).

use crate::cfg::Cfg;
use crate::cut::Cuts;
use crate::dag::{Dag, DagEdgeId};

/// What is done on an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The register is increased.
    Add(i64),
    /// The register is set.
    Set(i64),
    /// The path is counted whose number is the register plus this.
    Count(i64),
    /// The path of this number is counted.
    CountThis(i64),
}

/// What is done on which edges.
#[derive(Clone, Debug)]
pub struct Placement {
    probes: Vec<Option<Probe>>,
}

impl Placement {
    /// From the increments of edges outside of the spanning tree. Only edges that are `kept` take part.
    pub fn new(cfg: &Cfg, cuts: &Cuts, dag: &Dag, kept: &[bool], increments: &[Option<i64>]) -> Placement {
        let mut probes: Vec<Option<Probe>> =
            increments.iter().map(|increment| increment.map(Probe::Add)).collect();
        let kept_of =
            |ids: &[DagEdgeId]| ids.iter().copied().filter(|id| kept[id.index()]).collect::<Vec<_>>();

        let mut open = kept_of(dag.out(dag.entry()));
        while let Some(id) = open.pop() {
            let to = dag.edge(id).to;
            match increments[id.index()] {
                Some(increment) => probes[id.index()] = Some(Probe::Set(increment)),
                None if to != dag.exit() && ways_in(cfg, cuts, to) == 1 => open.extend(kept_of(dag.out(to))),
                None => probes[id.index()] = Some(Probe::Set(0)),
            }
        }

        let mut open = kept_of(dag.into(dag.exit()));
        while let Some(id) = open.pop() {
            let from = dag.edge(id).from;
            let moves = from != dag.entry()
                && ways_out(cfg, cuts, from) == 1
                && dag.into(from).len() == ways_in(cfg, cuts, from);
            probes[id.index()] = Some(match (probes[id.index()], increments[id.index()]) {
                (Some(Probe::Set(number)), _) => Probe::CountThis(number),
                (_, Some(increment)) => Probe::Count(increment),
                _ if moves => {
                    open.extend(kept_of(dag.into(from)));
                    continue;
                }
                _ => Probe::Count(0),
            });
        }
        let nothing = |probe: &Probe| *probe != Probe::Add(0);
        Placement { probes: probes.into_iter().map(|probe| probe.filter(nothing)).collect() }
    }

    /// What is done on an edge, if anything.
    pub fn probe(&self, id: DagEdgeId) -> Option<Probe> {
        self.probes[id.index()]
    }
}

/// Ways by which the register can come to a block, cold ones too: a dummy is one, for all cut edges.
fn ways_in(cfg: &Cfg, cuts: &Cuts, node: u32) -> usize {
    let cut = cfg.into(node).iter().filter(|id| cuts[id.index()]).count();
    cfg.into(node).len() - cut + usize::from(cut > 0)
}

/// Likewise, by which it can leave.
fn ways_out(cfg: &Cfg, cuts: &Cuts, node: u32) -> usize {
    let cut = cfg.out(node).iter().filter(|id| cuts[id.index()]).count();
    cfg.out(node).len() - cut + usize::from(cut > 0)
}
