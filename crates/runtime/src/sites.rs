//! Indirect branches, and the tables in which they find their targets.
//!
//! Targets that share an entry form a chain, so a table is to have few of them. Some branches go to hundreds of thousands
//! of places, as the return of a function that everything calls while a large program starts. So a table that has enough
//! takes no further branches, and one of its branches that finds yet another target is translated anew, for another table.
//! What it found before it finds there again as it executes it: each time that it moves, it moves to a table that takes
//! twice as much, so that it comes to rest wherever all of its targets are in use.

use crate::cache;
use crate::entry;
use crate::indirect::{ENTRIES, table_number};
use crate::retire;
use crate::state::{AddressHasher, Process};
use crate::sys::memory::provide;
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use core::ops::Index;
use hashbrown::HashMap;
use timewise_abi::Failure;

/// How often a branch may move: to where a table takes all that there can be.
const MOVES: usize = 8;

/// Targets that a table takes whose branches never moved. With fewer, programs of middling size take more memory for code
/// that is translated anew.
const MOST: u32 = 4 * ENTRIES;

/// Tables for which there is memory when the kernel is not to be asked any more.
const IN_STORE: u32 = 8;

/// An indirect jump, indirect call or return.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Block that it ends.
    pub from: u32,
    /// An [`timewise_abi::log::edge_kind`].
    pub kind: u16,
}

#[derive(Default, Debug)]
struct Table {
    sites: Vec<Site>,
    /// How many targets its entries were given.
    targets: u32,
    /// How many it takes.
    most: u32,
}

impl Table {
    fn has_room(&self) -> bool {
        self.targets < self.most && (self.sites.len() as u32) < ENTRIES
    }
}

/// Sites by number: each table has room for [`ENTRIES`] of them.
#[derive(Default, Debug)]
pub struct Sites {
    tables: Vec<Table>,
    /// For how many tables there is memory.
    mapped: u32,
    /// Whether there can be no more tables.
    is_full: bool,
    /// The table for branches that are translated, by how often they moved.
    open: [Option<u32>; MOVES + 1],
    /// Branches that moved, by the address behind them, and how often.
    moved: HashMap<u64, u8, BuildHasherDefault<AddressHasher>>,
}

impl Sites {
    /// A number for the branch before the address `next`, and the number of its table, which is made if need be.
    ///
    /// # Errors
    /// [`Failure::CacheFull`] if there is no room for a table below 2 GiB.
    pub fn add(&mut self, next: u64, site: Site) -> Result<(u32, u32), Failure> {
        let moves = self.moved.get(&next).map_or(0, |&moves| usize::from(moves));
        let open = self.open[moves].filter(|&open| self.tables[open as usize].has_room());
        let number = match open {
            Some(open) => open,
            None => self.make(MOST << moves)?,
        };
        self.open[moves] = Some(number);
        let sites = &mut self.tables[number as usize].sites;
        sites.push(site);
        Ok((number * ENTRIES + sites.len() as u32 - 1, number))
    }

    /// A table that takes so many targets; when there can be no more tables, the one with the fewest of them.
    fn make(&mut self, most: u32) -> Result<u32, Failure> {
        let number = self.tables.len() as u32;
        self.is_full = !self.map_until(number + 1);
        if self.is_full {
            let with_room = (0..number).filter(|&n| (self.tables[n as usize].sites.len() as u32) < ENTRIES);
            return with_room.min_by_key(|&n| self.tables[n as usize].targets).ok_or(Failure::CacheFull);
        }
        let address = u64::from(entry::table_address(number));
        for index in 0..u64::from(ENTRIES) {
            cache::set_entry(address + 8 * index, entry::miss_routine(number));
        }
        self.tables.push(Table { most, ..Table::default() });
        Ok(number)
    }

    /// Has memory for so many tables: whether there is.
    fn map_until(&mut self, count: u32) -> bool {
        while self.mapped < count.min(entry::MAX_TABLES) {
            let address = entry::table_address(self.mapped).into();
            // SAFETY: reserved before anything was translated.
            if unsafe { provide(address, entry::TABLE_SIZE.into(), false) }.is_err() {
                return false;
            }
            self.mapped += 1;
        }
        self.mapped >= count
    }

    /// From now on the kernel may refuse memory.
    pub fn keep_in_store(&mut self) {
        self.map_until(self.tables.len() as u32 + IN_STORE);
    }

