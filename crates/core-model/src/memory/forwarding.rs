//! Stores that are not in the cache yet, and the loads that find their data there.

/// A store in flight.
#[derive(Clone, Copy, Debug, Default)]
pub struct Store {
    /// Where it writes.
    pub address: u64,
    /// Bytes.
    pub size: u32,
    /// When its address is known.
    pub addressed: u64,
    /// When its data are known.
    pub data: u64,
    /// When it is in the cache.
    pub drained: u64,
    /// A hash of the address as the instruction has it: registers, by who wrote them.
    pub expression: u64,
}

/// What a string instruction writes, from its lowest address on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretch {
    /// Where it begins.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// When the first of them are written.
    pub begin: u64,
    /// Bytes that are written in a cycle.
    pub rate: u64,
}

impl Stretch {
    /// When all is written that lies before an address.
    fn written(&self, end: u64) -> u64 {
        let bytes = end.saturating_sub(self.address).min(self.size);
        self.begin + bytes.div_ceil(self.rate.max(1))
    }

    fn overlaps(&self, address: u64, end: u64) -> bool {
        self.address < end && address < self.address.saturating_add(self.size)
    }
}

/// Where a load finds its data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Source {
    /// In the cache.
    Cache,
    /// In a store that has all of them.
    Store {
        /// When its address is known.
        addressed: u64,
        /// When its data are known.
        data: u64,
        /// A hash of its address as the instruction has it.
        expression: u64,
        /// It begins where the load does.
        is_aligned: bool,
    },
    /// Partly in a store: it has to be in the cache first.
    Blocked {
        /// When the store's address is known.
        addressed: u64,
        /// When the store is in the cache.
        drained: u64,
    },
}

/// Entries of the table of granules.
const GRANULES: usize = 1 << 12;
/// Stores that are remembered.
const STORES: usize = 1 << 10;
/// Bytes of a granule, as a shift.
const GRANULE: u32 = 3;
/// Steps back to older stores to the same granule.
const STEPS: usize = 8;
/// Stretches that are remembered.
const STRETCHES: usize = 8;

/// The stores in flight, by the granules of memory that they write.
#[derive(Debug)]
pub struct Forwarding {
    /// Granule and the number of the latest store to it.
    granules: Vec<(u64, u64)>,
    /// Stores, and for the first granule of each the one that wrote there before it.
    stores: Vec<(Store, u64)>,
    /// The next store's number; the first one's is 1.
    next: u64,
    /// The latest stretches, each with its number among stores.
    stretches: [(Stretch, u64); STRETCHES],
    /// Where the next one is noted.
    next_stretch: usize,
    /// When all of them are written.
    stretched: u64,
}

impl Default for Forwarding {
    fn default() -> Forwarding {
        Forwarding {
            granules: vec![(0, 0); GRANULES],
            stores: vec![(Store::default(), 0); STORES],
            next: 1,
            stretches: [(Stretch::default(), 0); STRETCHES],
            next_stretch: 0,
            stretched: 0,
        }
    }
}

fn slot(granule: u64) -> usize {
    ((granule ^ granule >> 12) as usize) % GRANULES
}

impl Forwarding {
    /// Notes a store, the youngest of all.
    #[inline]
    pub fn add(&mut self, store: Store) {
        let last = (store.address + u64::from(store.size.max(1)) - 1) >> GRANULE;
        let first = store.address >> GRANULE;
        let number = self.next;
        self.stores[number as usize % STORES] = (store, self.latest(first));
        self.next += 1;
        for granule in (first..=last).take(9) {
            self.granules[slot(granule)] = (granule, number);
        }
    }

    /// Notes what a string instruction writes, the youngest of all. Nobody forwards from it.
    pub fn add_stretch(&mut self, stretch: Stretch) {
        self.stretches[self.next_stretch] = (stretch, self.next);
        self.next += 1;
        self.next_stretch = (self.next_stretch + 1) % STRETCHES;
        self.stretched = self.stretched.max(stretch.written(u64::MAX));
    }

    #[inline]
    fn latest(&self, granule: u64) -> u64 {
        let (of, number) = self.granules[slot(granule)];
        if of == granule && number + STORES as u64 > self.next { number } else { 0 }
    }

    /// Where a load that is executed at `cycle`, the youngest of all, finds its data.
    #[inline]
    pub fn find(&self, address: u64, size: u32, cycle: u64) -> Source {
        let end = address + u64::from(size.max(1));
        let (first, last) = (address >> GRANULE, (end - 1) >> GRANULE);
        let mut youngest = 0;
        for granule in (first..=last).take(9) {
            youngest = youngest.max(self.youngest(granule, address, end));
        }
        if cycle < self.stretched
            && let Some(written) = self.stretch(address, end, youngest)
        {
            // Where it writes was known when it began, so that no load goes before it.
            return if written <= cycle {
                Source::Cache
            } else {
                Source::Blocked { addressed: 0, drained: written }
            };
        }
        if youngest == 0 {
            return Source::Cache;
        }
        let store = self.stores[youngest as usize % STORES].0;
        let Store { addressed, data, drained, expression, .. } = store;
        if drained <= cycle {
            Source::Cache
        } else if store.address <= address && end <= store.address + u64::from(store.size) {
            Source::Store { addressed, data, expression, is_aligned: store.address == address }
        } else {
            Source::Blocked { addressed, drained }
        }
    }

