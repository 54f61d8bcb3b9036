//! Instructions that are added around calls and returns. Each is known both as machine code and by what it
//! does, so that it can be carried out for a thread that a signal interrupted before it.

use super::memory::Memory;
use crate::emit::{Borrowed, Code, gs};
use timewise_abi::thread::{COUNTERS, Frame, Registers, ThreadArea};

/// Bytes of a frame.
pub const FRAME: u8 = size_of::<Frame>() as u8;

/// One instruction. A `gs` operand is named by its offset; a counter by its distance in bytes from counter 0,
/// which a register holds. `Half` is 32 bits wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// `mov gs:[offset], register`.
    Save(u32, Borrowed),
    /// `mov gs:[offset], register`.
    SaveHalf(u32, Borrowed),
    /// `mov dword gs:[offset], number`.
    SaveNumber(u32, u32),
    /// `mov gs:[offset], rsp`.
    SaveStack(u32),
    /// `mov qword gs:[offset], 0`.
    SaveZero(u32),
    /// `mov register, gs:[offset]`.
    Load(Borrowed, u32),
    /// `mov register, gs:[offset]`.
    LoadHalf(Borrowed, u32),
    /// `mov register, [base+distance]`.
    Follow(Borrowed, Borrowed, u8),
    /// `mov register, [base+distance]`.
    FollowHalf(Borrowed, Borrowed, u8),
    /// `mov [base+distance], register`.
    Put(Borrowed, u8, Borrowed),
    /// `mov [base+distance], register`.
    PutHalf(Borrowed, u8, Borrowed),
    /// `mov dword [base+distance], number`.
    PutNumber(Borrowed, u8, u32),
    /// `mov register, gs:[counter]`.
    LoadCounter(Borrowed, Borrowed),
    /// `mov gs:[counter], register`.
    SaveCounter(Borrowed, Borrowed),
    /// `mov gs:[counter], register`.
    SaveCounterHalf(Borrowed, Borrowed),
    /// `mov qword [base+distance], number`; up to 31 bits.
    PutWord(Borrowed, u8, u32),
    /// `mov [base+distance], rsp`.
    PutStack(Borrowed, u8),
    /// `mov dword gs:[counter], number`.
    SaveCounterNumber(Borrowed, u32),
    /// `not register`.
    Not(Borrowed),
    /// `bswap register`.
    Swap(Borrowed),
    /// `movzx register, register`, of its lowest byte.
    LowByte(Borrowed),
    /// `mov register, register`, of its lower half.
    LowHalf(Borrowed),
    /// `lea register, [base+distance]`.
    Ahead(Borrowed, Borrowed, i32),
    /// `lea register, [base+index+distance]`.
    Sum(Borrowed, Borrowed, Borrowed, i32),
    /// `lea register, [rsp+distance]`.
    Stack(Borrowed, i32),
    /// `lea register, [rsp+index+distance]`.
    StackSum(Borrowed, Borrowed, i32),
    /// `sub register, [base+distance]`; changes flags.
    Subtract(Borrowed, Borrowed, u8),
    /// `sub register, gs:[offset]`; changes flags.
    Less(Borrowed, u32),
    /// `add [base+distance], register`; changes flags.
    AddAt(Borrowed, u8, Borrowed),
    /// `add gs:[offset], register`; changes flags.
    AddTo(u32, Borrowed),
    /// `sub gs:[offset], register`; changes flags.
    SubtractFrom(u32, Borrowed),
    /// `add gs:[counter], register`; changes flags.
    AddToCounter(Borrowed, Borrowed),
    /// `sub gs:[counter], register`; changes flags.
    SubtractFromCounter(Borrowed, Borrowed),
    /// `sub qword gs:[frame_top], FRAME`; changes flags.
    Pop,
    /// `jrcxz` over so many bytes.
    SkipIfZero(u8),
    /// `cmp [base+distance], register` and `jne` to an address; changes flags. There a thread leaves with `rcx` and
    /// `rdx` given back.
    LeaveUnlessEqual(Borrowed, u8, Borrowed, u64),
    /// `cmp gs:[offset], register` and likewise.
    LeaveUnlessAt(u32, Borrowed, u64),
    /// Leaves for the dispatcher by an exit.
    Leave(u32),
}

