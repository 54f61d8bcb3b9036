//! Where translated code lies: regions near the code that it comes from, so that operands relative to
//! the program counter stay in reach.

use crate::emit::{BRANCH, Code, JUMP, RUN_ON};
use crate::entry;
use crate::sys::Errno;
use crate::sys::memory::{leave_out_of_dumps, map_at, prefer_large_pages};
use alloc::vec::Vec;
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};
use timewise_abi::{Failure, LARGE_PAGE, RESERVED_LOW};

/// Bytes reserved for a region; memory is used only as code is put there.
const REGION_SIZE: u64 = 128 << 20;

/// Addresses below are left to the program.
const LOWEST: u64 = 0x1000_0000;

const TWO_GIB: u64 = 1 << 31;

/// Most regions that are out of reach of the code in them.
const FAR_REGIONS: u64 = 64;

/// How far from the code a region may lie. Its data may lie further on by the rest of 2 GiB.
const REACH: u64 = 3 << 29;

/// What a stretch of translated code is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A unit, by number.
    Unit(u32),
    /// A counter on the way to a block.
    EdgeStub {
        /// The counter.
        counter: u32,
        /// The block that it leads to.
        to: u32,
    },
    /// The check that an indirect branch goes where the table said.
    IndirectStub {
        /// The site of the branch.
        site: u32,
        /// The block that it leads to.
        to: u32,
    },
}

/// A stretch of translated code.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Its first byte.
    pub address: u64,
    /// What it is.
    pub kind: Kind,
}

/// A range of addresses for translated code: hot code from below, cold stubs from above.
#[derive(Debug)]
pub struct Region {
    start: u64,
    end: u64,
    hot: u64,
    cold: u64,
    /// By how far behind `start` they begin.
    pieces: Vec<(u32, Kind)>,
    /// Set when the program took part of the room: nothing more is put here.
    closed: bool,
}

/// All regions of a process.
#[derive(Default, Debug)]
pub struct Cache {
    regions: Vec<Region>,
    /// What the program took of their room.
    given_up: Vec<Range<u64>>,
}

impl Cache {
    /// The region for code from around `address`, with room for `size` more bytes: its number. Out of reach
    /// of `address` if there is no room nearer.
    ///
    /// # Errors
    /// [`Failure::CacheFull`] if no address space is left at all, [`Failure::WritableCodeDenied`].
    pub fn region_for(&mut self, address: u64, size: u64) -> Result<usize, Failure> {
        let fits = |r: &Region| r.reaches(address) && r.has_room(size);
        if let Some(found) = self.regions.iter().rposition(fits) {
            return Ok(found);
        }
        let near =
            places_near(address).find_map(|start| Region::at(start).ok().filter(|r| r.reaches(address)));
        if let Some(region) = near {
            self.regions.push(region);
            return Ok(self.regions.len() - 1);
        }
        if let Some(found) = self.regions.iter().rposition(|r| r.has_room(size)) {
            return Ok(found);
        }
        let mut failure = Failure::CacheFull;
        for far in 1..=FAR_REGIONS {
            match Region::at(entry::HIGH.end - far * REGION_SIZE) {
                Ok(region) => {
                    self.regions.push(region);
                    return Ok(self.regions.len() - 1);
                }
                // What lies elsewhere may be somebody else's.
                Err(error) if failure == Failure::CacheFull => failure = why_full(error),
                Err(_) => {}
            }
        }
        Err(failure)
    }

    /// Addresses taken for regions, bytes.
    pub fn reserved(&self) -> u64 {
        self.regions.iter().map(|r| r.end - r.start).sum()
    }

    /// A region by number.
    pub fn region(&mut self, number: usize) -> &mut Region {
        &mut self.regions[number]
    }

    /// The number of the region that holds translated code at `address`.
    pub fn region_of(&self, address: u64) -> Option<usize> {
        self.regions.iter().position(|r| (r.start..r.end).contains(&address))
    }