    /// When a load's data are written by the youngest string instruction that overlaps with it, if that is younger than
    /// this store.
    fn stretch(&self, address: u64, end: u64, than: u64) -> Option<u64> {
        let younger = self.stretches.iter().filter(|(_, number)| *number > than);
        let (stretch, _) = younger
            .filter(|(stretch, _)| stretch.overlaps(address, end))
            .max_by_key(|(_, number)| *number)?;
        Some(stretch.written(end))
    }

    /// The youngest store to a granule that overlaps with a load.
    #[inline]
    fn youngest(&self, granule: u64, address: u64, end: u64) -> u64 {
        let mut number = self.latest(granule);
        for _ in 0..STEPS {
            if number == 0 {
                break;
            }
            let (store, before) = self.stores[number as usize % STORES];
            if store.address < end && address < store.address + u64::from(store.size) {
                return number;
            }
            // Only for the granule that the store begins in is it known who wrote before.
            if store.address >> GRANULE != granule || before + STORES as u64 <= self.next {
                break;
            }
            number = before;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(address: u64, size: u32, at: u64) -> Store {
        Store { address, size, addressed: at, data: at + 1, drained: at + 100, ..Store::default() }
    }

    #[test]
    fn a_load_takes_what_the_youngest_store_has() {
        let mut stores = Forwarding::default();
        stores.add(store(0x1000, 8, 10));
        stores.add(store(0x1000, 8, 20));
        assert_eq!(
            stores.find(0x1004, 4, 30),
            Source::Store { addressed: 20, data: 21, expression: 0, is_aligned: false },
            "the younger one, within it"
        );
        assert_eq!(stores.find(0x1004, 4, 120), Source::Cache, "it is in the cache");
        assert_eq!(stores.find(0x1008, 4, 30), Source::Cache, "beside it");
    }

    #[test]
    fn parts_do_not_make_a_whole() {
        let mut stores = Forwarding::default();
        stores.add(store(0x1000, 4, 10));
        stores.add(store(0x1004, 4, 20));
        assert_eq!(stores.find(0x1000, 8, 30), Source::Blocked { addressed: 20, drained: 120 });
        assert_eq!(stores.find(0x0ffe, 8, 30), Source::Blocked { addressed: 20, drained: 120 });
    }

    #[test]
    fn neighbours_in_a_granule_are_told_apart() {
        let mut stores = Forwarding::default();
        for byte in 0..4 {
            stores.add(store(0x1000 + byte, 1, 10 * byte));
        }
        let expected = Source::Store { addressed: 10, data: 11, expression: 0, is_aligned: true };
        assert_eq!(stores.find(0x1001, 1, 50), expected);
    }

    #[test]
    fn a_vector_covers_its_granules() {
        let mut stores = Forwarding::default();
        stores.add(store(0x1000, 32, 10));
        let expected = Source::Store { addressed: 10, data: 11, expression: 0, is_aligned: false };
        assert_eq!(stores.find(0x1018, 8, 30), expected);
    }

    #[test]
    fn what_a_string_instruction_writes_comes_piece_by_piece() {
        let mut stores = Forwarding::default();
        stores.add(store(0x1100, 8, 10));
        stores.add_stretch(Stretch { address: 0x1000, size: 0x1000, begin: 100, rate: 64 });
        let until = |drained| Source::Blocked { addressed: 0, drained };
        assert_eq!(stores.find(0x1000, 8, 30), until(101));
        assert_eq!(stores.find(0x1100, 8, 30), until(105), "the store is older");
        assert_eq!(stores.find(0x1ffc, 8, 30), until(164), "beyond its end there is nothing to wait for");
        assert_eq!(stores.find(0x1000, 8, 101), Source::Cache, "the first line is written");
        assert_eq!(stores.find(0x2000, 8, 30), Source::Cache, "beside it");
        stores.add(store(0x1100, 8, 90));
        let younger = Source::Store { addressed: 90, data: 91, expression: 0, is_aligned: true };
        assert_eq!(stores.find(0x1100, 8, 30), younger);
        stores.add_stretch(Stretch { address: 0x1000, size: 0x1000, begin: 300, rate: 64 });
        assert_eq!(stores.find(0x1000, 8, 150), until(301), "the younger one counts");
    }
}
