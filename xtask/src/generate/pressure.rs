//! From average pressures on ports back to µops: which sets of ports an instruction chooses from, and for how
//! many cycles.
//!
//! LLVM's tables divide the cycles of a µop evenly among the ports that it may choose from. Sets of one
//! instruction are mostly disjoint or nested, so the smallest pressure belongs to the largest set: it is taken
//! off all ports of a group of ports that share it, again and again.

use std::collections::BTreeMap;

/// Ports that can stand for each other, by bit, and the cycles that one of them is busy.
pub type Use = (u32, u32);

/// Takes pressures apart; `groups` are sets of ports that do not mix, such as those for loads.
pub fn uses(ports: &[String], groups: &[u32], pressure: &BTreeMap<String, f64>) -> Vec<Use> {
    let mut all = Vec::new();
    for group in groups {
        let mut left: Vec<(u32, f64)> = ports
            .iter()
            .enumerate()
            .filter(|(bit, _)| group >> bit & 1 == 1)
            .filter_map(|(bit, name)| Some((1 << bit, *pressure.get(name)?)))
            .filter(|(_, cycles)| *cycles > 0.01)
            .collect();
        while let Some(least) = left.iter().map(|(_, cycles)| *cycles).min_by(f64::total_cmp) {
            let set = left.iter().fold(0, |set, (port, _)| set | port);
            let cycles = (least * left.len() as f64).round() as u32;
            if cycles > 0 {
                all.push((set, cycles));
            }
            left.retain_mut(|(_, cycles)| {
                *cycles -= least;
                *cycles > 0.05
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::uses;
    use std::collections::BTreeMap;

    fn of(pressures: &[(&str, f64)]) -> Vec<(u32, u32)> {
        let ports: Vec<String> = ["a", "b", "c", "d", "load"].map(str::to_string).to_vec();
        let pressure: BTreeMap<String, f64> = pressures.iter().map(|(n, c)| (n.to_string(), *c)).collect();
        uses(&ports, &[0b1111, 0b10000], &pressure)
    }

    #[test]
    fn one_set() {
        assert_eq!(of(&[("a", 0.25), ("b", 0.25), ("c", 0.25), ("d", 0.25)]), [(0b1111, 1)]);
        assert_eq!(of(&[("b", 5.0)]), [(0b10, 5)]);
    }

    #[test]
    fn nested_sets_and_other_groups() {
        // one of a, b, c and one of a, b
        let third = 1.0 / 3.0;
        let both = [("a", third + 0.5), ("b", third + 0.5), ("c", third), ("load", 1.0)];
        assert_eq!(of(&both), [(0b111, 1), (0b11, 1), (0b10000, 1)]);
    }
}