    /// The hot piece that holds `address`.
    pub fn piece_at(&self, address: u64) -> Option<Piece> {
        let region = &self.regions[self.region_of(address)?];
        if address >= region.hot {
            return None;
        }
        let distance = (address - region.start) as u32;
        let after = region.pieces.partition_point(|&(start, _)| start <= distance);
        let (start, kind) = *region.pieces.get(after.checked_sub(1)?)?;
        Some(Piece { address: region.start + u64::from(start), kind })
    }

    /// Up to `count` bytes of translated code at `address`; none outside the cache.
    pub fn bytes_at(&self, address: u64, count: usize) -> &[u8] {
        let Some(region) = self.region_of(address) else { return &[] };
        let count = count.min((self.regions[region].end - address) as usize);
        // SAFETY: within a region, whose memory stays mapped; only displacements change in place.
        unsafe { core::slice::from_raw_parts(address as *const u8, count) }
    }

    /// Whether some of `range` is the runtime's own, or reserved for it.
    pub fn owns(&self, range: Range<u64>) -> bool {
        self.own().any(|own| own.start < range.end && range.start < own.end)
    }

    /// What of `range` is not the runtime's own, in order.
    pub fn others_in(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut own: Vec<Range<u64>> = self.own().collect();
        own.sort_unstable_by_key(|own| own.start);
        let mut others = Vec::new();
        let mut at = range.start;
        for own in own {
            if own.start > at && at < range.end {
                others.push(at..own.start.min(range.end));
            }
            at = at.max(own.end);
        }
        if at < range.end {
            others.push(at..range.end);
        }
        others
    }

    /// What lies in the regions but for what the program took of their room.
    pub fn kept(&self) -> Vec<Range<u64>> {
        let mut kept: Vec<Range<u64>> = self.regions.iter().map(|r| r.start..r.end).collect();
        for taken in &self.given_up {
            let halves =
                |own: Range<u64>| [own.start..own.end.min(taken.start), own.start.max(taken.end)..own.end];
            kept = kept.into_iter().flat_map(halves).filter(|part| part.start < part.end).collect();
        }
        kept
    }

    fn own(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let regions = self.regions.iter().map(|r| r.start..r.end);
        [entry::HIGH, entry::low()].into_iter().chain(regions)
    }

    /// Gives up `range` for the program if nothing is there yet but room for translated code.
    pub fn give_up(&mut self, range: Range<u64>) -> bool {
        let others = [entry::HIGH, entry::low()];
        let overlap = |start: u64, end: u64| start < range.end && range.start < end;
        let used = |r: &Region| overlap(r.start, r.hot) || overlap(r.cold, r.end);
        if others.iter().any(|own| overlap(own.start, own.end)) || self.regions.iter().any(used) {
            return false;
        }
        for region in self.regions.iter_mut().filter(|r| overlap(r.start, r.end)) {
            region.closed = true;
        }
        self.given_up.push(range);
        true
    }
}

/// Where a region for code at `address` may start, the best places first.
fn places_near(address: u64) -> impl Iterator<Item = u64> {
    // A program at a fixed address has its heap right above it, and libraries elsewhere: as far above as
    // operands reach. Where the runtime has its low addresses there is no room.
    let low = (1..).map(|n| LOWEST.max(RESERVED_LOW.start.saturating_sub(n * REGION_SIZE)));
    let low = low.take_while(|&start| start > LOWEST).filter(move |_| address < TWO_GIB);
    // Else below first: the heap grows above a program, and the kernel maps libraries downwards from the
    // top, so that about 1 GiB below a cluster of modules is rarely wanted by the program.
    let base = address & !0xfff_ffff;
    let steps = [-4i64, -5, -3, -2, 4, 3, 2, -1, 1, 5].into_iter();
    let around = steps.filter_map(move |step| base.checked_add_signed(step * (TWO_GIB / 8) as i64));
    low.chain(around).filter(|&start| start >= LOWEST)
}

