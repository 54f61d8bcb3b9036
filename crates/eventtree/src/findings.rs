//! Which nodes differ beyond chance, when very many are looked at.
//!
//! Of nodes that are judged one by one, one in twenty would differ "with 95 %" by chance alone, and a tree has thousands.
//! They are judged together: of those that are named, one in twenty may be chance (Benjamini and Hochberg, Journal of the
//! Royal Statistical Society B 57, 1995).

use crate::compare::{LaneTree, Measured, Measures};

/// How much of what is named may be chance.
const FALSE_SHARE: f64 = 0.05;

/// What is judged of a node. CPU time varies less than elapsed time: others' work is not in it.
const JUDGED: [fn(&Measures) -> &Measured; 2] =
    [|measures| &measures.elapsed_ns, |measures| &measures.cpu_ns];

/// Notes in each tree which nodes differ beyond chance; nothing where chance is not known.
pub fn find(lanes: &mut [LaneTree]) {
    let mut chances: Vec<f64> = Vec::new();
    for measures in lanes.iter().flat_map(|lane| &lane.measures) {
        for judged in JUDGED {
            let Some(chance) = judged(measures).chance else { return };
            chances.push(chance);
        }
    }
    let limit = limit(&mut chances);
    for lane in lanes {
        let is_beyond = |measures: &Measures| {
            JUDGED.iter().any(|judged| judged(measures).chance.is_some_and(|chance| chance <= limit))
        };
        lane.found = Some(lane.measures.iter().map(is_beyond).collect());
    }
}

/// The largest probability that is still named; below all of them if none is.
fn limit(chances: &mut [f64]) -> f64 {
    chances.sort_unstable_by(f64::total_cmp);
    let all = chances.len() as f64;
    let is_named = |&(number, &chance): &(usize, &f64)| chance <= FALSE_SHARE * (number + 1) as f64 / all;
    chances.iter().enumerate().rfind(is_named).map_or(-1.0, |(_, &chance)| chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_of_many_must_be_surer() {
        assert_eq!(limit(&mut [0.04]), 0.04);
        assert_eq!(limit(&mut [0.3, 0.04, 0.9, 0.8]), -1.0);
        // 0.05 of four is 0.0125, of which each further one adds as much.
        assert_eq!(limit(&mut [0.012, 0.9, 0.02, 0.8]), 0.02);
        assert_eq!(limit(&mut []), -1.0);
    }
}
