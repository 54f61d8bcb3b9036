//! Machine code that translation adds: a small assembler for the few forms it needs.
//!
//! Code is put together in a buffer for a known final address, and then copied there whole.

use crate::entry::vector;
use crate::indirect::RAX_SLOT;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use timewise_abi::thread::COUNTERS;
use timewise_isa::FlagSet;

/// What is noted where control passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Toll {
    /// The counter that one is added to, or `NONE`.
    pub counter: u32,
    /// By how much the clock moves.
    pub step: i32,
}

impl Toll {
    /// Nothing.
    pub const NONE: Toll = Toll { counter: timewise_abi::NONE, step: 0 };
}

/// Opcode of a jump with a displacement of 4 bytes.
pub const JUMP: u8 = 0xe9;

/// What stands in place of such a jump that would lead right behind itself: it does nothing.
pub const RUN_ON: [u8; 5] = [0x0f, 0x1f, 0x44, 0, 0];

/// Opcode of a branch with a displacement of 4 bytes, but for its condition.
pub const BRANCH: [u8; 2] = [0x0f, 0x80];

/// A register that translated code borrows, by its number in the encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Borrowed {
    /// `rax`.
    Rax = 0,
    /// `rcx`: `jrcxz` tests it without touching flags.
    Rcx = 1,
    /// `rdx`.
    Rdx = 2,
    /// `r11`, which no function of a C program expects anything in.
    R11 = 11,
}

/// The prefix of an instruction of 64 bits with a register in its field `reg`.
const fn wide(register: u8) -> u8 {
    0x48 | (register >> 3) << 2
}

/// Whether fields that are added to are named by their distance from the program counter.
static BY_DISTANCE: AtomicBool = AtomicBool::new(false);

/// Says how fields of the thread area are named that are added to: by their distance from the program counter, or by
/// their position in the area.
///
/// A processor may find what a load will read by how its address is written, before that is computed (memory
/// renaming). Zen 5 does for addresses relative to a register, the program counter among them: an addition that a loop
/// repeats takes a cycle then rather than seven. Others do for bare positions, or guess wrong where several instructions
/// add to one field.
pub fn name_by_distance(by_distance: bool) {
    BY_DISTANCE.store(by_distance, Ordering::Relaxed);
}

/// Position in `gs:` of a field of the thread area.
macro_rules! gs {
    ($field:ident) => {
        core::mem::offset_of!(timewise_abi::thread::ThreadArea, $field) as u32
    };
}
pub(crate) use gs;

/// Position in `gs:` of spill slot `n`.
pub const fn spill_slot(n: u32) -> u32 {
    gs!(spill) + 8 * n
}

/// Bytes of the code that leaves for the dispatcher.
pub const LEAVE: usize = 20;

/// That code, by exit number `exit`, wherever it stands: `mov qword gs:[exit], number` and `jmp [vector]`. `number` is
/// below 2 GiB, as the instruction extends its sign.
pub fn leave(exit: u32) -> [u8; LEAVE] {
    debug_assert!(exit <= i32::MAX as u32);
    let [a, b, c, d] = gs!(exit).to_le_bytes();
    let [e, f, g, h] = exit.to_le_bytes();
    let [i, j, k, l] = vector::exit().to_le_bytes();
    [0x65, 0x48, 0xc7, 0x04, 0x25, a, b, c, d, e, f, g, h, 0xff, 0x24, 0x25, i, j, k, l]
}

/// Code under construction, for a known address.
#[derive(Debug)]
pub struct Code {
    /// Where its first byte will stand.
    pub address: u64,
    /// The bytes so far.
    pub bytes: Vec<u8>,
}

impl Code {
    /// An empty buffer for code that will stand at `address`.
    pub fn at(address: u64) -> Code {
        Code { address, bytes: Vec::with_capacity(512) }
    }

    /// Address of the next byte.
    pub fn here(&self) -> u64 {
        self.address + self.bytes.len() as u64
    }

    /// Appends bytes as they are. Mostly it is known how many, and they are stored at once.
    #[inline(always)]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a number of 32 bits.
    pub fn raw32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    /// Distance from the end of a 4-byte field that comes next, plus `after` more bytes, to `target`.
    /// `None` if it does not fit.
    fn distance(&self, target: u64, after: u64) -> Option<u32> {
        let from = self.here() + 4 + after;
        i32::try_from(target.wrapping_sub(from) as i64).ok().map(|d| d as u32)
    }