/// What carrying out a step leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The next step.
    Step,
    /// The step so many bytes further.
    Skip(u8),
    /// The thread leaves, after the registers that it borrowed.
    Unmatched,
    /// The thread leaves by an exit.
    Exit(u32),
}

impl Step {
    /// Writes the instruction.
    pub fn emit(self, code: &mut Code) {
        const LOAD: u8 = 0x8b;
        const STORE: u8 = 0x89;
        const STORE_NUMBER: u8 = 0xc7;
        const ADDRESS: u8 = 0x8d;
        const ADD_TO: u8 = 0x01;
        const SUBTRACT_FROM: u8 = 0x29;
        const SUBTRACT: u8 = 0x2b;
        const COMPARE: u8 = 0x39;
        /// `jne`.
        const UNEQUAL: u8 = 0x05;
        /// The number of `rsp`.
        const STACK: u8 = 4;
        let mut word = |opcode, register: Borrowed, place| code.word(opcode, register as u8, place);
        match self {
            Step::Save(offset, register) => word(STORE, register, Memory::thread(offset)),
            Step::Load(register, offset) => word(LOAD, register, Memory::thread(offset)),
            Step::Follow(register, base, distance) => word(LOAD, register, Memory::at(base, distance)),
            Step::Put(base, distance, register) => word(STORE, register, Memory::at(base, distance)),
            Step::LoadCounter(register, counter) => word(LOAD, register, Memory::counter(counter)),
            Step::SaveCounter(counter, register) => word(STORE, register, Memory::counter(counter)),
            Step::Ahead(register, base, distance) => word(ADDRESS, register, Memory::at(base, distance)),
            Step::Sum(register, base, index, distance) => {
                word(ADDRESS, register, Memory::sum(base as u8, index, distance));
            }
            Step::Stack(register, distance) => word(ADDRESS, register, Memory::stack(distance)),
            Step::StackSum(register, index, distance) => {
                word(ADDRESS, register, Memory::sum(STACK, index, distance));
            }
            Step::Subtract(register, base, distance) => word(SUBTRACT, register, Memory::at(base, distance)),
            Step::Less(register, offset) => word(SUBTRACT, register, Memory::thread(offset)),
            Step::AddAt(base, distance, register) => word(ADD_TO, register, Memory::at(base, distance)),
            Step::AddTo(offset, register) => word(ADD_TO, register, Memory::thread(offset)),
            Step::SubtractFrom(offset, register) => word(SUBTRACT_FROM, register, Memory::thread(offset)),
            Step::AddToCounter(counter, register) => word(ADD_TO, register, Memory::counter(counter)),
            Step::SubtractFromCounter(counter, register) => {
                word(SUBTRACT_FROM, register, Memory::counter(counter));
            }
            Step::SaveStack(offset) => code.word(STORE, STACK, Memory::thread(offset)),
            Step::PutStack(base, distance) => code.word(STORE, STACK, Memory::at(base, distance)),
            Step::SaveHalf(offset, register) => code.half(STORE, register as u8, Memory::thread(offset)),
            Step::LoadHalf(register, offset) => code.half(LOAD, register as u8, Memory::thread(offset)),
            Step::FollowHalf(register, base, distance) => {
                code.half(LOAD, register as u8, Memory::at(base, distance));
            }
            Step::PutHalf(base, distance, register) => {
                code.half(STORE, register as u8, Memory::at(base, distance));
            }
            Step::SaveCounterHalf(counter, register) => {
                code.half(STORE, register as u8, Memory::counter(counter));
            }
            Step::SaveNumber(offset, number) => {
                code.half(STORE_NUMBER, 0, Memory::thread(offset));
                code.raw32(number);
            }
            Step::PutNumber(base, distance, number) => {
                code.half(STORE_NUMBER, 0, Memory::at(base, distance));
                code.raw32(number);
            }
            Step::SaveCounterNumber(counter, number) => {
                code.half(STORE_NUMBER, 0, Memory::counter(counter));
                code.raw32(number);
            }
            Step::PutWord(base, distance, number) => {
                code.word(STORE_NUMBER, 0, Memory::at(base, distance));
                code.raw32(number);
            }
            Step::SaveZero(offset) => code.store_number(offset, 0),
            Step::Not(register) => code.raw(&[0x48, 0xf7, 0xd0 | register as u8]),
            Step::Swap(register) => code.raw(&[0x48, 0x0f, 0xc8 | register as u8]),
            Step::LowHalf(register) => code.raw(&[0x89, 0xc0 | (register as u8) << 3 | register as u8]),
            Step::LowByte(register) => code.raw(&[0x0f, 0xb6, 0xc0 | (register as u8) << 3 | register as u8]),
            Step::Pop => code.add_number(gs!(frame_top), -i32::from(FRAME)),
            Step::SkipIfZero(bytes) => code.raw(&[0xe3, bytes]),
            Step::LeaveUnlessEqual(base, distance, register, address) => {
                word(COMPARE, register, Memory::at(base, distance));
                code.branch_to(UNEQUAL, address);
            }
            Step::LeaveUnlessAt(offset, register, address) => {
                word(COMPARE, register, Memory::thread(offset));
                code.branch_to(UNEQUAL, address);
            }
            Step::Leave(exit) => code.leave(exit),
        }
    }

