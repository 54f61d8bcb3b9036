//! From what was recorded of an access to the memory that was accessed.

use timewise_isa::memory::{self, Extent, Gathered, Mask};

/// Memory that an instruction accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The lowest address.
    pub address: u64,
    /// Bytes, of all repetitions of a string instruction together; 0 where the processor's state decides
    /// (`xsave` and its kin).
    pub size: u64,
    /// Bytes at a time.
    pub unit: u16,
    /// It is read.
    pub reads: bool,
    /// It is written.
    pub writes: bool,
}

/// Adds what an access of an instruction comes to, by what was `recorded` of it; `after` is what the registers
/// of string instructions came to, if nothing was recorded after it (`rsi`, `rdi`).
pub fn resolve(access: &memory::Access, recorded: &[u8], after: Option<[u64; 2]>, into: &mut Vec<Access>) {
    let unit = access.size;
    let (reads, writes) = (access.reads, access.writes);
    let mut add = |address, size| into.push(Access { address, size, unit, reads, writes });
    if let Some(address) = access.fixed() {
        add(address, unit.into());
        return;
    }
    match access.extent {
        Extent::Once | Extent::ByTable => add(word(recorded, 0), unit.into()),
        Extent::Repeated => {
            let is_source = access.base == Some(6);
            let known = after.map_or(word(recorded, 8), |[source, to]| if is_source { source } else { to });
            let [from, to] =
                [word(recorded, 0), known].map(|a| if access.narrow { a & 0xffff_ffff } else { a });
            let size = to.abs_diff(from);
            if size > 0 {
                // Downwards, the register points to the last unit before it moves on.
                add(if to > from { from } else { to + u64::from(unit) }, size);
            }
        }
        Extent::Gathered(gathered) => {
            let base = word(recorded, 0);
            let indexes = &recorded[8..];
            for element in (0..gathered.elements.into()).filter(|&n| is_selected(&gathered, indexes, n)) {
                add(base.wrapping_add(index(&gathered, indexes, element) << gathered.scale), unit.into());
            }
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// An index, with its sign.
fn index(gathered: &Gathered, indexes: &[u8], element: usize) -> u64 {
    match gathered.index_bytes {
        4 => {
            let bytes = indexes.get(4 * element..4 * element + 4).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, |bytes| i64::from(i32::from_le_bytes(bytes)) as u64)
        }
        _ => word(indexes, 8 * element),
    }
}

fn is_selected(gathered: &Gathered, indexes: &[u8], element: usize) -> bool {
    let mask = indexes.get(gathered.bytes.into()..).unwrap_or_default();
    match gathered.mask {
        Mask::Vector { element: bytes, .. } => {
            let last = usize::from(bytes) * (element + 1) - 1;
            mask.get(last).is_some_and(|byte| byte & 0x80 != 0)
        }
        Mask::Bits { .. } => mask.get(element / 8).is_some_and(|byte| byte >> (element % 8) & 1 == 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(code: &[u8], recorded: &[u8]) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        let mut rest = recorded;
        for access in memory::accesses(code, 0).iter() {
            let (own, others) = rest.split_at(access.recorded() as usize);
            resolve(access, own, None, &mut all);
            rest = others;
        }
        assert!(rest.is_empty());
        all.into_iter().map(|access| (access.address, access.size)).collect()
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn strings_go_both_ways() {
        // rep movsq
        let up = words(&[0x1000, 0x1018, 0x2000, 0x2018]);
        assert_eq!(resolved(&[0xf3, 0x48, 0xa5], &up), [(0x1000, 24), (0x2000, 24)]);
        let down = words(&[0x1010, 0xff8, 0x2010, 0x1ff8]);
        assert_eq!(resolved(&[0xf3, 0x48, 0xa5], &down), [(0x1000, 24), (0x2000, 24)]);
        assert!(resolved(&[0xf3, 0x48, 0xa5], &words(&[1, 1, 2, 2])).is_empty());
    }

    #[test]
    fn gathers_access_what_the_mask_selects() {
        // vpgatherdd xmm0,[rax+xmm1*4],xmm2
        let mut recorded = words(&[0x1000]);
        recorded.extend([1i32, -1, 2, 3].into_iter().flat_map(i32::to_le_bytes));
        recorded.extend([-1i32, -1, 0, -1].into_iter().flat_map(i32::to_le_bytes));
        let code = [0xc4, 0xe2, 0x69, 0x90, 0x04, 0x88];
        assert_eq!(resolved(&code, &recorded), [(0x1004, 4), (0xffc, 4), (0x100c, 4)]);
    }
}
