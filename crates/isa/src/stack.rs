//! How deep a function's own part of the stack is, at each of its instructions.

extern crate alloc;

use crate::decode::{Control, control};
use crate::stack_change::change;
use alloc::vec::Vec;
use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

/// Of a function that calls nothing and keeps to its own code until it returns: by offset, as many as `code` has bytes,
/// what it has on the stack before its instruction there, in bytes; none where none begins that it comes to. Beyond them
/// lies the address that it was called with, and to which it is sure to return. None if it may do anything else.
pub fn depths(code: &[u8]) -> Option<Vec<Option<u32>>> {
    let mut factory = InstructionInfoFactory::new();
    let mut depths = alloc::vec![None; code.len()];
    let mut open = alloc::vec![(0, 0)];
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    while let Some((offset, depth)) = open.pop() {
        match depths.get_mut(offset as usize)? {
            Some(known) if *known == depth => continue,
            Some(_) => return None,
            fresh => *fresh = Some(depth),
        }
        decoder.set_position(offset as usize).ok()?;
        decoder.set_ip(offset.into());
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return None;
        }
        let next = instruction.next_ip() as u32;
        let inside =
            |target: u64| u32::try_from(target).ok().filter(|&target| (target as usize) < code.len());
        match control(&instruction) {
            Control::Next if !overwrites(&instruction, &mut factory, depth) => {
                open.push((next, depth_after(&instruction, depth)?));
            }
            Control::Jump { target } => open.push((inside(target)?, depth)),
            Control::Branch { target, .. } | Control::CountBranch { target } => {
                open.extend([(inside(target)?, depth), (next, depth)]);
            }
            Control::Return { discard: 0 } if depth == 0 => {}
            _ => return None,
        }
    }
    Some(depths)
}

/// Whether an instruction may write, by the stack pointer, to the return address, `depth` bytes above it.
fn overwrites(instruction: &Instruction, factory: &mut InstructionInfoFactory, depth: u32) -> bool {
    let by_stack = instruction.memory_base() == Register::RSP;
    if !by_stack {
        return false; // what is pushed lies below, and nothing else writes by the stack pointer unsaid
    }
    if instruction.mnemonic() == Mnemonic::Pop && instruction.op0_kind() == OpKind::Memory {
        return true; // its operand is relative to where the stack pointer is afterwards
    }
    factory.info(instruction).used_memory().iter().any(|used| {
        let writes = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
        let begin = used.displacement() as i64;
        let end = begin.saturating_add(used.memory_size().size().max(1) as i64);
        let depth = i64::from(depth);
        let may_meet = used.index() != Register::None || (begin < depth + 8 && end > depth);
        writes && used.base() == Register::RSP && may_meet
    })
}

/// The depth after an instruction that goes on to the next; none if it cannot be told.
fn depth_after(instruction: &Instruction, depth: u32) -> Option<u32> {
    // Above its own part lies what belongs to others.
    u32::try_from(i64::from(depth).checked_sub(change(instruction)?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn all(code: &[u8]) -> Option<Vec<(u32, u32)>> {
        let each = depths(code)?.into_iter().enumerate();
        Some(each.filter_map(|(offset, depth)| Some((offset as u32, depth?))).collect())
    }

    #[test]
    fn pushes_and_pops_are_followed_on_every_way() {
        // push rbx; test edi,edi; je 6; nop; pop rbx (at 6); ret
        let code = [0x53, 0x85, 0xff, 0x74, 0x01, 0x90, 0x5b, 0xc3];
        let depths = [(0, 0), (1, 8), (3, 8), (5, 8), (6, 8), (7, 0)];
        assert_eq!(all(&code).unwrap(), depths);
    }

    #[test]
    fn room_is_made_and_given_back() {
        // sub rsp,0x18; lea rsp,[rsp+0x10]; add rsp,8; ret
        let code = [0x48, 0x83, 0xec, 0x18, 0x48, 0x8d, 0x64, 0x24, 0x10, 0x48, 0x83, 0xc4, 0x08, 0xc3];
        assert_eq!(all(&code).unwrap(), [(0, 0), (4, 0x18), (9, 8), (13, 0)]);
    }

    #[test]
    fn nothing_is_said_of_functions_that_may_do_something_else() {
        let none: [&[u8]; 14] = [
            &[0x48, 0x89, 0x3c, 0x24, 0xc3],                   // mov [rsp], rdi; ret
            &[0x53, 0x48, 0x87, 0x44, 0x24, 0x08, 0x5b, 0xc3], // push rbx; xchg [rsp+8], rax; pop rbx; ret
            &[0x53, 0x8f, 0x44, 0x24, 0x00, 0x58, 0xc3],       // push rbx; pop [rsp]; pop rax; ret
            &[0x48, 0x89, 0x3c, 0xc4, 0xc3],                   // mov [rsp+rax*8], rdi; ret
            &[0xe8, 0, 0, 0, 0, 0xc3],                         // call
            &[0xff, 0xe0],                                     // jmp rax
            &[0xe9, 0x10, 0, 0, 0],                            // jump elsewhere
            &[0x53, 0xc3],                                     // push rbx; ret: to elsewhere
            &[0x58, 0xc3],                                     // pop rax; ret: the caller's caller
            &[0x48, 0x89, 0xfc, 0xc3],                         // mov rsp, rdi
            &[0xc9, 0xc3],                                     // leave
            &[0x90],                                           // on into what follows
            &[0x0f, 0x05, 0xc3],                               // system call
            &[0x74, 0x01, 0x53, 0xc3],                         // two depths at one place
        ];
        assert!(none.into_iter().all(|code| depths(code).is_none()));
        // push rbx; mov [rsp], rdi; mov [rsp-16], rdi; pop rbx; ret
        let own = [0x53, 0x48, 0x89, 0x3c, 0x24, 0x48, 0x89, 0x7c, 0x24, 0xf0, 0x5b, 0xc3];
        assert!(depths(&own).is_some());
    }
}