/// How far into a region that starts at an address its code begins. Regions start at multiples of 128 MiB, and processors
/// tell branches apart by the lower bits of their addresses: the first, hottest code of two modules would be taken for one.
fn stagger(start: u64) -> u64 {
    const MOST: u64 = REGION_SIZE / 128;
    // The fractional part of multiples of the golden ratio lies far from that of any multiple near it.
    (((start >> 27) * 0x9e37_79b9) >> 8) & (MOST - 64)
}

impl Region {
    /// A region of its own at `start`, as large as the system grants.
    ///
    /// # Errors
    /// The system's: `EEXIST` if something is there.
    fn at(start: u64) -> Result<Region, Errno> {
        const EEXIST: Errno = Errno(17);
        let mut refused = EEXIST;
        for size in [REGION_SIZE, REGION_SIZE / 8, REGION_SIZE / 64] {
            match map_at(start, size, true) {
                Ok(()) => {
                    let end = start + size;
                    leave_out_of_dumps(start..end);
                    // A small program's code needs none.
                    if size == REGION_SIZE {
                        prefer_large_pages(start + LARGE_PAGE..end - LARGE_PAGE);
                    }
                    return Ok(Region {
                        start,
                        end,
                        hot: start + stagger(start),
                        cold: end,
                        pieces: Vec::new(),
                        closed: false,
                    });
                }
                Err(EEXIST) => return Err(EEXIST),
                // Too much at once, where memory is promised sparingly.
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    fn has_room(&self, size: u64) -> bool {
        !self.closed && self.cold - self.hot > size
    }

    fn reaches(&self, address: u64) -> bool {
        // Below 2 GiB, operands have absolute addresses.
        let low = self.end <= TWO_GIB && address < TWO_GIB;
        low || (self.start.abs_diff(address) < REACH && self.end.abs_diff(address) < REACH)
    }

    /// Address of the next hot code.
    pub fn hot(&self) -> u64 {
        self.hot.next_multiple_of(16)
    }

    /// Likewise of what the jump or branch will lead to whose displacement is at `place`: right behind a jump if
    /// nothing stands there yet, so that a thread runs on without it.
    pub fn hot_behind(&self, place: Option<u64>) -> u64 {
        match place {
            Some(place) if self.ends_with_jump(place) => self.hot,
            _ => self.hot(),
        }
    }

    /// Whether the last of the hot code is a jump, whose displacement is at `place`.
    pub fn ends_with_jump(&self, place: u64) -> bool {
        place + 4 == self.hot && is_jump(place)
    }

    /// Puts hot code where [`Region::hot`] or [`Region::hot_behind`] said, or over the jump that ended it, with pieces from positions in it on.
    pub fn place(&mut self, code: &Code, pieces: impl IntoIterator<Item = (usize, Kind)>) {
        let start = (code.address - self.start) as u32;
        self.pieces.extend(pieces.into_iter().map(|(at, kind)| (start + at as u32, kind)));
        write(code.address, &code.bytes);
        self.hot = code.here();
    }

    /// Takes `size` bytes of cold room, aligned to 4, or to 8 for 8 bytes.
    pub fn take_cold(&mut self, size: u64) -> u64 {
        let alignment = if size == 8 { 8 } else { 4 };
        self.cold = (self.cold - size) & !(alignment - 1);
        self.cold
    }
}

/// What it means that there is no memory for translated code.
pub fn why_full(error: Errno) -> Failure {
    const NOT_PERMITTED: Errno = Errno(1);
    const DENIED: Errno = Errno(13);
    match error {
        NOT_PERMITTED | DENIED => Failure::WritableCodeDenied,
        _ => Failure::CacheFull,
    }
}

/// Writes bytes of translated code that no thread executes yet.
#[inline(always)]
pub fn write(address: u64, bytes: &[u8]) {
    // SAFETY: `address` was handed out by a region, whose memory is mapped writable and ours.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) }
}

/// Points the jump or branch whose displacement is at `place` to `target`, while other threads may execute it.
/// False if it is out of reach.
///
/// A jump to right behind itself is taken out. What stands there was written before, and processors see stores to code
/// in their order: a thread that finds no jump finds that, too.
#[must_use]
pub fn link(place: u64, target: u64) -> bool {
    let Some(distance) = distance(place, target) else { return false };
    let distance = distance.to_le_bytes();
    if !is_jump(place) {
        patch(place, distance);
    } else if distance == [0; 4] {
        patch(place - 1, RUN_ON);
    } else {
        let [a, b, c, d] = distance;
        patch(place - 1, [JUMP, a, b, c, d]);
    }
    true
}

/// Whether `target` is in reach of the jump or branch whose displacement is at `place`.
pub fn reaches(place: u64, target: u64) -> bool {
    distance(place, target).is_some()
}

/// What that displacement has to be.
fn distance(place: u64, target: u64) -> Option<i32> {
    i32::try_from(target.wrapping_sub(place + 4) as i64).ok()
}

/// Whether the displacement at `place` is that of a branch.
pub fn is_branch(place: u64) -> bool {
    let [first, second] = opcode(place);
    first == BRANCH[0] && second & 0xf0 == BRANCH[1]
}

/// The condition of the branch whose displacement is at `place`.
pub fn condition(place: u64) -> u8 {
    opcode(place)[1] & 0x0f
}

/// Has that branch lead to `target` where its condition does not hold, and behind itself where it does. No other thread
/// may be about to execute it.
pub fn turn(place: u64, target: u64) {
    let [first, second] = opcode(place);
    patch(place - 2, [first, second ^ 1]);
    // Both lie in one region.
    let _ = link(place, target);
}

/// Makes a jump of it to `target`, where the same branch stands again, while other threads may execute it: at first it
/// leads there if its condition holds, and then always.
pub fn branch_to_jump(place: u64, target: u64) {
    const NOP: u8 = 0x90;
    // Both lie in one region.
    let _ = link(place, target);
    patch(place - 2, [NOP, JUMP]);
}

/// Makes a branch of it again, on a condition, to `target`. No other thread may be about to execute it.
pub fn jump_to_branch(place: u64, condition: u8, target: u64) {
    patch(place - 2, [BRANCH[0], BRANCH[1] | condition]);
    // It was in reach before.
    let _ = link(place, target);
}

/// The two bytes before the displacement at `place`.
fn opcode(place: u64) -> [u8; 2] {
    // SAFETY: `place` is a displacement in translated code, behind an opcode and at least one byte before that.
    unsafe { *((place - 2) as *const [u8; 2]) }
}

/// Whether the displacement at `place` is that of a jump, which may have been taken out, and not of a branch.
fn is_jump(place: u64) -> bool {
    [JUMP, RUN_ON[0]].contains(&opcode(place)[1])
}

/// Writes bytes of code that other threads may execute, all at once.
fn patch<const N: usize>(place: u64, bytes: [u8; N]) {
    let at = (place % 8) as usize;
    debug_assert!(at + N <= 8);
    // SAFETY: `place` is in translated code, within 8 aligned bytes, of which the emitter lets none reach beyond.
    // Only the thread that holds the lock of the process writes there.
    unsafe {
        let word = &*((place & !7) as *const AtomicU64);
        let mut now = word.load(Ordering::Relaxed).to_le_bytes();
        now[at..at + N].copy_from_slice(&bytes);
        word.store(u64::from_le_bytes(now), Ordering::Release);
    }
}

/// Writes an entry of a table that translated code reads at any time.
pub fn set_entry(place: u64, value: u64) {
    // SAFETY: `place` is an aligned entry of a table of the runtime's own.
    unsafe { (*(place as *const AtomicU64)).store(value, Ordering::Release) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code that is executed, as the tests of `indirect` do.
    #[test]
    fn a_jump_to_right_behind_it_is_none_until_it_leads_elsewhere() {
        const MOV_EAX: u8 = 0xb8;
        const RETURN: u8 = 0xc3;
        let mut region = Region::at(0x7123_5000_0000).unwrap();
        let mut put = |address: u64, number: u8, jumps: bool| {
            let mut code = Code::at(address);
            code.raw(&[MOV_EAX, number, 0, 0, 0]);
            if !jumps {
                code.raw(&[RETURN]);
            }
            let place = jumps.then(|| code.address + code.jump_here() as u64);
            region.place(&code, [(0, Kind::Unit(number.into()))]);
            (place, region.hot(), region.hot_behind(place))
        };
        let (place, aligned, behind) = put(0x7123_5000_0000, 1, true);
        let place = place.unwrap();
        assert_eq!(behind, place + 4);
        assert_ne!(behind, aligned, "there is room in between");
        put(behind, 2, false);
        let (_, elsewhere, _) = put(aligned + 64, 3, false);
        put(elsewhere, 4, false);
        // SAFETY: the code that was just put there, which changes `rax` alone.
        let run = || unsafe { core::mem::transmute::<u64, extern "C" fn() -> u64>(0x7123_5000_0000)() };
        let opcode = || bytes_of(place - 1);
        for _ in 0..2 {
            assert!(link(place, behind));
            assert_eq!((opcode(), run()), (RUN_ON, 2));
            assert!(link(place, elsewhere));
            assert_eq!((opcode()[0], run()), (JUMP, 4));
        }
        assert!(!link(place, place + (1 << 32)));
        assert_eq!(run(), 4, "what is out of reach changes nothing");
        assert_eq!(region.hot_behind(Some(place)), region.hot(), "something stands behind it");
    }

    #[test]
    fn a_branch_may_be_turned_and_become_a_jump_to_a_copy() {
        const BEGIN: u64 = 0x7123_6000_0000;
        const IF_ZERO: u8 = 4;
        let mut region = Region::at(BEGIN).unwrap();
        let give = |code: &mut Code, number: u8| code.raw(&[0xb8, number, 0, 0, 0, 0xc3]); // mov eax, number; ret
        let mut code = Code::at(BEGIN);
        code.raw(&[0x85, 0xff]); // test edi, edi
        let [branch, jump] = [code.branch_here(IF_ZERO), code.jump_here()].map(|at| BEGIN + at as u64);
        region.place(&code, [(0, Kind::Unit(0))]);
        assert!(region.ends_with_jump(jump) && !region.ends_with_jump(branch));
        let over = branch + 4;
        let elsewhere = [BEGIN + 64, BEGIN + 128];
        for (number, at) in (1..).zip(elsewhere) {
            let mut code = Code::at(at);
            give(&mut code, number);
            write(at, &code.bytes);
        }
        let [zero, other] = elsewhere;
        assert!(link(branch, zero) && link(jump, other));
        // SAFETY: the code that was just put there, which changes `eax` alone.
        let run =
            |argument| unsafe { core::mem::transmute::<u64, extern "C" fn(u32) -> u32>(BEGIN)(argument) };
        let both = || [run(0), run(1)];
        assert_eq!((is_branch(branch), is_branch(jump), condition(branch)), (true, false, IF_ZERO));
        assert_eq!(both(), [1, 2]);
        turn(branch, other);
        let mut behind = Code::at(over);
        give(&mut behind, 3);
        region.place(&behind, [(0, Kind::Unit(1))]);
        assert_eq!((condition(branch), both()), (IF_ZERO ^ 1, [3, 2]));
        let mut copy = Code::at(BEGIN + 192);
        for (place, to) in [(copy.plain_branch_here(IF_ZERO ^ 1), other), (copy.plain_jump_here(), zero)] {
            copy.fix_to(place, to);
        }
        write(copy.address, &copy.bytes);
        branch_to_jump(branch, copy.address);
        assert_eq!((is_branch(branch), both()), (false, [1, 2]));
        jump_to_branch(branch, IF_ZERO ^ 1, other);
        assert_eq!((is_branch(branch), both()), (true, [3, 2]));
    }

    fn bytes_of(address: u64) -> [u8; 5] {
        // SAFETY: within code that the test has put there.
        unsafe { ptr::read_unaligned(address as *const [u8; 5]) }
    }
}