    /// A copy of an instruction whose 4-byte displacement at `at` refers to `target`. False, with nothing
    /// written, if `target` is out of reach from here.
    #[must_use]
    pub fn relocated(&mut self, instruction: &[u8], at: usize, target: u64) -> bool {
        let end = self.here() + instruction.len() as u64;
        let Ok(distance) = i32::try_from(target.wrapping_sub(end) as i64) else { return false };
        self.raw(&instruction[..at]);
        self.raw32(distance as u32);
        self.raw(&instruction[at + 4..]);
        true
    }

    /// A copy of an instruction whose operand at `target` is named by its absolute address. False, with
    /// nothing written, if that is not below 2 GiB.
    #[must_use]
    pub fn absolute(&mut self, instruction: &[u8], at: usize, target: u64) -> bool {
        if target > i32::MAX as u64 {
            return false;
        }
        // `mod` 0 with `rm` 4 and an index byte without base or index: a bare 32-bit address.
        self.raw(&instruction[..at - 1]);
        self.raw(&[(instruction[at - 1] & 0x38) | 0x04, 0x25]);
        self.raw32(target as u32);
        self.raw(&instruction[at + 4..]);
        true
    }

    /// Whether operands relative to the program counter reach `address` from about here.
    pub fn reaches(&self, address: u64) -> bool {
        const MARGIN: u64 = 1 << 20;
        self.here().abs_diff(address) < (1 << 31) - MARGIN
    }

    /// An instruction with an operand relative to the program counter at `target`, which is in reach, and
    /// what follows its displacement.
    pub fn relative(&mut self, opcode: &[u8], target: u64, rest: &[u8]) {
        self.raw(opcode);
        let distance = self.distance(target, rest.len() as u64).expect("in reach of its region");
        self.raw32(distance);
        self.raw(rest);
    }

    /// `mov gs:[slot], register`.
    pub fn store(&mut self, slot: u32, register: Borrowed) {
        self.store_any(slot, register as u8);
    }

    /// `mov register, gs:[slot]`.
    pub fn load(&mut self, register: Borrowed, slot: u32) {
        self.load_any(register as u8, slot);
    }

    /// `mov gs:[slot], register`, for a register by number.
    pub fn store_any(&mut self, slot: u32, register: u8) {
        self.raw(&[0x65, wide(register), 0x89, 0x04 | (register & 7) << 3, 0x25]);
        self.raw32(slot);
    }

    /// `mov register, gs:[slot]`, likewise.
    pub fn load_any(&mut self, register: u8, slot: u32) {
        self.raw(&[0x65, wide(register), 0x8b, 0x04 | (register & 7) << 3, 0x25]);
        self.raw32(slot);
    }

    /// `mov gs:[place], register`, for what is fetched again at once.
    pub fn keep(&mut self, place: u32, register: Borrowed) {
        self.field(0x89, register as u8, place, &[]);
    }

    /// `mov register, gs:[place]`, for what [`keep`](Code::keep) stored.
    pub fn fetch(&mut self, register: Borrowed, place: u32) {
        self.field(0x8b, register as u8, place, &[]);
    }

    /// `mov qword gs:[place], number`, likewise.
    pub fn keep_number(&mut self, place: u32, number: i32) {
        self.field(0xc7, 0, place, &number.to_le_bytes());
    }

    /// `mov register, value`, for a register by number that needs no prefix.
    pub fn load_constant(&mut self, register: u8, value: u64) {
        self.raw(&[0x48, 0xb8 | register]);
        self.raw(&value.to_le_bytes());
    }

    /// `mov qword gs:[slot], value`: `value` is below 2 GiB, as the instruction extends its sign.
    pub fn store_number(&mut self, slot: u32, value: u32) {
        debug_assert!(value <= i32::MAX as u32);
        self.raw(&[0x65, 0x48, 0xc7, 0x04, 0x25]);
        self.raw32(slot);
        self.raw32(value);
    }

    /// `add qword gs:[place], number`; changes flags.
    pub fn add_number(&mut self, place: u32, number: i32) {
        match i8::try_from(number) {
            Ok(number) => self.field(0x83, 0, place, &[number as u8]),
            Err(_) => self.field(0x81, 0, place, &number.to_le_bytes()),
        }
    }

    /// `inc qword gs:[place]`; changes flags, but for the carry.
    pub fn increment(&mut self, place: u32) {
        self.field(0xff, 0, place, &[]);
    }

