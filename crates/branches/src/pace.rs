//! How fast the program goes where, as far as a trace itself tells: the correction for starting points that are chosen
//! by time.
//!
//! A moment of time falls into slow code more often than into fast code, so a trace that takes the program a time T
//! is T times as likely to be among those taken as one that takes a unit of it. Each is weighted by 1/T therefore.
//! T cannot be measured: being stopped takes longer than a trace, and empties caches. So it is modelled: instructions
//! go through the processor as fast as it can, but where it cannot foresee the next branch or waits for memory.

use crate::costs::Costs;
use timewise_abi::tracing::{Effort, RECENT};

/// How many branches before one each table looks at, the fewest first: geometric lengths of history (Seznec and
/// Michaud, 2006).
const HISTORIES: [usize; 6] = [0, 2, 4, 8, 16, 32];

/// Branches at the beginning of a trace, which tell nothing: what precedes them is not known.
const WARM_UP: usize = 32;

/// Entries of a table, as a power of 2: room for the branches of large programs, as processors have it.
const SIZE_BITS: u32 = 16;

/// How sure an entry can be.
const SUREST: u8 = 3;

/// Odd, so that no bit is lost when hashes are multiplied by it: 2 to the 64th by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// What follows some branches.
#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u16,
    sure: u8,
    next: u32,
}

/// How long traces take a processor; with a predictor of branches, which learns from all of them.
pub struct Pace {
    costs: Costs,
    tables: Vec<Vec<Entry>>,
    /// Of each table, what takes the oldest branch out of the hash of its history.
    oldest: [u64; HISTORIES.len()],
}

impl Pace {
    /// Of a processor with these costs.
    pub fn new(costs: Costs) -> Pace {
        let power = |length: usize| FACTOR.wrapping_pow(length as u32);
        Pace {
            costs,
            tables: vec![vec![Entry::default(); 1 << SIZE_BITS]; HISTORIES.len()],
            oldest: HISTORIES.map(power),
        }
    }

    /// Cycles that a trace takes.
    pub fn cycles(&mut self, effort: Effort, branches: &[[u64; 2]]) -> f64 {
        let count = branches.len() as f64;
        let foreseeable = branches.len().saturating_sub(WARM_UP).max(1) as f64;
        let surprises = self.surprises(branches) as f64 * count / foreseeable;
        let recent = f64::from(RECENT);
        let lines = effort.lines as f64 * count / (count - recent).max(recent);
        let Costs { instruction, taken, store, surprise, line, .. } = self.costs;
        effort.instructions as f64 * instruction
            + count * taken
            + effort.stores as f64 * store
            + surprises * surprise
            + lines * line
    }

    /// How many branches of a trace, but for its first, are not foreseen; learns them all.
    fn surprises(&mut self, branches: &[[u64; 2]]) -> u64 {
        let mut surprises = 0;
        // Of each table, the hash of the branches that it looks at: a polynomial, so that one comes in and one out.
        let mut histories = [0_u64; HISTORIES.len()];
        for (number, pair) in branches.windows(2).enumerate() {
            let [before, branch] = [hash(pair[0]), hash(pair[1])];
            let known = number + 1;
            for ((history, &length), &power) in histories.iter_mut().zip(&HISTORIES).zip(&self.oldest) {
                if length > 0 {
                    let gone = known.checked_sub(length + 1).map_or(0, |oldest| hash(branches[oldest]));
                    *history = history.wrapping_mul(FACTOR).wrapping_add(before);
                    *history = history.wrapping_sub(gone.wrapping_mul(power));
                }
            }
            let is_foreseen = self.learn(known, pair[0][1], &histories, (branch >> 32) as u32);
            surprises += u64::from(!is_foreseen && known >= WARM_UP);
        }
        surprises
    }

