//! Targets of indirect branches: tables that are indexed with ever longer histories, the longest that knows the
//! branch being believed, as in the ITTAGE predictor (Seznec, "A 64-Kbytes ITTAGE indirect branch predictor",
//! 2011).

use super::history::History;

/// History lengths, in bits; the first table has none.
const LENGTHS: [u32; 5] = [0, 8, 20, 48, 120];

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    tag: u16,
    /// How sure it is, 0 to 3.
    sure: u8,
    target: u64,
}

/// The predictor.
#[derive(Debug)]
pub struct Indirect {
    tables: Vec<Vec<Entry>>,
    /// For each table with history, its hashes in the history: for the index and for the tag.
    folds: Vec<(usize, usize)>,
    bits: u32,
}

impl Indirect {
    /// Empty tables of so many entries each.
    pub fn new(entries: usize, history: &mut History) -> Indirect {
        let bits = entries.ilog2();
        let folds = LENGTHS.iter().map(|&length| (history.fold(length, bits), history.fold(length, 11)));
        let folds = folds.collect();
        Indirect { tables: vec![vec![Entry::default(); 1 << bits]; LENGTHS.len()], folds, bits }
    }

    fn place(&self, table: usize, address: u64, history: &History) -> (usize, u16) {
        let hash = (address >> 1 ^ address >> (self.bits + 1)) as u32;
        if table == 0 {
            return ((hash as usize) & ((1 << self.bits) - 1), (address >> 2) as u16);
        }
        let (index, tag) = self.folds[table];
        let at = (hash ^ hash >> (table + 3) ^ history.folded(index)) as usize & ((1 << self.bits) - 1);
        (at, ((address >> 2) as u32 ^ address as u32 ^ history.folded(tag) << 1) as u16 & 0x0fff)
    }

    /// Predicts the target and learns the right one; 0 where nothing is known.
    pub fn see(&mut self, address: u64, target: u64, history: &History) -> u64 {
        let places: [(usize, u16); LENGTHS.len()] =
            std::array::from_fn(|table| self.place(table, address, history));
        let knows = |table: &usize| self.tables[*table][places[*table].0].tag == places[*table].1;
        let provider = (1..LENGTHS.len()).rev().find(knows).unwrap_or(0);
        let entry = &mut self.tables[provider][places[provider].0];
        let predicted = if entry.tag == places[provider].1 { entry.target } else { 0 };
        if predicted == target {
            entry.sure = (entry.sure + 1).min(3);
            return predicted;
        }
        if entry.sure > 0 && predicted != 0 {
            entry.sure -= 1;
        } else {
            *entry = Entry { tag: places[provider].1, sure: 0, target };
        }
        // A longer history may tell them apart; the first such table that is not sure of what it has learns.
        for (table, &(at, tag)) in self.tables.iter_mut().zip(&places).skip(provider + 1) {
            let entry = &mut table[at];
            if entry.sure == 0 {
                *entry = Entry { tag, sure: 0, target };
                break;
            }
            entry.sure -= 1;
        }
        predicted
    }
}