    /// A table's entry was given another target.
    pub fn add_target(&mut self, table: u32) {
        self.tables[table as usize].targets += 1;
    }

    /// The last site that ends a block.
    pub fn of_block(&self, block: u32) -> Option<Site> {
        let sites = self.tables.iter().rev().flat_map(|table| table.sites.iter().rev());
        sites.copied().find(|site| site.from == block)
    }

    /// Sites beyond so many of each table, with their numbers.
    pub fn beyond<'a>(&'a self, read: &'a [usize]) -> impl Iterator<Item = (u32, Site)> + 'a {
        self.tables.iter().zip(0..).flat_map(move |(table, number)| {
            let first = read.get(number as usize).copied().unwrap_or(0);
            table
                .sites
                .iter()
                .zip(0..)
                .skip(first)
                .map(move |(&site, at): (_, u32)| (number * ENTRIES + at, site))
        })
    }

    /// How many sites each table has.
    pub fn counts(&self) -> impl Iterator<Item = usize> {
        self.tables.iter().map(|table| table.sites.len())
    }
}

impl Index<u32> for Sites {
    type Output = Site;

    fn index(&self, number: u32) -> &Site {
        &self.tables[table_number(number) as usize].sites[(number % ENTRIES) as usize]
    }
}

/// The branch at the end of block `from` found another target: if its table has enough of them, it is translated anew
/// when control next comes there.
pub fn relieve(process: &mut Process, table: u32, from: u32) {
    let Sites { tables, moved, is_full, .. } = &mut process.sites;
    let Table { targets, most, .. } = tables[table as usize];
    let block = process.blocks[from as usize];
    if targets <= most || *is_full || !process.fragments[block.fragment as usize].live {
        return;
    }
    let moves = moved.entry(block.end()).or_default();
    *moves = (*moves + 1).min(MOVES as u8);
    retire::discard(process, block.fragment);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_has_enough_takes_no_further_branches_and_one_that_moved_finds_more_room() {
        crate::sys::memory::reserve_at(entry::low()).unwrap();
        let mut sites = Sites::default();
        let site = |from| Site { from, kind: 1 };
        assert_eq!(sites.add(0x1000, site(7)), Ok((0, 0)));
        assert_eq!(sites.add(0x2000, site(8)), Ok((1, 0)));
        let give = |sites: &mut Sites, table, count| (0..count).for_each(|_| sites.add_target(table));
        give(&mut sites, 0, MOST);
        assert_eq!(sites.add(0x3000, site(9)), Ok((ENTRIES, 1)));
        sites.moved.insert(0x1000, 1);
        assert_eq!(sites.add(0x1000, site(10)), Ok((2 * ENTRIES, 2)));
        give(&mut sites, 2, 2 * MOST - 1);
        assert_eq!(sites.add(0x1000, site(11)), Ok((2 * ENTRIES + 1, 2)));
        give(&mut sites, 2, 1);
        assert_eq!(sites.add(0x1000, site(12)), Ok((3 * ENTRIES, 3)));
        assert_eq!(sites.add(0x4000, site(13)), Ok((ENTRIES + 1, 1)));
        assert_eq!(sites[2 * ENTRIES + 1].from, 11);
        let beyond: Vec<(u32, u32)> =
            sites.beyond(&[1, 2]).map(|(number, site)| (number, site.from)).collect();
        assert_eq!(beyond, [(1, 8), (2 * ENTRIES, 10), (2 * ENTRIES + 1, 11), (3 * ENTRIES, 12)]);
        assert_eq!(sites.of_block(8).map(|site| site.from), Some(8));
    }

    #[test]
    fn when_there_can_be_no_more_tables_the_one_with_the_fewest_targets_takes_all() {
        let full = Table { targets: ENTRIES, most: ENTRIES, ..Table::default() };
        let mut sites = Sites { mapped: entry::MAX_TABLES, ..Sites::default() };
        sites.tables.resize_with(entry::MAX_TABLES as usize, || Table { sites: Vec::new(), ..full });
        sites.tables[5].targets = ENTRIES - 1;
        sites.tables[5].most = 1;
        assert_eq!(sites.add(0x1000, Site { from: 1, kind: 1 }), Ok((5 * ENTRIES, 5)));
    }
}
