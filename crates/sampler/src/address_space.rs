//! What executable memory a process has at a moment: from an address to a place in a module.

use std::collections::BTreeMap;
use timewise_profile::{CodeVersion, ModuleId, Offset, Place};

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
    /// Adds a mapping; what it covers of older ones is gone, as in the process.
    pub fn map(&mut self, start: u64, mapping: Mapping) {
        let before = self.by_start.range(..start).next_back().map(|(&at, &older)| (at, older));
        if let Some((at, older)) = before.filter(|(_, older)| older.end > start) {
            self.by_start.insert(at, Mapping { end: start, ..older });
            if older.end > mapping.end {
                self.by_start.insert(mapping.end, older);
            }
        }
        while let Some((&at, &older)) = self.by_start.range(start..mapping.end).next() {
            self.by_start.remove(&at);
            if older.end > mapping.end {
                self.by_start.insert(mapping.end, older);
            }
        }
        self.by_start.insert(start, mapping);
    }

    /// The mapping that holds or touches any byte from `start` up to and including `end`.
    pub fn touching(&self, start: u64, end: u64) -> Option<(u64, Mapping)> {
        let last = self.by_start.range(..=end).next_back().map(|(&at, &mapping)| (at, mapping))?;
        (last.1.end >= start).then_some(last)
    }

    /// The place of an address; `None` outside of all mappings.
    pub fn place(&self, address: u64) -> Option<Place> {
        let (_, mapping) = self.by_start.range(..=address).next_back()?;
        (address < mapping.end).then(|| Place {
            module: mapping.module,
            version: CodeVersion::default(),
            offset: Offset(address.wrapping_sub(mapping.bias)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, module: u32) -> (u64, Mapping) {
        (start, Mapping { end, module: ModuleId(module), bias: start })
    }

    fn space(mappings: &[(u64, Mapping)]) -> AddressSpace {
        let mut space = AddressSpace::default();
        for &(start, mapping) in mappings {
            space.map(start, mapping);
        }
        space
    }

    /// Every byte must belong to the mapping that came last over it.
    #[test]
    fn later_mappings_hide_earlier_ones_byte_by_byte() {
        let mut seed = 1_u64;
        let mut random = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % limit
        };
        for _ in 0..200 {
            let mappings: Vec<_> = (0..12)
                .map(|module| {
                    let start = random(60);
                    mapping(start, start + 1 + random(20), module)
                })
                .collect();
            let space = space(&mappings);
            for address in 0..90 {
                let last = mappings.iter().rev().find(|(start, m)| (*start..m.end).contains(&address));
                let expected = last.map(|(start, m)| (m.module, Offset(address - start)));
                assert_eq!(space.place(address).map(|p| (p.module, p.offset)), expected, "{mappings:?}");
            }
        }
    }

    #[test]
    fn neighbours_touch() {
        let space = space(&[mapping(10, 20, 0), mapping(30, 40, 1)]);
        assert_eq!(space.touching(20, 25).map(|(start, _)| start), Some(10));
        assert_eq!(space.touching(25, 30).map(|(start, _)| start), Some(30));
        assert_eq!(space.touching(21, 29), None);
    }
}
