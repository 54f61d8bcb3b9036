//! Branches to where no code can be, and others that are made again.
//!
//! A branch to an address that is not canonical faults by itself, before it has done anything; one to
//! memory that cannot be executed faults where it leads. Where it leads the processor says so itself, when
//! the thread goes there; the former branch is taken back and made once more, by the program's own code.

use crate::state::Process;
use timewise_abi::thread::Registers;
use timewise_isa::{Control, decode};

/// Takes back the branch that ends block `from`, which led to `target`: the address of the branch. None if
/// it has led there indeed.
pub fn take_back(process: &Process, from: u32, target: u64, registers: &mut Registers) -> Option<u64> {
    if (target as i64) << 16 >> 16 == target as i64 {
        return None;
    }
    undo(process, from, registers)
}

/// Takes back the branch that ends block `from`, of which nothing but the stack pointer is known to others: the
/// address of the branch. None if it is of a kind that cannot be made again.
pub fn undo(process: &Process, from: u32, registers: &mut Registers) -> Option<u64> {
    let block = &process.blocks[from as usize];
    let code = block.code();
    let mut at = 0;
    let mut last = None;
    while let Ok(instruction) = decode(&code[at..], block.address + at as u64) {
        at += usize::from(instruction.length);
        last = Some(instruction);
    }
    let last = last?;
    match last.control {
        // Where it calls was on the stack, perhaps where it has put the return address.
        Control::IndirectCall if is_by_stack(&code[at - usize::from(last.length)..at]) => return None,
        Control::Call { .. } | Control::IndirectCall => registers.rsp += 8,
        Control::Return { discard } => registers.rsp -= 8 + u64::from(discard),
        Control::Jump { .. } | Control::Branch { .. } | Control::IndirectJump => {}
        _ => return None,
    }
    Some(last.address)
}

/// Whether an indirect call finds its target by the stack pointer.
fn is_by_stack(call: &[u8]) -> bool {
    let opcode = call.iter().position(|&byte| byte == 0xff);
    // `rm` 4 says that another byte follows, whose base 4 is the stack pointer, or `r12`.
    opcode.is_some_and(
        |at| matches!(call[at + 1..], [form, scaled, ..] if form < 0xc0 && form & 7 == 4 && scaled & 7 == 4),
    )
}

#[cfg(test)]
mod tests {
    use super::is_by_stack;

    #[test]
    fn calls_by_the_stack_pointer_are_told() {
        assert!(is_by_stack(&[0xff, 0x54, 0x24, 0xf8])); // call [rsp-8]
        assert!(!is_by_stack(&[0xff, 0xd0])); // call rax
        assert!(!is_by_stack(&[0xff, 0x53, 0x24])); // call [rbx+0x24]
    }
}
