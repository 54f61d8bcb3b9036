//! Reading the code that translation adds to the program's: the few forms that [`crate::emit`] and
//! [`crate::indirect`] write between and after the program's instructions.

use crate::check::{GIVE_FLAGS, GIVEN_BACK};
use crate::emit::{COUNT_SPILL, FLAGS_SPILL, JUMP, RUN_ON, SCRATCH_SPILL, SPILL, gs, spill_slot};
use crate::entry::vector;
use crate::indirect::{RCX_SLOT, RDX_SLOT};
use crate::kinds::record::SLOTS;
use timewise_abi::thread::COUNTERS;

/// A piece of added code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Nothing is done.
    Nop,
    /// One is added to a counter, with `rcx` borrowed if it takes more than one instruction.
    Counter(u32),
    /// The clock moves, likewise.
    Step(i32),
    /// Both, with `rcx` borrowed once.
    Both(u32, i32),
    /// The thread's budget grows, likewise.
    Grant(i32),
    /// What is recorded around an instruction.
    Recorded,
    /// A register, by its slot and number, is given back that a whole block borrowed.
    Restore(u32, u8),
    /// What is added at a call or a return, by its number.
    Calls(u32),
    /// What is done for paths, by the number of its piece.
    Path(u32),
    /// A jump to this distance from its end.
    Jump(i32),
    /// The same where a condition, by its number, holds.
    Branch(u8, i32),
    /// A jump to this address.
    JumpFar(u64),
    /// The number of an exit is stored.
    StoreExit(u32),
    /// A jump to the runtime for an exit that is not linked.
    Leave,
    /// `rcx` is kept for an indirect branch.
    SpillRcx,
    /// `rdx` is kept for an indirect branch.
    SpillRdx,
    /// A register, by its number, is borrowed for an operand out of reach or a check.
    Lend(u8),
    /// It is given back.
    GiveBack(u8),
    /// What comparing a block borrows is given back.
    GiveBackFlags,
    /// A return discards bytes of the stack; its look-up comes next.
    Discard(u32),
    /// The look-up of an indirect branch, up to its jump.
    LookUp,
}

/// Bytes that [`parse`] may look at.
pub const LONGEST: usize = 48;

/// Where the clock stands.
const CLOCK: u32 = gs!(clock);

/// Where the budget stands.
const BUDGET: u32 = gs!(budget);

/// Bytes of a counter that borrows `rcx`, or of a short step of the clock.
const BORROWING: usize = 40;
/// Bytes of a long step of the clock that borrows `rcx`.
const LONG_STEP: usize = 43;
/// Bytes of a counter and a short step of the clock that borrow `rcx`.
const BOTH: usize = 62;
/// Bytes of a counter and a long step of the clock that borrow `rcx`.
const LONG_BOTH: usize = 65;
/// From how many bytes on a counter that borrows `rcx` is counted.
pub const COUNTED: usize = 31;

