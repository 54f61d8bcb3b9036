//! How much a program that ran already does natively for what it did under count.
//!
//! It was sampled and counted in turns of the same length, and counting slows it. Breakpoints count how often it executes
//! a few places natively ([`Tally`]); how often it executed them under count is known.

use crate::analysis::Analysis;
use crate::code::{Code, ExecutedBlock};
use crate::cost::Estimate;
use crate::interval::NORMAL_RANGE;
use crate::routine::RoutineId;
use crate::totals::Total;
use crate::work::{lengths_of_turns, mean_busy_ns};
use std::collections::{BTreeMap, HashMap, HashSet};
use timewise_profile::{ModuleId, ModuleKind, Place, Profile, RunKind, Tally};

/// A place stands for the program only if this share of the time passes in its function, calls included.
const LEAST_SHARE: f64 = 0.1;
/// And one of the places must be in a function in which nearly all of the time passes: what some threads do more of
/// natively says nothing of others.
const LEAST_OF_ONE: f64 = 0.8;
/// So often a place is to be seen, about.
const ENOUGH_SEEN: f64 = 250.0;
/// A breakpoint slows down whatever is executed in its line of the cache, by some cycles an instruction: more than so many
/// instructions in a second of CPU time would be a notable part of it.
const LINE: u64 = 64;
const MOST_IN_A_LINE: f64 = 3e6;
/// Places whose executions differ by less tell the same.
const SAME_COUNT: f64 = 0.02;

/// What tallies of a program that ran already tell of all its turns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TurnsWork {
    /// How much it did natively for what it did in as long under count. The limits hold what each place tells of each
    /// turn.
    pub factor: Estimate,
    /// How much longer turns were natively.
    pub lengths: f64,
    /// Places that tell it.
    pub places: usize,
}

impl TurnsWork {
    /// What tallies tell; `None` if there are none.
    pub(crate) fn of(profile: &Profile, code: &Code) -> Option<TurnsWork> {
        let busy = mean_busy_ns(profile, RunKind::Sampling)?;
        let mut by_place: BTreeMap<Place, Vec<&Tally>> = BTreeMap::new();
        profile.tallies.iter().for_each(|tally| by_place.entry(tally.place).or_default().push(tally));
        let (mut product, mut places) = (0.0, 0);
        let mut factor = Estimate { value: 1.0, low: f64::INFINITY, high: 0.0 };
        for (place, tallies) in by_place {
            let Some(block) = code.blocks.iter().find(|block| block.place == place) else { continue };
            let counted = block.executions as f64;
            let natively = |executions: f64, ns: u64| executions * busy / ns as f64 / counted;
            let all = tallies.iter().fold((0, 0), |sum, one| (sum.0 + one.executions, sum.1 + one.cpu_ns));
            let of_place = natively(all.0 as f64, all.1);
            if counted == 0.0 || !(of_place.is_finite() && of_place > 0.0) {
                continue;
            }
            for tally in tallies {
                let chance = NORMAL_RANGE * (tally.variance as f64).sqrt();
                let limit = |by: f64| natively(tally.executions as f64 + by, tally.cpu_ns);
                factor.low = factor.low.min(limit(-chance).max(0.0));
                factor.high = factor.high.max(limit(chance));
            }
            product += of_place.ln();
            places += 1;
        }
        factor.value = (product / f64::from(places)).exp();
        let lengths = lengths_of_turns(profile)?;
        (places > 0 && factor.low > 0.0 && factor.high.is_finite()).then(|| TurnsWork {
            factor: factor.times(1.0 / lengths),
            lengths,
            places: places as usize,
        })
    }

    /// What was found, and what it is good for.
    pub(crate) fn in_words(self) -> String {
        let Estimate { value, low, high } = self.factor;
        let places = if self.places == 1 { "a place" } else { &format!("{} places", self.places) };
        format!(
            "sampled and counted in turns: natively it did {value:.2} times ({low:.2} to {high:.2}) what it did under count, \
             as breakpoints at {places} tell, and costs per execution are those of as much; of what time drives rather than \
             load they are off"
        )
    }
}

/// What can be counted natively.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// So many places.
    pub places: usize,
    /// For so much CPU time, seconds.
    pub cpu_seconds: f64,
    /// So many executions of all places in a second of CPU time under count.
    pub most_a_second: f64,
}

