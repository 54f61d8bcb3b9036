//! The executable memory of a process at a moment.

use std::collections::BTreeMap;
use timewise_profile::{ModuleId, Offset};

/// The executable mappings of one process, none of which overlap.
#[derive(Clone, Debug, Default)]
pub struct AddressSpace {
    by_start: BTreeMap<u64, Mapping>,
}

/// One mapping of a module's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Address after the last byte.
    pub end: u64,
    /// Whose code it is.
    pub module: ModuleId,
    /// What to subtract from an address for the offset in the module, modulo 2⁶⁴.
    pub bias: u64,
}

impl AddressSpace {
    /// Removes what is mapped from `start` up to `end`.
    pub fn unmap(&mut self, start: u64, end: u64) {
        let reaching = self.by_start.range(..end).next_back().map(|(&at, &mapping)| (at, mapping));
        if let Some((_, last)) = reaching.filter(|(_, mapping)| mapping.end > end) {
            self.by_start.insert(end, last);
        }
        while let Some((&at, _)) = self.by_start.range(start..end).next() {
            self.by_start.remove(&at);
        }
        if let Some((_, before)) = self.by_start.range_mut(..start).next_back() {
            before.end = before.end.min(start);
        }
    }

    /// Adds a mapping from `start`; what it covers of older ones is gone, as in the process.
    pub fn map(&mut self, start: u64, mapping: Mapping) {
        self.unmap(start, mapping.end);
        self.by_start.insert(start, mapping);
    }

    /// The last mapping that holds or touches any byte from `start` up to and including `end`.
    pub fn touching(&self, start: u64, end: u64) -> Option<Mapping> {
        let (_, &last) = self.by_start.range(..=end).next_back()?;
        (last.end >= start).then_some(last)
    }

    /// Module and offset of an address; `None` outside of all mappings.
    pub fn find(&self, address: u64) -> Option<(ModuleId, Offset)> {
        let (_, mapping) = self.by_start.range(..=address).next_back()?;
        (address < mapping.end).then(|| (mapping.module, Offset(address.wrapping_sub(mapping.bias))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte must belong to the mapping that came last over it, if it was not unmapped since.
    #[test]
    fn agrees_with_a_table_of_single_bytes() {
        let mut seed = 1_u64;
        let mut random = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % limit
        };
        for _ in 0..300 {
            let mut space = AddressSpace::default();
            let mut table = [None; 90];
            for module in 0..14 {
                let start = random(60);
                let end = start + 1 + random(20);
                let mapped = random(3) > 0;
                match mapped {
                    true => space.map(start, Mapping { end, module: ModuleId(module), bias: start }),
                    false => space.unmap(start, end),
                }
                for address in start..end {
                    let here = (ModuleId(module), Offset(address - start));
                    table[address as usize] = mapped.then_some(here);
                }
            }
            for (address, expected) in table.iter().enumerate() {
                assert_eq!(space.find(address as u64), *expected, "at {address}");
            }
        }
    }
}
