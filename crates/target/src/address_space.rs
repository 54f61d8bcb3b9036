//! The executable memory of a process at a moment: from an address to a place in a module.

use std::collections::BTreeMap;
use timewise_profile::{CodeVersion, ModuleId, ModuleKind, Offset, Place};

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

    /// Whether all of a mapping from `start` belongs to the same one of the same module already.
    pub fn holds(&self, start: u64, mapping: &Mapping) -> bool {
        let there = self.by_start.range(..=start).next_back().map(|(_, there)| there);
        there.is_some_and(|there| {
            there.end >= mapping.end && (there.module, there.bias) == (mapping.module, mapping.bias)
        })
    }

    /// The last mapping that holds or touches any byte from `start` up to and including `end`.
    pub fn touching(&self, start: u64, end: u64) -> Option<Mapping> {
        let (_, &last) = self.by_start.range(..=end).next_back()?;
        (last.end >= start).then_some(last)
    }

    /// The addresses at which an offset lies in the module of some mapping.
    pub fn addresses_of(&self, offset: Offset) -> impl Iterator<Item = u64> {
        self.by_start.iter().filter_map(move |(&start, mapping)| {
            let address = offset.0.wrapping_add(mapping.bias);
            (start..mapping.end).contains(&address).then_some(address)
        })
    }

    /// The place of an address, in the first version of the code there; `None` outside of all mappings.
    pub fn place(&self, address: u64) -> Option<Place> {
        let (_, mapping) = self.by_start.range(..=address).next_back()?;
        (address < mapping.end).then(|| Place {
            module: mapping.module,
            version: CodeVersion::default(),
            offset: Offset(address.wrapping_sub(mapping.bias)),
        })
    }
}

/// What the name of a mapping, as `/proc/PID/maps` or a record of the kernel has it, says of its kind.
pub fn kind_of(name: &[u8]) -> ModuleKind {
    match name {
        b"[vdso]" => ModuleKind::Vdso,
        b"" | b"//anon" | b"[heap]" | b"[stack]" | b"//toolong" => ModuleKind::Jit,
        _ if name.starts_with(b"[anon") || name.starts_with(b"/memfd:") => ModuleKind::Jit,
        _ if name.starts_with(b"/dev/zero") || name.starts_with(b"/SYSV") => ModuleKind::Jit,
        _ if name.starts_with(b"/") => ModuleKind::File,
        _ => ModuleKind::Unknown,
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
                let found = space.place(address as u64).map(|place| (place.module, place.offset));
                assert_eq!(found, *expected, "at {address}");
            }
        }
    }

    #[test]
    fn neighbours_touch() {
        let mut space = AddressSpace::default();
        for (module, (start, end)) in (0..).zip([(10, 20), (30, 40)]) {
            space.map(start, Mapping { end, module: ModuleId(module), bias: start });
        }
        let touching = |start, end| space.touching(start, end).map(|mapping| mapping.module.0);
        assert_eq!([touching(20, 25), touching(25, 30), touching(21, 29)], [Some(0), Some(1), None]);
    }
}
