//! What it takes when a thread hits a breakpoint whose hits are only counted.

use crate::events;
use crate::handler::time_stamp;
use core::hint::black_box;

/// Hits in a row, and how often that is measured.
const HITS: u32 = 16;
const ROUNDS: usize = 9;

/// Ticks for one hit: the median of some rounds; 0 if no breakpoint can be set. Descriptors are numbered from `lowest`.
pub fn hit_ticks(lowest: u32) -> u32 {
    let Ok(breakpoint) = events::open_breakpoint(lowest) else { return 0 };
    let natively = median_round();
    let place = place_of_hits as *const () as u64;
    let set = events::set_breakpoint_for(breakpoint, place, &mut 1, u64::MAX >> 2);
    let hit = median_round();
    events::close(breakpoint);
    let ticks = hit.saturating_sub(natively) / u64::from(HITS);
    if set.is_ok() { ticks as u32 } else { 0 }
}

fn median_round() -> u64 {
    let mut rounds = [0; ROUNDS];
    for round in &mut rounds {
        let before = time_stamp();
        for hit in 0..HITS {
            place_of_hits(black_box(hit));
        }
        *round = time_stamp().wrapping_sub(before);
    }
    rounds.sort_unstable();
    rounds[ROUNDS / 2]
}

#[inline(never)]
extern "C" fn place_of_hits(hit: u32) {
    black_box(hit);
}
