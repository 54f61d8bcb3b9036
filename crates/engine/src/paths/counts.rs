//! What the counters of all threads say.

use super::table;
use crate::arena::Arena;
use crate::harvest::LARGEST_COUNT;
use std::collections::HashMap;

/// Counts of paths, of all threads and processes together, by where their counters lie.
#[derive(Clone, Debug, Default)]
pub struct PathCounts {
    single: HashMap<u32, u64>,
    hashed: HashMap<u32, HashMap<u32, u64>>,
    /// Calls that were forgotten, because too many were open at once: of the functions that made them no path was
    /// counted there.
    pub lost: u64,
}

impl PathCounts {
    /// The counter at a place.
    pub fn counter(&self, place: u32) -> u64 {
        self.single.get(&place).copied().unwrap_or(0)
    }

    /// What a table at a place counted, by number.
    pub fn table(&self, place: u32) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.hashed.get(&place).into_iter().flatten().map(|(&number, &count)| (number, count))
    }

    /// Adds what the thread area at an offset says; how many of its counters make no sense.
    pub(crate) fn add(&mut self, arena: &Arena, area: u64) -> u64 {
        let Some((counters, tables)) = arena.path_counters() else { return 0 };
        let first = area + counters.start;
        let mut keys: HashMap<u32, u64> = HashMap::new();
        let mut counts: Vec<(u32, u64)> = Vec::new();
        let mut damage = 0;
        arena.each_word(first..area + counters.end, |at, value| {
            let place = (at - first) as u32;
            let table = tables.partition_point(|&table| table <= place).checked_sub(1).map(|at| tables[at]);
            match (value, table.filter(|&table| place - table < table::SIZE)) {
                (0, _) => {}
                (_, Some(table)) if place - table < table::COUNTS => _ = keys.insert(place, value),
                (_, Some(table)) if place == table + table::USED => {}
                (_, Some(table)) if place < table + table::COLD && value < LARGEST_COUNT => {
                    counts.push((place, value));
                }
                _ if value < LARGEST_COUNT => *self.single.entry(place).or_default() += value,
                _ => damage += 1,
            }
        });
        for (place, count) in counts {
            let table = tables[tables.partition_point(|&table| table <= place) - 1];
            let key =
                keys.get(&(place - table::COUNTS)).and_then(|&key| u32::try_from(key.checked_sub(1)?).ok());
            match key {
                Some(number) => *self.hashed.entry(table).or_default().entry(number).or_default() += count,
                None => damage += 1,
            }
        }
        self.lost += arena.lost_paths(area);
        damage
    }
}