    /// An instruction of 64 bits with a field that is added to or kept for a moment, a register or what belongs to the
    /// opcode, and what follows. It is as long either way.
    fn field(&mut self, opcode: u8, register: u8, place: u32, rest: &[u8]) {
        if BY_DISTANCE.load(Ordering::Relaxed) {
            // Of the sum only 32 bits count, so that it is the position wherever the code is.
            self.raw(&[0x67, 0x65, wide(register), opcode, 0x05 | (register & 7) << 3]);
            let end = self.here() + 4 + rest.len() as u64;
            self.raw32(place.wrapping_sub(end as u32));
        } else {
            self.raw(&[0x65, wide(register), opcode, 0x04 | (register & 7) << 3, 0x25]);
            self.raw32(place);
        }
        self.raw(rest);
    }

    /// Leaves for the dispatcher by an exit.
    pub fn leave(&mut self, exit: u32) {
        self.raw(&leave(exit));
    }

    /// `jmp [address]`, for an address below 2 GiB.
    pub fn jump_through(&mut self, address: u32) {
        self.raw(&[0xff, 0x24, 0x25]);
        self.raw32(address);
    }

    /// Notes what there is to note, without changing a flag of `live`.
    pub fn toll(&mut self, toll: Toll, live: FlagSet) {
        if toll.counter != timewise_abi::NONE {
            if toll.step != 0 && live.intersects(FlagSet::WRITTEN_BY_INC) {
                return self.count_and_advance(toll);
            }
            self.count(toll.counter, live);
        }
        if toll.step != 0 {
            self.advance(toll.step, live);
        }
    }

    /// Moves the clock.
    fn advance(&mut self, step: i32, live: FlagSet) {
        self.add(gs!(clock), step, live);
    }

    /// Gives the thread's budget so many instructions more.
    pub fn grant(&mut self, instructions: i32, live: FlagSet) {
        self.add(gs!(budget), instructions, live);
    }

    /// Adds to a field of the thread area without changing a flag of `live`.
    fn add(&mut self, place: u32, step: i32, live: FlagSet) {
        if !live.intersects(FlagSet::ALL) {
            return self.add_number(place, step);
        }
        self.keep(spill_slot(COUNT_SPILL), Borrowed::Rcx);
        self.add_by_rcx(place, step);
        self.fetch(Borrowed::Rcx, spill_slot(COUNT_SPILL));
    }

    /// Adds to a field of the thread area by way of `rcx`, without changing a flag.
    fn add_by_rcx(&mut self, place: u32, step: i32) {
        self.fetch(Borrowed::Rcx, place);
        match i8::try_from(step) {
            Ok(step) => self.raw(&[0x48, 0x8d, 0x49, step as u8]), // lea rcx, [rcx+step]
            Err(_) => {
                self.raw(&[0x48, 0x8d, 0x89]);
                self.raw32(step as u32);
            }
        }
        self.keep(place, Borrowed::Rcx);
    }

    /// Adds one to a counter and moves the clock, without changing a flag.
    fn count_and_advance(&mut self, toll: Toll) {
        self.keep(spill_slot(COUNT_SPILL), Borrowed::Rcx);
        self.add_by_rcx(COUNTERS + 8 * toll.counter, 1);
        self.add_by_rcx(gs!(clock), toll.step);
        self.fetch(Borrowed::Rcx, spill_slot(COUNT_SPILL));
    }

    /// Adds one to counter `number` without changing a flag of `live`.
    pub fn count(&mut self, number: u32, live: FlagSet) {
        let place = COUNTERS + 8 * number;
        if !live.intersects(FlagSet::WRITTEN_BY_INC) {
            return self.increment(place);
        }
        self.keep(spill_slot(COUNT_SPILL), Borrowed::Rcx);
        self.add_by_rcx(place, 1);
        self.fetch(Borrowed::Rcx, spill_slot(COUNT_SPILL));
    }

    /// `push` of a constant: by an immediate if it fits, else from `pool`, the address of 8 bytes that
    /// hold it. One store either way, so that a load of the whole is forwarded.
    pub fn push_constant(&mut self, value: u64, pool: impl FnOnce() -> u64) {
        if value <= i32::MAX as u64 {
            self.raw(&[0x68]);
            self.raw32(value as u32);
        } else {
            let place = pool();
            self.raw(&[0xff, 0x35]);
            let distance = self.distance(place, 0).expect("a region spans less than 2 GiB");
            self.raw32(distance);
        }
    }

    /// `jmp` that can be changed by one store, or be taken out: its displacement's position, to be fixed.
    pub fn jump_here(&mut self) -> usize {
        self.pad_for_patch(0, 1 + 4);
        self.plain_jump_here()
    }