/// The form at the start of `bytes`, which stand at an address, and its length; none if it is no added code.
pub fn parse(address: u64, bytes: &[u8]) -> Option<(Form, usize)> {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    // That an instruction at `at` adds to, which ends `rest` bytes behind it.
    let field = |at: usize, rest: usize| match bytes.get(at)? {
        0x67 => Some(number(at + 5)?.wrapping_add((address as u32).wrapping_add((at + 9 + rest) as u32))),
        _ => number(at + 5),
    };
    let counter = |place: u32| place.checked_sub(COUNTERS).map(|place| place / 8);
    let form = match bytes {
        [0x90, ..] => (Form::Nop, 1),
        [0x66, 0x90, ..] => (Form::Nop, 2),
        [0x0f, 0x1f, 0x00, ..] => (Form::Nop, 3),
        [0x0f, 0x1f, 0x40, 0x00, ..] => (Form::Nop, 4),
        bytes if bytes.starts_with(&RUN_ON) => (Form::Nop, RUN_ON.len()),
        [0x65, 0x48, 0xff, 0x04, 0x25, ..] | [0x67, 0x65, 0x48, 0xff, 0x05, ..] => {
            (Form::Counter(counter(field(0, 0)?)?), 9)
        }
        [0x65, 0x48, opcode @ (0x81 | 0x83), 0x04, 0x25, ..]
        | [0x67, 0x65, 0x48, opcode @ (0x81 | 0x83), 0x05, ..] => {
            let (added, rest) = match opcode {
                0x83 => (i32::from(*bytes.get(9)? as i8), 1),
                _ => (number(9)? as i32, 4),
            };
            let form = match field(0, rest)? {
                CLOCK => Form::Step(added),
                BUDGET => Form::Grant(added),
                _ => return None,
            };
            (form, 9 + rest)
        }
        [0x65, 0x48, 0x89, 0x0c, 0x25, ..] | [0x67, 0x65, 0x48, 0x89, 0x0d, ..]
            if field(0, 0)? == spill_slot(COUNT_SPILL) =>
        {
            let step = |at: usize| {
                let is_short = *bytes.get(at)? == 0x49;
                Some((
                    if is_short { i32::from(*bytes.get(at + 1)? as i8) } else { number(at + 1)? as i32 },
                    is_short,
                ))
            };
            let (added, is_short) = step(20)?;
            let length = if is_short { BORROWING } else { LONG_STEP };
            match field(9, 0)? {
                CLOCK => (Form::Step(added), length),
                BUDGET => (Form::Grant(added), length),
                place if field(31, 0)? == CLOCK => {
                    let (step, is_short) = step(42)?;
                    (Form::Both(counter(place)?, step), if is_short { BOTH } else { LONG_BOTH })
                }
                place => (Form::Counter(counter(place)?), length),
            }
        }
        [0x65, 0x48, 0x89, 0x0c, 0x25, ..] if number(5)? == spill_slot(RCX_SLOT) => (Form::SpillRcx, 9),
        [0x65, 0x48, 0x89, 0x14, 0x25, ..] if number(5)? == spill_slot(RDX_SLOT) => (Form::SpillRdx, 9),
        [0x65, 0x48, opcode @ (0x89 | 0x8b), register, 0x25, ..]
            if register & 0xc7 == 0x04 && number(5)? == spill_slot(SCRATCH_SPILL) =>
        {
            let register = register >> 3;
            (if *opcode == 0x89 { Form::Lend(register) } else { Form::GiveBack(register) }, 9)
        }
        [0x65, 0x48, 0x8b, 0x04, 0x25, ..]
            if number(5)? == spill_slot(FLAGS_SPILL) && bytes.get(9..12)? == GIVE_FLAGS =>
        {
            (Form::GiveBackFlags, GIVEN_BACK)
        }
        [0x65, prefix @ (0x48 | 0x4c), 0x8b, register, 0x25, ..]
            if register & 0xc7 == 0x04 && SLOTS.map(spill_slot).contains(&number(5)?) =>
        {
            let slot = (number(5)? - spill_slot(0)) / 8;
            (Form::Restore(slot, (prefix & 4) << 1 | register >> 3), 9)
        }
        [0x65, 0x48, 0xc7, 0x04, 0x25, ..] if number(5)? == gs!(exit) => (Form::StoreExit(number(9)?), 13),
        [JUMP, ..] => (Form::Jump(number(1)? as i32), 5),
        [0x0f, opcode @ 0x80..0x90, ..] => (Form::Branch(opcode & 0x0f, number(2)? as i32), 6),
        [0xff, 0x25, 0, 0, 0, 0, ..] => {
            (Form::JumpFar(u64::from_le_bytes(bytes.get(6..14)?.try_into().ok()?)), 14)
        }
        [0xff, 0x24, 0x25, ..] if number(3)? == vector::exit() => (Form::Leave, 7),
        [0x48, 0x8d, 0xa4, 0x24, ..] => (Form::Discard(number(4)?), 8),
        [0x8d, 0x8a, _, _, _, _, 0x0f, 0xb7, 0xc9, 0xff, 0x24, 0xcd, _, _, _, _, ..] => (Form::LookUp, 16),
        _ => return None,
    };
    Some(form)
}

/// How far a thread has got that is `into` bytes past the start of a counter or step of `length` bytes:
/// whether that is done, and whether `rcx` is borrowed.
pub fn inside(length: usize, into: usize) -> (bool, bool) {
    debug_assert!(into < length);
    let stored = match length {
        BORROWING | LONG_STEP | BOTH | LONG_BOTH => length - SPILL,
        _ => length,
    };
    (into >= stored, into >= SPILL)
}