/// Blocks whose executions natively tell best how much the program does, of the counts and samples so far: of the
/// functions in which most of the time passes, calls included, those that are executed neither too often nor too seldom,
/// and beside which nothing is executed too often. Of several functions first, as natively one may do more and another not.
/// None if no function stands for nearly all of the program, or none of its blocks can be counted.
pub fn places_to_tally(analysis: &Analysis, limits: &Limits) -> Vec<Place> {
    let Some(busy_ns) = mean_busy_ns(analysis.profile, RunKind::Counting) else { return Vec::new() };
    let a_second = |block: &ExecutedBlock| block.executions as f64 * 1e9 / busy_ns;
    let (least, most) = (ENOUGH_SEEN / limits.cpu_seconds, limits.most_a_second / 2.0);
    let range = least..=most;
    let is_usable = |block: &&ExecutedBlock| {
        let is_of_a_file = analysis.profile.modules[block.place.module.index()].kind == ModuleKind::File;
        let repeats = analysis.code.instructions[block.first.index()].step.repeats;
        is_of_a_file && !repeats && range.contains(&a_second(block))
    };
    let busy_lines = busy_lines(analysis, busy_ns);
    let is_alone = |block: &&ExecutedBlock| !busy_lines.contains(&line_of(block.place));
    let shares: Vec<f64> = analysis.totals().routines.iter().map(|total| share(analysis, total)).collect();
    let blocks = analysis.owner.iter().zip(&analysis.code.blocks);
    let mut found: Vec<(RoutineId, &ExecutedBlock)> = blocks
        .map(|(owner, block)| (*owner, block))
        .filter(|(owner, block)| shares[owner.index()] >= LEAST_SHARE && is_usable(block) && is_alone(block))
        .collect();
    let is_of_nearly_all = |owner: RoutineId| shares[owner.index()] >= LEAST_OF_ONE;
    // The seldomer, the more is chance; the more often, the more depends on what hits are believed to cost. Four places
    // may have a quarter each of what all may have.
    let middle = (least * most / 2.0).sqrt();
    let from_middle = |block: &ExecutedBlock| (a_second(block) / middle).ln().abs();
    found.sort_by(|(_, one), (_, other)| {
        from_middle(one).total_cmp(&from_middle(other)).then(one.place.cmp(&other.place))
    });
    let Some(&first) = found.iter().find(|(owner, _)| is_of_nearly_all(*owner)) else { return Vec::new() };
    let mut chosen: Vec<(RoutineId, &ExecutedBlock)> = vec![first];
    let mut all_a_second = a_second(first.1);
    for is_for_others in [true, false] {
        for &(owner, block) in &found {
            let is_same = |&(other_owner, other): &(RoutineId, &ExecutedBlock)| {
                let larger = block.executions.max(other.executions) as f64;
                let differ = block.executions.abs_diff(other.executions) as f64;
                differ <= SAME_COUNT * larger || is_for_others && other_owner == owner
            };
            let fits = all_a_second + a_second(block) <= limits.most_a_second;
            if fits && chosen.len() < limits.places && !chosen.iter().any(is_same) {
                all_a_second += a_second(block);
                chosen.push((owner, block));
            }
        }
    }
    chosen.into_iter().map(|(_, block)| block.place).collect()
}

/// A line of the cache, of code as it is linked: it is loaded by whole pages.
fn line_of(place: Place) -> (ModuleId, u64) {
    (place.module, place.offset.0 / LINE)
}

/// The lines in which so much is executed that a breakpoint would slow the program down.
fn busy_lines(analysis: &Analysis, busy_ns: f64) -> HashSet<(ModuleId, u64)> {
    let mut lines: HashMap<(ModuleId, u64), f64> = HashMap::new();
    for block in &analysis.code.blocks {
        for id in block.instructions() {
            let place = analysis.code.place(id);
            let length = u64::from(analysis.code.instructions[id.index()].step.length);
            let end = place.offset.0.saturating_add(length.max(1));
            for line in place.offset.0 / LINE..end.div_ceil(LINE) {
                *lines.entry((place.module, line)).or_default() += block.executions as f64;
            }
        }
    }
    let is_busy = |executions: f64| executions * 1e9 / busy_ns > MOST_IN_A_LINE;
    lines.into_iter().filter(|(_, executions)| is_busy(*executions)).map(|(line, _)| line).collect()
}

/// Share of the time in a function and what it calls, 0 to 1; 0 if that is not known.
fn share(analysis: &Analysis, total: &Total) -> f64 {
    let known = Some(total.cost.weight.cycles / analysis.samples.user.cycles).filter(|_| total.has_time);
    known.filter(|share| share.is_finite()).unwrap_or(0.0)
}