    /// `jmp` of exactly 5 bytes: the displacement's position, to be fixed before use.
    pub fn plain_jump_here(&mut self) -> usize {
        self.raw(&[JUMP, 0, 0, 0, 0]);
        self.bytes.len() - 4
    }

    /// A jump to any address, which is not to be changed.
    pub fn jump_far(&mut self, target: u64) {
        let from = self.here() + 5;
        match i32::try_from(target.wrapping_sub(from) as i64) {
            Ok(distance) => {
                self.raw(&[JUMP]);
                self.raw32(distance as u32);
            }
            Err(_) => {
                self.raw(&[0xff, 0x25, 0, 0, 0, 0]); // jmp [rip+0]
                self.raw(&target.to_le_bytes());
            }
        }
    }

    /// `jcc` to an address of the same region.
    pub fn branch_to(&mut self, condition: u8, target: u64) {
        self.raw(&[BRANCH[0], BRANCH[1] | condition]);
        let from = self.here() + 4;
        self.raw32(target.wrapping_sub(from) as u32);
    }

    /// `jcc`, likewise patchable.
    pub fn branch_here(&mut self, condition: u8) -> usize {
        self.pad_before(0);
        self.plain_branch_here(condition)
    }

    /// `jcc` whose displacement is fixed before use and stays.
    pub fn plain_branch_here(&mut self, condition: u8) -> usize {
        let [first, second] = BRANCH;
        self.raw(&[first, second | condition, 0, 0, 0, 0]);
        self.bytes.len() - 4
    }

    /// What [`Code::branch_here`] would have to put between an instruction of `length` bytes, which comes next, and
    /// a branch after it.
    pub fn pad_before(&mut self, length: u64) {
        // The opcode, too, is changed by one store.
        self.pad_for_patch(length, BRANCH.len() as u64);
        self.pad_for_patch(length + BRANCH.len() as u64, 4);
    }

    /// Points the displacement at `place` to position `target` of this code.
    pub fn fix(&mut self, place: usize, target: usize) {
        self.fix_to(place, self.address + target as u64);
    }

    /// Points the displacement at `place` to an address of the same region.
    pub fn fix_to(&mut self, place: usize, target: u64) {
        let from = self.address + place as u64 + 4;
        let distance =
            i32::try_from(target.wrapping_sub(from) as i64).expect("a region spans less than 2 GiB");
        self.bytes[place..place + 4].copy_from_slice(&distance.to_le_bytes());
    }

    /// No-ops so that the `size` bytes that come `ahead` bytes further on lie within 8 aligned bytes: another core
    /// may be fetching them while they are patched.
    fn pad_for_patch(&mut self, ahead: u64, size: u64) {
        const NOPS: [&[u8]; 5] =
            [&[], &[0x90], &[0x66, 0x90], &[0x0f, 0x1f, 0x00], &[0x0f, 0x1f, 0x40, 0x00]];
        let place = (self.here() + ahead) % 8;
        if place + size > 8 {
            self.raw(NOPS[(8 - place) as usize]);
        }
    }
}

/// Spill slot that counting borrows a register through.
pub const COUNT_SPILL: u32 = 2;

/// Spill slot of a register borrowed around or before a single instruction of the program.
pub const SCRATCH_SPILL: u32 = 3;

/// Spill slot of the flags while a block is compared: before it, where nothing of a call or return is under way that
/// keeps `rax` there.
pub const FLAGS_SPILL: u32 = RAX_SLOT;

/// Bytes of an instruction that keeps a register in a spill slot, or gives it back.
pub const SPILL: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_patched_never_crosses_eight_bytes() {
        for start in 0..16 {
            let mut code = Code::at(0x1000 + start);
            for _ in 0..8 {
                let place = code.jump_here();
                assert!((code.address + place as u64 - 1) % 8 <= 3, "the opcode too");
                let place = code.branch_here(4);
                assert!((code.address + place as u64) % 8 <= 4);
                assert!((code.address + place as u64 - 2) % 8 <= 6, "the opcode too");
                code.pad_before(3);
                code.raw(&[0x48, 0x85, 0xc0]);
                let fused = code.bytes.len();
                assert_eq!(code.branch_here(4), fused + 2, "nothing in between");
            }
        }
    }

    #[test]
    fn out_of_reach_writes_nothing() {
        let mut code = Code::at(0x1003);
        assert!(!code.relocated(&[0x48, 0x8b, 0x05, 0, 0, 0, 0], 3, 0x7f00_0000_0000));
        assert!(code.bytes.is_empty());
    }
}
