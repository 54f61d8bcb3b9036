//! Comparing counts with those of several callgrind runs.

use crate::check::executions::Executed;
use crate::check::segments::Place;
use std::collections::{BTreeMap, BTreeSet};

/// What came of a comparison.
#[derive(Debug, Default)]
pub struct Compared {
    /// Instructions that were compared.
    pub instructions: usize,
    /// Their executions.
    pub executions: i64,
    /// Executions of the instructions in `variations`.
    pub varying: i64,
    /// Where the counts differ, and callgrind's runs among themselves: ours, callgrind's least and most.
    pub variations: Vec<(Place, i64, i64, i64)>,
    /// Executions of instructions left out because they repeat.
    pub repeating: i64,
    /// Instructions that were in flight at the end, which callgrind does not see.
    pub in_flight: Vec<Place>,
    /// Where the C library notes what the real processor has and Valgrind's has not.
    pub noted: Vec<Place>,
    /// Where the counts differ: ours, callgrind's.
    pub differences: Vec<(Place, i64, i64)>,
}

impl Compared {
    /// The share of executions that could not be compared because callgrind disagrees with itself.
    pub fn varying_share(&self) -> f64 {
        self.varying as f64 / (self.executions + self.varying + self.repeating).max(1) as f64
    }
}

/// Compares the instructions of all `modules`. Left out are those that repeat by a prefix (callgrind
/// counts iterations); excused are those that differ and about which callgrind's runs disagree, too.
pub fn compare(
    counted: &BTreeMap<Place, Executed>,
    callgrind: &[BTreeMap<Place, i64>],
    modules: &BTreeSet<String>,
) -> Compared {
    let mut compared = Compared::default();
    let places: BTreeSet<&Place> = counted.keys().chain(callgrind.iter().flat_map(BTreeMap::keys)).collect();
    for place in places.into_iter().filter(|(module, _)| modules.contains(module)) {
        let ours = counted.get(place).map_or(0, |e| e.times);
        let runs = || callgrind.iter().map(|run| run.get(place).copied().unwrap_or(0));
        let (least, most) = (runs().min().unwrap_or(0), runs().max().unwrap_or(0));
        let theirs = runs().next().unwrap_or(0);
        if counted.get(place).is_some_and(Executed::repeats) {
            compared.repeating += ours;
        } else if ours != theirs && least != most {
            compared.varying += most;
            compared.variations.push((place.clone(), ours, least, most));
        } else {
            compared.instructions += 1;
            compared.executions += theirs;
            if ours != theirs {
                compared.differences.push((place.clone(), ours, theirs));
            }
        }
    }
    excuse_block_in_flight(&mut compared, counted);
    excuse_noted_feature(&mut compared, counted);
    compared
}

/// On Intel's processors with fast short `rep movsb`, which Valgrind's is not, the C library notes once at its
/// beginning, by `or dword [rip + x], 1`, that short distances are to be avoided. No tunable turns that off.
fn excuse_noted_feature(compared: &mut Compared, counted: &BTreeMap<Place, Executed>) {
    let is_noting = |code: &[u8]| matches!(code, [0x83, 0x0d, _, _, _, _, 1]);
    let at = compared.differences.iter().position(|(place, ours, theirs)| {
        (*ours, *theirs) == (1, 0)
            && place.0.ends_with("/libc.so.6")
            && counted.get(place).is_some_and(|executed| is_noting(&executed.code))
    });
    compared.noted = at.map(|at| compared.differences.remove(at).0).into_iter().collect();
}

/// Callgrind counts a block when it is left, so the last one, from a branch target to the system call that
/// ends the program, is missing there: one run of adjacent instructions, each with one execution more here.
fn excuse_block_in_flight(compared: &mut Compared, counted: &BTreeMap<Place, Executed>) {
    let last = compared.differences.iter().rposition(|(place, ours, theirs)| {
        *ours == theirs + 1 && counted.get(place).is_some_and(Executed::is_system_call)
    });
    let Some(last) = last else { return };
    let follows = |before: &(Place, i64, i64), after: &(Place, i64, i64)| {
        let length = counted.get(&before.0).map_or(0, |e| e.code.len() as u64);
        before.1 == before.2 + 1 && before.0.0 == after.0.0 && before.0.1 + length == after.0.1
    };
    let mut first = last;
    while first > 0 && follows(&compared.differences[first - 1], &compared.differences[first]) {
        first -= 1;
    }
    compared.in_flight = compared.differences.drain(first..=last).map(|(place, ..)| place).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(offset: u64) -> Place {
        ("/bin/a".to_string(), offset)
    }

    fn counted(rows: &[(u64, i64, &[u8])]) -> BTreeMap<Place, Executed> {
        rows.iter()
            .map(|(at, times, code)| (place(*at), Executed { times: *times, code: code.to_vec() }))
            .collect()
    }

    fn dump(rows: &[(u64, i64)]) -> BTreeMap<Place, i64> {
        rows.iter().map(|(at, times)| (place(*at), *times)).collect()
    }

    const NOP: &[u8] = &[0x90];

    #[test]
    fn only_true_differences_remain() {
        let modules = BTreeSet::from(["/bin/a".to_string()]);
        let ours = counted(&[
            (1, 10, NOP),
            (2, 7, NOP),
            (3, 5, &[0xf3, 0xa4]),
            (10, 4, NOP),
            (20, 3, NOP),
            (21, 3, &[0x0f, 0x05]),
        ]);
        let runs = [6, 9].map(|varying| dump(&[(1, 10), (2, 8), (3, 500), (10, varying), (20, 2), (21, 2)]));
        let compared = compare(&ours, &runs, &modules);
        assert_eq!(compared.differences, [(place(2), 7, 8)]);
        assert_eq!(compared.in_flight, [place(20), place(21)]);
        assert_eq!((compared.repeating, compared.varying), (5, 9));
        assert_eq!(compared.instructions, 4);
    }

    #[test]
    fn the_c_library_may_note_one_feature() {
        let or = |offset: u64| {
            let code = vec![0x83, 0x0d, 1, 2, 3, 4, 1];
            (("/lib/libc.so.6".to_string(), offset), Executed { times: 1, code })
        };
        let modules = BTreeSet::from(["/lib/libc.so.6".to_string()]);
        let compared = compare(&BTreeMap::from([or(1), or(20)]), &[BTreeMap::new()], &modules);
        assert_eq!(compared.noted, [or(1).0]);
        assert_eq!(compared.differences, [(or(20).0, 1, 0)]);
    }

    #[test]
    fn what_one_side_never_saw_is_a_difference() {
        let modules = BTreeSet::from(["/bin/a".to_string()]);
        let theirs = dump(&[(1, 10), (9, 2)]);
        let compared = compare(&counted(&[(1, 10, NOP), (5, 1, NOP)]), &[theirs.clone(), theirs], &modules);
        assert_eq!(compared.differences, [(place(5), 1, 0), (place(9), 0, 2)]);
    }
}
