//! Time with callees, summed up along the stacks of samples.

use crate::analysis::Analysis;
use crate::attribute::{Charge, Head, within};
use crate::call_sites::CallSites;
use crate::code::InstructionId;
use crate::origin::Origins;
use crate::samples::{Spot, Weight};
use crate::walk::{Callers, Thing, Walker};
use std::collections::{BTreeMap, HashMap};
use timewise_profile::StackId;

/// What belongs to one thing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Samples and time.
    pub weight: Weight,
    /// As in [`crate::Cost`].
    pub split_variance: f64,
    /// Cycles of those samples whose stacks do not reach the beginning of their thread.
    pub unrooted_cycles: f64,
}

/// Time with callees of everything that samples belong to.
#[derive(Clone, Debug, Default)]
pub struct Inclusive {
    routines: Vec<Sums>,
    loops: Vec<Sums>,
    calls: Vec<Sums>,
    /// Cycles of all samples whose stacks do not reach the beginning of their thread.
    pub unrooted_cycles: f64,
    /// By how much each thing's part in the samples of a head may be off: of one head all are divided alike.
    deviations: BTreeMap<(Head, Thing), f64>,
}

impl Inclusive {
    /// Sums up all samples; adds calls that only stacks show to `sites`.
    pub fn new(analysis: &Analysis, sites: &mut CallSites) -> Inclusive {
        let origins = Origins::new(analysis.profile, &analysis.code, &analysis.routines, &analysis.owner);
        let strays: HashMap<_, _> = analysis.strays().map(|(place, routine, _)| (place, routine)).collect();
        let mut walker = Walker::new(analysis, sites, &origins);
        let mut sums = Inclusive::default();
        for (&(spot, frames), &weight) in &analysis.samples.by_stack {
            let leaf = match spot {
                Spot::Counted(id) => {
                    Some(analysis.owner[analysis.code.instructions[id.index()].block.index()])
                }
                Spot::Stray(place) => strays.get(&place).copied(),
                Spot::Nowhere => None,
            };
            let shown = leaf.into_iter().chain(analysis.frames.from(frames).map(|frame| frame.routine));
            let (outermost, is_whole) = shown.fold((None, false), |(_, is_whole), routine| {
                (Some(routine), is_whole || origins.is_first(routine))
            });
            let is_rooted = is_whole || outermost.is_some_and(|routine| origins.is_rooted(routine));
            let unrooted_cycles = if is_rooted { 0.0 } else { weight.cycles };
            sums.unrooted_cycles += unrooted_cycles;
            let callers = Callers { frames, outermost };
            match spot {
                Spot::Counted(id) => {
                    sums.divide(analysis, &mut walker, id, callers, (weight, unrooted_cycles))
                }
                _ => sums.add(walker.stray(leaf, callers), weight, unrooted_cycles),
            }
        }
        for ((_, thing), deviation) in std::mem::take(&mut sums.deviations) {
            sums.of(thing).split_variance += deviation * deviation;
        }
        sums
    }

    /// Adds samples on `sampled` to what each instruction that they are charged to belongs to.
    fn divide(
        &mut self,
        analysis: &Analysis,
        walker: &mut Walker,
        sampled: InstructionId,
        callers: Callers,
        (weight, unrooted_cycles): (Weight, f64),
    ) {
        let (whole, head);
        let (charges, of_head): (&[Charge], _) = match division(analysis, sampled, callers.frames) {
            Some((at, division)) => {
                head = at;
                (&division.charges, Some((head, division.weight)))
            }
            None => {
                let instruction = within(&analysis.code, sampled, analysis.policy);
                whole = [Charge { instruction, share: 1.0, variance: 0.0 }];
                (&whole, None)
            }
        };
        let mut variances: BTreeMap<Thing, f64> = BTreeMap::new();
        for charge in charges {
            let things = walker.counted(sampled, charge.instruction, callers);
            self.add(things, weight.share(charge.share), unrooted_cycles * charge.share);
            if charge.variance > 0.0 {
                things.iter().for_each(|thing| *variances.entry(*thing).or_default() += charge.variance);
            }
        }
        if let Some((head, all)) = of_head.filter(|(_, all)| all.cycles > 0.0) {
            let variance: f64 = charges.iter().map(|charge| charge.variance).sum();
            for (thing, own) in variances {
                // The sum is known: what these got too much the others got too little.
                let deviation = own.min((variance - own).max(0.0)).sqrt();
                *self.deviations.entry((head, thing)).or_default() += deviation * weight.cycles / all.cycles;
            }
        }
    }

    fn add(&mut self, things: &[Thing], weight: Weight, unrooted_cycles: f64) {
        for thing in things {
            let sums = self.of(*thing);
            sums.weight += weight;
            sums.unrooted_cycles += unrooted_cycles;
        }
    }

    /// The sums of a thing: zero where no sample belongs to it.
    pub fn get(&self, thing: Thing) -> Sums {
        let known = match thing {
            Thing::Routine(id) => self.routines.get(id.index()),
            Thing::Loop(id) => self.loops.get(id.index()),
            Thing::Call(row) => self.calls.get(row),
        };
        known.copied().unwrap_or_default()
    }

    fn of(&mut self, thing: Thing) -> &mut Sums {
        let (list, at) = match thing {
            Thing::Routine(id) => (&mut self.routines, id.index()),
            Thing::Loop(id) => (&mut self.loops, id.index()),
            Thing::Call(row) => (&mut self.calls, row),
        };
        if at >= list.len() {
            list.resize(at + 1, Sums::default());
        }
        &mut list[at]
    }
}

/// How samples on `sampled` were divided; `None` where they are charged whole.
fn division<'a>(
    analysis: &'a Analysis,
    sampled: InstructionId,
    frames: Option<StackId>,
) -> Option<(Head, &'a crate::attribute::Division)> {
    let block = analysis.code.instructions[sampled.index()].block;
    let is_head = analysis.code.blocks[block.index()].first == sampled;
    analysis.attributed.division(block, analysis.frames.call(frames)).filter(|_| is_head)
}
