//! Directions of conditional branches, by TAGE: a table of counters without history, and tagged tables for ever
//! longer histories, of which the longest that knows the branch is believed.
//!
//! After Seznec and Michaud, "A case for (partially) TAgged GEometric history length branch prediction" (2006),
//! and Seznec, "A new case for the TAGE branch predictor" (2011): geometric lengths, entries are allocated after
//! mispredictions in longer tables, useful counters guard them and age, and a counter decides whether a newly
//! allocated entry is believed.

use super::history::History;
use crate::chance::Chance;
use crate::processor::Tage;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    tag: u16,
    /// -4 to 3; 0 and above is taken.
    counter: i8,
    /// 0 to 3.
    useful: u8,
}

#[derive(Debug)]
struct Table {
    entries: Vec<Entry>,
    /// Hashes of the history: for the index, and two for the tag.
    folds: [usize; 3],
    bits: u32,
    tag_bits: u32,
}

impl Table {
    #[inline]
    fn place(&self, address: u64, history: &History) -> (usize, u16) {
        let hash = (address >> 1 ^ address >> (self.bits + 2)) as u32;
        let [index, tag, other] = self.folds.map(|fold| history.folded(fold));
        let at = (hash ^ index) as usize & ((1 << self.bits) - 1);
        let tag = ((address >> 1) as u32 ^ tag ^ other << 1) & ((1 << self.tag_bits) - 1);
        // An empty entry has tag 0 and must not be taken for one.
        (at, tag as u16 | 1 << 15)
    }
}

/// Branches between two agings of useful counters.
const AGING: u32 = 1 << 18;

/// The predictor.
#[derive(Debug)]
pub struct Direction {
    /// 0 to 3; 2 and above is taken.
    base: Vec<u8>,
    tables: Vec<Table>,
    /// Whether new entries are believed: 0 to 15, from 8 on they are not.
    alternate: u8,
    seen: u32,
    /// Picks between tables when entries are allocated.
    chance: Chance,
}

/// What the tables know of a branch.
#[derive(Clone, Copy, Debug)]
pub struct Prediction {
    /// Whether it is predicted to be taken.
    pub predicted: bool,
    /// Index and tag in each table, and the index in the one without history.
    places: [(usize, u16); Tage::MOST],
    base: usize,
    /// The table with the longest history that knows it, and the next one.
    provider: Option<usize>,
    other: Option<usize>,
    /// What these say.
    first: bool,
    second: bool,
    /// The first has not proved itself yet.
    is_new: bool,
}

impl Direction {
    /// Tables that know nothing.
    pub fn new(record: &Tage, history: &mut History) -> Direction {
        let count = record.tables;
        let ratio = f64::from(record.longest) / f64::from(record.shortest);
        let tables = (0..count).map(|table| {
            let exponent = if count > 1 { table as f64 / (count - 1) as f64 } else { 0.0 };
            let length = (f64::from(record.shortest) * ratio.powf(exponent)).round() as u32;
            let tag_bits = record.tag_bits;
            Table {
                entries: vec![Entry::default(); 1 << record.table_bits],
                folds: [
                    history.fold(length, record.table_bits),
                    history.fold(length, tag_bits),
                    history.fold(length, tag_bits - 1),
                ],
                bits: record.table_bits,
                tag_bits,
            }
        });
        let tables = tables.collect();
        Direction {
            base: vec![2; 1 << record.base_bits],
            tables,
            alternate: 8,
            seen: 0,
            chance: Chance::new(),
        }
    }

    /// Predicts a branch.
    pub fn look(&self, address: u64, history: &History) -> Prediction {
        let mut places = [(0, 0); Tage::MOST];
        for (place, table) in places.iter_mut().zip(&self.tables) {
            *place = table.place(address, history);
        }
        let mut knowing = (0..self.tables.len()).rev().filter(|&table| {
            let (at, tag) = places[table];
            self.tables[table].entries[at].tag == tag
        });
        let (provider, other) = (knowing.next(), knowing.next());
        let base = (address >> 1 ^ address >> 14) as usize & (self.base.len() - 1);
        let of = |table: Option<usize>| match table {
            Some(table) => self.tables[table].entries[places[table].0].counter >= 0,
            None => self.base[base] >= 2,
        };
        let (first, second) = (of(provider), of(other));
        let is_new = provider.is_some_and(|table| {
            let entry = self.tables[table].entries[places[table].0];
            entry.useful == 0 && matches!(entry.counter, -1 | 0)
        });
        let predicted = if is_new && self.alternate >= 8 { second } else { first };
        Prediction { predicted, places, provider, other, base, first, second, is_new }
    }

    /// Predicts a branch and learns what it did.
    pub fn see(&mut self, address: u64, taken: bool, history: &History) -> bool {
        let Prediction { predicted, places, provider, other, base, first, second, is_new } =
            self.look(address, history);
        if is_new && first != second {
            let step: i8 = if second == taken { 1 } else { -1 };
            self.alternate = self.alternate.saturating_add_signed(step).min(15);
        }
        match provider {
            Some(table) => {
                let entry = &mut self.tables[table].entries[places[table].0];
                entry.counter = (entry.counter + if taken { 1 } else { -1 }).clamp(-4, 3);
                if first != second {
                    let step: i8 = if first == taken { 1 } else { -1 };
                    entry.useful = entry.useful.saturating_add_signed(step).min(3);
                }
                // What has not proved itself leaves the learning to who answers instead.
                if is_new && other.is_none() {
                    self.learn_base(base, taken);
                }
            }
            None => self.learn_base(base, taken),
        }
        if predicted != taken {
            self.allocate(provider.map_or(0, |table| table + 1), &places, taken);
        }
        self.age();
        predicted
    }

    fn learn_base(&mut self, base: usize, taken: bool) {
        let step: i8 = if taken { 1 } else { -1 };
        self.base[base] = self.base[base].saturating_add_signed(step).min(3);
    }

    /// Gives the branch an entry in a longer table.
    fn allocate(&mut self, from: usize, places: &[(usize, u16); Tage::MOST], taken: bool) {
        // Skipping a table now and then keeps branches from chasing each other.
        let skip = usize::from(self.chance.next() & 3 == 0 && from + 1 < self.tables.len());
        let mut allocated = 0;
        for (table, &(at, tag)) in self.tables.iter_mut().zip(places).skip(from + skip) {
            let entry = &mut table.entries[at];
            if entry.useful == 0 {
                *entry = Entry { tag, counter: if taken { 0 } else { -1 }, useful: 0 };
                allocated += 1;
                if allocated == 2 {
                    return;
                }
            } else if allocated == 0 {
                entry.useful -= 1;
            }
        }
    }

    fn age(&mut self) {
        self.seen += 1;
        if self.seen == AGING {
            self.seen = 0;
            let entries = self.tables.iter_mut().flat_map(|table| &mut table.entries);
            entries.for_each(|entry| entry.useful /= 2);
        }
    }
}
