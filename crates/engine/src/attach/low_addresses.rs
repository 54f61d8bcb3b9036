//! Where in a program that runs the runtime is to have the addresses that it needs below 2 GiB: programs map something
//! there themselves, as Java 25 reserves a gigabyte for its classes at a random place below 4 GiB.

use std::ops::Range;
use timewise_abi::RESERVED_LOW;
use timewise_target::maps::Mapped;

/// Where addresses end that 32 bits reach, as the processor extends their sign.
const END: u64 = 1 << 31;

/// Addresses below are left to the program: what is linked at a fixed address lies there.
const LOWEST: u64 = 0x1000_0000;

/// How far a heap is to find room to grow.
const ROOM_FOR_HEAP: u64 = 256 << 20;

/// Where they may begin in a program that has mapped this, in order: where they always do if nothing is there, else as
/// high up as there is room.
pub fn find(mapped: &[Mapped]) -> Option<u32> {
    const SIZE: u64 = RESERVED_LOW.end - RESERVED_LOW.start;
    let is_free = |own: &Range<u64>| !mapped.iter().any(|m| m.start < own.end && own.start < m.end);
    if is_free(&RESERVED_LOW) {
        return Some(RESERVED_LOW.start as u32);
    }
    let mut end = END;
    let from_above = mapped.iter().rev().filter(|mapped| mapped.start < END);
    for below in from_above.map(Some).chain([None]) {
        let start = below.map_or(LOWEST, |below| LOWEST.max(below.end + room_behind(below)));
        if start + SIZE <= end {
            return Some((end - SIZE) as u32);
        }
        end = below.map_or(end, |below| end.min(below.start));
    }
    None
}

/// How much of what follows a mapping is to stay free.
fn room_behind(mapped: &Mapped) -> u64 {
    if mapped.path == b"[heap]" { ROOM_FOR_HEAP } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = RESERVED_LOW.end - RESERVED_LOW.start;

    fn found(mapped: &[(Range<u64>, &str)]) -> Option<u64> {
        let mapped: Vec<Mapped> = mapped
            .iter()
            .map(|(Range { start, end }, path)| Mapped {
                start: *start,
                end: *end,
                file_offset: 0,
                device: 0,
                inode: 0,
                path: path.as_bytes().into(),
            })
            .collect();
        find(&mapped).map(u64::from)
    }

    #[test]
    fn they_lie_where_they_always_do_unless_something_is_there() {
        const ELSEWHERE: Range<u64> = 0x5555_0000_0000..0x5555_0001_0000;
        assert_eq!(found(&[]), Some(RESERVED_LOW.start));
        let beside = [
            (0x40_0000..0x41_0000, "/bin/a"),
            (RESERVED_LOW.start - 0x1000..RESERVED_LOW.start, "[heap]"),
            (RESERVED_LOW.end..END, ""),
        ];
        assert_eq!(found(&beside), Some(RESERVED_LOW.start));
        let first = RESERVED_LOW.start..RESERVED_LOW.start + 0x1000;
        const VSYSCALL: Range<u64> = 0xffff_ffff_ff60_0000..0xffff_ffff_ff60_1000;
        assert_eq!(found(&[(first.clone(), ""), (ELSEWHERE, ""), (VSYSCALL, "")]), Some(END - SIZE));
        let last = RESERVED_LOW.end - 0x1000..END;
        assert_eq!(found(&[(last.clone(), ""), (ELSEWHERE, "")]), Some(last.start - SIZE));
        assert_eq!(found(&[(first.clone(), ""), (last.clone(), "")]), Some(first.start - SIZE));
        let just = [(0x6000_0000..last.start - SIZE, ""), (last.clone(), "")];
        assert_eq!(found(&just), Some(just[0].0.end));
        let too_little = [(0x6000_0000..last.start - SIZE + 0x1000, ""), (last.clone(), "")];
        assert_eq!(found(&too_little), Some(0x6000_0000 - SIZE));
        let beyond = [(0x600d_0000..0xa000_0000, ""), (ELSEWHERE, ""), (VSYSCALL, "")];
        assert_eq!(found(&beyond), Some(0x600d_0000 - SIZE));
    }

    #[test]
    fn a_heap_keeps_room_and_so_does_what_is_linked_below_all() {
        let heap =
            |end| [(0x40_0000..0x41_0000, "/bin/a"), (0x200_0000..end, "[heap]"), (0x7000_0000..END, "")];
        assert_eq!(found(&heap(0x300_0000)), Some(0x7000_0000 - SIZE));
        assert_eq!(found(&heap(0x7000_0000 - SIZE - ROOM_FOR_HEAP)), Some(0x7000_0000 - SIZE));
        assert_eq!(found(&heap(0x7000_0000 - SIZE - ROOM_FOR_HEAP + 0x1000)), None);
        assert_eq!(found(&[(LOWEST + SIZE..END, "")]), Some(LOWEST));
        assert_eq!(found(&[(LOWEST + SIZE - 0x1000..END, "")]), None);
        assert_eq!(found(&[(0x1_0000..END, "")]), None);
    }
}
