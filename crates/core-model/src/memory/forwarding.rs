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

/// The stores in flight, by the granules of memory that they write.
#[derive(Debug)]
pub struct Forwarding {
    /// Granule and the number of the latest store to it.
    granules: Vec<(u64, u64)>,
    /// Stores, and for the first granule of each the one that wrote there before it.
    stores: Vec<(Store, u64)>,
    /// The next store's number; the first one's is 1.
    next: u64,
}

impl Default for Forwarding {
    fn default() -> Forwarding {
        Forwarding { granules: vec![(0, 0); GRANULES], stores: vec![(Store::default(), 0); STORES], next: 1 }
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
        // What is larger than a vector is written by string instructions, which nobody forwards from.
        for granule in (first..=last).take(9) {
            self.granules[slot(granule)] = (granule, number);
        }
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
        if youngest == 0 {
            return Source::Cache;
        }
        let store = self.stores[youngest as usize % STORES].0;
        let Store { addressed, data, drained, expression, .. } = store;
        if drained <= cycle {
            Source::Cache
        } else if store.address <= address && end <= store.address + u64::from(store.size) {
            Source::Store { addressed, data, expression }
        } else {
            Source::Blocked { addressed, drained }
        }
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
            Source::Store { addressed: 20, data: 21, expression: 0 },
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
        assert_eq!(stores.find(0x1001, 1, 50), Source::Store { addressed: 10, data: 11, expression: 0 });
    }

    #[test]
    fn a_vector_covers_its_granules() {
        let mut stores = Forwarding::default();
        stores.add(store(0x1000, 32, 10));
        assert_eq!(stores.find(0x1018, 8, 30), Source::Store { addressed: 10, data: 11, expression: 0 });
    }
}