    /// What follows `known` branches, of which the last led to `at`: whether that was foreseen.
    fn learn(&mut self, known: usize, at: u64, histories: &[u64; HISTORIES.len()], next: u32) -> bool {
        let (mut foreseen, mut longest) = (None, None);
        let usable = HISTORIES.iter().take_while(|&&length| length <= known).count();
        let mut places = [(0, 0); HISTORIES.len()];
        for table in 0..usable {
            let mixed = (histories[table] ^ at.rotate_left(32) ^ table as u64).wrapping_mul(FACTOR);
            let mixed = (mixed ^ mixed >> 29).wrapping_mul(FACTOR);
            let place = ((mixed >> (64 - SIZE_BITS)) as usize, mixed as u16);
            places[table] = place;
            let entry = &mut self.tables[table][place.0];
            if entry.tag == place.1 {
                if entry.sure > 0 || longest.is_none() {
                    (foreseen, longest) = (Some(entry.next), Some(table));
                }
                match (entry.next == next, entry.sure) {
                    (true, sure) => entry.sure = (sure + 1).min(SUREST),
                    (false, 0) => entry.next = next,
                    (false, sure) => entry.sure = sure - 1,
                }
            } else if table == 0 {
                *entry = Entry { tag: place.1, sure: 0, next };
            }
        }
        let is_foreseen = foreseen == Some(next);
        if !is_foreseen {
            self.look_further_back(&places[..usable], longest.map_or(0, |table| table + 1), next);
        }
        is_foreseen
    }

    /// After a surprise, the next longer history that has room learns what followed.
    fn look_further_back(&mut self, places: &[(usize, u16)], from: usize, next: u32) {
        for (table, &(position, tag)) in places.iter().enumerate().skip(from) {
            let entry = &mut self.tables[table][position];
            match (entry.tag == tag, entry.sure) {
                (true, _) => {}
                (false, 0) => {
                    *entry = Entry { tag, sure: 0, next };
                    return;
                }
                (false, sure) => entry.sure = sure - 1,
            }
        }
    }
}

fn hash([from, to]: [u64; 2]) -> u64 {
    (from.rotate_left(27) ^ to).wrapping_mul(FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::tests::COSTS;

    fn effort(instructions: u64) -> Effort {
        Effort { instructions, ..Effort::default() }
    }

    /// A loop of two ways, of which the first is taken where `is_first`.
    fn trace(is_first: impl Fn(u64) -> bool) -> Vec<[u64; 2]> {
        (0..1000).map(|round| if is_first(round) { [10, 1] } else { [20, 1] }).collect()
    }

    #[test]
    fn a_pattern_is_foreseen_once_it_is_known() {
        let mut pace = Pace::new(COSTS);
        let pattern = trace(|round| round % 5 < 2);
        pace.cycles(effort(4000), &pattern);
        assert_eq!(pace.cycles(effort(4000), &pattern), 2000.0);
        assert_eq!(pace.cycles(effort(8000), &pattern), 3000.0);
    }

    #[test]
    fn what_has_no_pattern_takes_longer() {
        let mut pace = Pace::new(COSTS);
        let mut random = 1_u64;
        for _ in 0..5 {
            let draws: Vec<bool> = (0..1000)
                .map(|_| {
                    random = random.wrapping_mul(FACTOR).wrapping_add(12345);
                    random >> 63 == 1
                })
                .collect();
            let cycles = pace.cycles(effort(4000), &trace(|round| draws[round as usize]));
            // Half of them cannot be foreseen.
            assert!((8500.0..12_500.0).contains(&cycles), "{cycles}");
        }
    }

    #[test]
    fn lines_are_told_of_the_branches_behind_the_first_ones() {
        let trace = [trace(|_| true), trace(|_| true)].concat();
        let cycles = |lines| Pace::new(COSTS).cycles(Effort { lines, ..effort(4000) }, &trace[..1600]);
        assert_eq!(cycles(10) - cycles(0), 2.0 * 10.0 * COSTS.line);
    }

    #[test]
    fn short_traces_take_what_their_instructions_and_branches_take() {
        let mut pace = Pace::new(COSTS);
        let effort = Effort { stores: 10, ..effort(100) };
        assert_eq!(pace.cycles(effort, &trace(|_| true)[..16]), 25.0 + 16.0 + 5.0);
        assert_eq!(pace.cycles(Effort::default(), &[]), 0.0);
    }
}