/// Where in the stub of an indirect branch's target, whose code starts with `bytes`, the target is known; if
/// nothing is done with the borrowed registers first, where they are given back.
pub fn found(bytes: &[u8]) -> Option<usize> {
    // `mov ecx, index` and a jump to the next stub, for the check to fail.
    let failed = match bytes {
        [0xb9, _, _, _, _, 0xe9, ..] => 5 + 5,
        [0xb9, ..] => 5 + 14,
        _ => return None,
    };
    let branch = match bytes.get(failed..)? {
        [0x48, 0x8d, 0x8a, ..] => failed + 7,
        [0x48, 0xb9, ..] => failed + 14,
        _ => return None,
    };
    // `jrcxz` over a jump back, or `loop` back, which is a jump if the check is off.
    let end = branch + if *bytes.get(branch)? == 0xe3 { 4 } else { 2 };
    // A counter may lie where only some bytes of the address are others.
    let next = bytes.get(end..)?;
    let [low, second, third, high] = spill_slot(RCX_SLOT).to_le_bytes();
    let is_next = next.starts_with(&[0x65, 0x48, 0x8b, 0x0c, 0x25, low, second, third, high]);
    Some(end + if is_next { 2 * 9 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::{Borrowed, Code, Toll, name_by_distance};
    use alloc::vec::Vec;
    use timewise_isa::FlagSet;

    fn forms(code: &Code) -> Vec<Form> {
        let mut at = 0;
        let mut forms = Vec::new();
        while at < code.bytes.len() {
            let (form, length) =
                parse(code.address + at as u64, &code.bytes[at..]).expect("a form that was emitted");
            forms.push(form);
            at += length;
        }
        forms
    }

    #[test]
    fn what_is_emitted_is_read_back() {
        for by_distance in [true, false] {
            name_by_distance(by_distance);
            what_is_emitted_is_read();
        }
    }

    fn what_is_emitted_is_read() {
        let mut code = Code::at(0x1000_0003);
        code.count(7, FlagSet::NONE);
        code.count(8, FlagSet::ALL);
        code.toll(Toll { counter: 9, step: -3 }, FlagSet::NONE);
        code.toll(Toll { counter: timewise_abi::NONE, step: -129 }, FlagSet::NONE);
        code.toll(Toll { counter: 10, step: 70_000 }, FlagSet::ALL);
        code.toll(Toll { counter: timewise_abi::NONE, step: -128 }, FlagSet::ALL);
        code.toll(Toll { counter: 11, step: -1 }, FlagSet::ALL);
        code.leave(77);
        code.store(spill_slot(RCX_SLOT), Borrowed::Rcx);
        code.store(spill_slot(RDX_SLOT), Borrowed::Rdx);
        code.store(spill_slot(SCRATCH_SPILL), Borrowed::Rdx);
        code.load(Borrowed::Rdx, spill_slot(SCRATCH_SPILL));
        code.jump_far(0x1000_0000);
        code.jump_far(0x7000_0000_0000);
        let forms = forms(&code);
        assert_eq!(
            forms[..14],
            [
                Form::Counter(7),
                Form::Counter(8),
                Form::Counter(9),
                Form::Step(-3),
                Form::Step(-129),
                Form::Both(10, 70_000),
                Form::Step(-128),
                Form::Both(11, -1),
                Form::StoreExit(77),
                Form::Leave,
                Form::SpillRcx,
                Form::SpillRdx,
                Form::Lend(2),
                Form::GiveBack(2),
            ]
        );
        assert!(matches!(forms[14], Form::Jump(distance) if distance < 0));
        assert_eq!(forms[15], Form::JumpFar(0x7000_0000_0000));
    }

    #[test]
    fn patchable_jumps_are_padded_with_what_is_read_as_nothing() {
        for start in 0..8 {
            let mut code = Code::at(0x1000 + start);
            code.jump_here();
            let forms = forms(&code);
            assert!(forms.len() <= 2);
            assert_eq!(forms.last(), Some(&Form::Jump(0)));
        }
    }

    #[test]
    fn a_copied_branch_is_read_with_the_jump_behind_it() {
        let mut code = Code::at(0x1000);
        code.branch_to(5, 0x1000);
        code.plain_jump_here();
        assert_eq!(forms(&code), [Form::Branch(5, -6), Form::Jump(0)]);
    }

    #[test]
    fn a_counter_is_done_when_it_is_stored() {
        assert_eq!(inside(BORROWING, 9), (false, true));
        assert_eq!(inside(BORROWING, 22), (false, true));
        assert_eq!(inside(BORROWING, 31), (true, true));
        assert_eq!(inside(LONG_STEP, 33), (false, true));
        assert_eq!(inside(LONG_STEP, 34), (true, true));
        assert_eq!(inside(BOTH, COUNTED), (false, true));
        assert_eq!(inside(BOTH, 53), (true, true));
        assert_eq!(inside(LONG_BOTH, 55), (false, true));
        assert_eq!(inside(LONG_BOTH, 56), (true, true));
    }

    #[test]
    fn the_end_of_an_indirect_branch_s_check_is_found() {
        let targets = [(0x40_1000, 0x1000_0000), (0x7000_0000_1000, 0x7000_0000_0000)];
        let ways = [false, true].map(|by_loop| [(by_loop, false), (by_loop, true)]);
        let each = |target| ways.as_flattened().iter().map(move |&way| (target, way));
        for ((target, address), (by_loop, is_off)) in targets.into_iter().flat_map(each) {
            let mut code = Code::at(address);
            let next = crate::entry::miss_routine(0);
            let (begin, switch) = crate::indirect::emit_check_by(by_loop, &mut code, target, 5, next);
            if is_off {
                code.bytes[(begin - address) as usize + usize::from(switch.at)] = switch.off;
            }
            let at = code.bytes.len();
            code.load(Borrowed::Rdx, gs!(frame_top));
            let read = |code: &Code| found(&code.bytes[..LONGEST.min(code.bytes.len())]);
            assert_eq!(read(&code), Some(at));
            code.bytes.truncate(at);
            code.load(Borrowed::Rcx, COUNTERS + 0x1000 + (spill_slot(RCX_SLOT) & 0xff));
            assert_eq!(read(&code), Some(at));
            code.bytes.truncate(at);
            crate::indirect::give_back(&mut code);
            assert_eq!(read(&code), Some(code.bytes.len()));
        }
    }
}