    /// Does what the instruction does, but for flags.
    ///
    /// # Safety
    /// `area` must be the calling thread's, and the step the next of one of the sequences of
    /// [`super::sequence`], with the registers as the steps before it left them.
    pub unsafe fn carry_out(self, registers: &mut Registers, area: *mut ThreadArea) -> Next {
        let bytes = area.cast::<u8>();
        let value = |registers: &Registers, register| *held(&mut registers.clone(), register);
        let counter =
            |registers: &Registers, register| COUNTERS as usize + value(registers, register) as usize;
        // SAFETY: offsets and counters lie in the area, and frames too; all are aligned.
        unsafe {
            let word = |offset: usize| bytes.add(offset).cast::<u64>();
            let half = |offset: usize| bytes.add(offset).cast::<u32>();
            match self {
                Step::Save(offset, register) => *word(offset as usize) = value(registers, register),
                Step::Load(register, offset) => *held(registers, register) = *word(offset as usize),
                Step::SaveHalf(offset, register) => {
                    *half(offset as usize) = value(registers, register) as u32;
                }
                Step::SaveNumber(offset, number) => *half(offset as usize) = number,
                Step::SaveStack(offset) => *word(offset as usize) = registers.rsp,
                Step::SaveZero(offset) => *word(offset as usize) = 0,
                Step::LoadHalf(register, offset) => {
                    *held(registers, register) = u64::from(*half(offset as usize));
                }
                Step::Follow(register, base, distance) => {
                    let place = value(registers, base) + u64::from(distance);
                    *held(registers, register) = *(place as *const u64);
                }
                Step::FollowHalf(register, base, distance) => {
                    let place = value(registers, base) + u64::from(distance);
                    *held(registers, register) = u64::from(*(place as *const u32));
                }
                Step::Put(base, distance, register) => {
                    let place = value(registers, base) + u64::from(distance);
                    *(place as *mut u64) = value(registers, register);
                }
                Step::PutHalf(base, distance, register) => {
                    let place = value(registers, base) + u64::from(distance);
                    *(place as *mut u32) = value(registers, register) as u32;
                }
                Step::PutNumber(base, distance, number) => {
                    let place = value(registers, base) + u64::from(distance);
                    *(place as *mut u32) = number;
                }
                Step::PutWord(base, distance, number) => {
                    let place = value(registers, base) + u64::from(distance);
                    *(place as *mut u64) = number.into();
                }
                Step::PutStack(base, distance) => {
                    let place = value(registers, base) + u64::from(distance);
                    *(place as *mut u64) = registers.rsp;
                }
                Step::LoadCounter(register, index) => {
                    *held(registers, register) = *word(counter(registers, index));
                }
                Step::SaveCounter(index, register) => {
                    *word(counter(registers, index)) = value(registers, register);
                }
                Step::SaveCounterHalf(index, register) => {
                    *half(counter(registers, index)) = value(registers, register) as u32;
                }
                Step::SaveCounterNumber(index, number) => *half(counter(registers, index)) = number,
                Step::Not(register) => *held(registers, register) = !value(registers, register),
                Step::Swap(register) => *held(registers, register) = value(registers, register).swap_bytes(),
                Step::LowHalf(register) => {
                    *held(registers, register) = value(registers, register) & 0xffff_ffff;
                }
                Step::LowByte(register) => *held(registers, register) = value(registers, register) & 0xff,
                Step::Ahead(register, base, distance) => {
                    let sum = value(registers, base).wrapping_add_signed(distance.into());
                    *held(registers, register) = sum;
                }
                Step::Sum(register, base, index, distance) => {
                    let sum = value(registers, base).wrapping_add(value(registers, index));
                    *held(registers, register) = sum.wrapping_add_signed(distance.into());
                }
                Step::Stack(register, distance) => {
                    *held(registers, register) = registers.rsp.wrapping_add_signed(distance.into());
                }
                Step::StackSum(register, index, distance) => {
                    let sum = registers.rsp.wrapping_add(value(registers, index));
                    *held(registers, register) = sum.wrapping_add_signed(distance.into());
                }
                Step::Subtract(register, base, distance) => {
                    let place = value(registers, base) + u64::from(distance);
                    let difference = value(registers, register).wrapping_sub(*(place as *const u64));
                    *held(registers, register) = difference;
                }
                Step::Less(register, offset) => {
                    let difference = value(registers, register).wrapping_sub(*word(offset as usize));
                    *held(registers, register) = difference;
                }
                Step::AddAt(base, distance, register) => {
                    let place = (value(registers, base) + u64::from(distance)) as *mut u64;
                    *place = (*place).wrapping_add(value(registers, register));
                }
                Step::AddTo(offset, register) => {
                    let place = word(offset as usize);
                    *place = (*place).wrapping_add(value(registers, register));
                }
                Step::SubtractFrom(offset, register) => {
                    let place = word(offset as usize);
                    *place = (*place).wrapping_sub(value(registers, register));
                }
                Step::AddToCounter(index, register) => {
                    let place = word(counter(registers, index));
                    *place = (*place).wrapping_add(value(registers, register));
                }
                Step::SubtractFromCounter(index, register) => {
                    let place = word(counter(registers, index));
                    *place = (*place).wrapping_sub(value(registers, register));
                }
                Step::Pop => (*area).frame_top -= u64::from(FRAME),
                Step::LeaveUnlessEqual(base, distance, register, _) => {
                    let place = value(registers, base) + u64::from(distance);
                    if *(place as *const u64) != value(registers, register) {
                        return Next::Unmatched;
                    }
                }
                Step::LeaveUnlessAt(offset, register, _) => {
                    if *word(offset as usize) != value(registers, register) {
                        return Next::Unmatched;
                    }
                }
                Step::SkipIfZero(bytes) if registers.rcx == 0 => return Next::Skip(bytes),
                Step::SkipIfZero(_) => {}
                Step::Leave(exit) => return Next::Exit(exit),
            }
        }
        Next::Step
    }
}

fn held(registers: &mut Registers, register: Borrowed) -> &mut u64 {
    match register {
        Borrowed::Rax => &mut registers.rax,
        Borrowed::Rcx => &mut registers.rcx,
        Borrowed::Rdx => &mut registers.rdx,
        Borrowed::R11 => &mut registers.r8_to_r15[3],
    }
}
