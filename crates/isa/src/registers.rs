//! Which general-purpose registers an instruction leaves alone, and what code does to the stack pointer.

use crate::{Control, boundaries};
use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, Mnemonic, Register};

/// The registers that can be borrowed around an instruction, by their number in the encoding: those whose
/// number needs no prefix and no special form as the base of an operand.
const CANDIDATES: [(u8, Register); 6] = [
    (1, Register::RCX),
    (2, Register::RDX),
    (6, Register::RSI),
    (7, Register::RDI),
    (3, Register::RBX),
    (0, Register::RAX),
];

/// Registers, by number, that the instruction at the start of `bytes` neither reads nor writes, of those
/// that can be the base of an operand without a prefix.
pub fn unused_registers(bytes: &[u8]) -> impl Iterator<Item = u8> {
    let instruction = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode();
    let mut factory = InstructionInfoFactory::new();
    let mut used = 0u16;
    for register in factory.info(&instruction).used_registers() {
        let full = register.register().full_register();
        for (number, candidate) in CANDIDATES {
            used |= u16::from(full == candidate) << number;
        }
    }
    CANDIDATES.into_iter().map(|(number, _)| number).filter(move |number| used >> number & 1 == 0)
}

/// Whether code sets the stack pointer to something else than a distance from itself or from the frame pointer,
/// as a switch of stacks does.
pub fn moves_stack(code: &[u8]) -> bool {
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    decoder.iter().any(|instruction| {
        let operands = [instruction.op0_register(), instruction.op1_register()];
        match instruction.mnemonic() {
            Mnemonic::Mov => operands[0] == Register::RSP && operands[1] != Register::RBP,
            Mnemonic::Lea => {
                let base = instruction.memory_base();
                operands[0] == Register::RSP && base != Register::RBP && base != Register::RSP
            }
            Mnemonic::Xchg => operands.contains(&Register::RSP),
            Mnemonic::Pop => operands[0] == Register::RSP,
            _ => false,
        }
    })
}

/// Whether a function, by the code that it begins with, takes its own return address off the stack first of all and
/// neither puts it back there nor goes to another stack, before it jumps or returns: it keeps it elsewhere.
pub fn takes_return_address(code: &[u8]) -> bool {
    let code = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code); // endbr64
    let ([0x58..=0x5f, ..] | [0x40..=0x4f, 0x58..=0x5f, ..]) = code else { return false };
    let mut end = 0;
    for (length, control) in boundaries(code, 0) {
        end += usize::from(length);
        if matches!(control, Control::Jump { .. } | Control::IndirectJump | Control::Return { .. }) {
            break;
        }
    }
    let mut decoder = Decoder::with_ip(64, &code[..end], 0, DecoderOptions::NONE);
    !decoder.iter().any(|instruction| instruction.mnemonic() == Mnemonic::Push) && !moves_stack(&code[..end])
}

/// What the return that ends some code takes off the stack beside the return address.
pub fn discards(code: &[u8]) -> u16 {
    if matches!(code, [.., 0xc2, _, _]) { last_return(code).unwrap_or(0) } else { 0 }
}

/// Whether some code ends in a return.
pub fn returns(code: &[u8]) -> bool {
    matches!(code, [.., 0xc3] | [.., 0xc2, _, _]) && last_return(code).is_some()
}

/// Whether some code ends in a return to an address that it has just put on the stack, as what takes away its arguments,
/// of whatever number, does with the one that it took off before; and has not gone to another stack.
pub fn returns_to_pushed(code: &[u8]) -> bool {
    let [.., 0x50..=0x57, 0xc3] = code else { return false };
    let (before, last) =
        boundaries(code, 0).fold((0, 0), |(_, before), (length, _)| (before, usize::from(length)));
    let push = code.len().checked_sub(before + last).map(|start| &code[start..code.len() - last]);
    last == 1 && matches!(push, Some([_] | [0x40..=0x4f, _])) && !moves_stack(code)
}

/// What the last instruction takes off if it is a return, whose bytes may also be the ends of others:
/// `mov edx, eax; pop rbx; ret`.
fn last_return(code: &[u8]) -> Option<u16> {
    match boundaries(code, 0).last() {
        Some((_, Control::Return { discard })) => Some(discard),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_return_s_own_operand_is_discarded() {
        assert_eq!(discards(&[0x5b, 0xc2, 16, 0]), 16); // pop rbx; ret 16
        assert_eq!(discards(&[0x89, 0xc2, 0x5b, 0xc3]), 0); // mov edx, eax; pop rbx; ret
        assert_eq!(discards(&[0xc3]), 0);
    }

    #[test]
    fn only_a_last_instruction_returns() {
        assert!([&[0xc3][..], &[0x5b, 0xc2, 16, 0]].into_iter().all(returns));
        assert!(![&[0x89, 0xc3][..], &[0xc3, 0x90]].into_iter().any(returns)); // mov ebx, eax; ret; nop
    }

    #[test]
    fn only_what_is_not_pushed_again_was_taken() {
        let takes: [&[u8]; 4] = [
            &[0x58],
            &[0x49, 0x5b, 0xc3],
            &[0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x5f, 0xff, 0xe0],
            &[0x58, 0xeb, 7, 0x50], // pop rax; jmp +7; push rax
        ];
        let others: [&[u8]; 7] = [
            &[0x50],
            &[0x90, 0x58],
            &[0x66, 0x58],
            &[0xc3, 0x58],
            &[0x59, 0x6a, 0, 0x51],
            &[0x5f, 0x74, 2, 0x0f, 0x05, 0x57], // pop rdi; je +2; syscall; push rdi
            &[0x58, 0x48, 0x89, 0xd4],          // pop rax; mov rsp, rdx
        ];
        assert!(takes.into_iter().all(takes_return_address));
        assert!(!others.into_iter().any(takes_return_address) && !takes_return_address(&[]));
    }

    #[test]
    fn only_what_is_pushed_last_is_returned_to_so() {
        let pushed: [&[u8]; 3] =
            [&[0x51, 0xc3], &[0x48, 0x8d, 0x24, 0xdc, 0x41, 0x52, 0xc3], &[0x5a, 0x52, 0xc3]];
        let others: [&[u8]; 5] = [
            &[0x48, 0x83, 0xc4, 0x50, 0xc3], // add rsp, 0x50; ret
            &[0x51, 0x90, 0xc3],
            &[0x48, 0x8b, 0x27, 0x51, 0xc3], // mov rsp, [rdi]; push rcx; ret
            &[0x51, 0xc2, 8, 0],
            &[0xc3],
        ];
        assert!(pushed.into_iter().all(returns_to_pushed));
        assert!(!others.into_iter().any(returns_to_pushed));
    }

    #[test]
    fn only_what_sets_the_stack_pointer_moves_the_stack() {
        let moves: [&[u8]; 4] = [&[0x4c, 0x89, 0xc4], &[0x48, 0x8b, 0x67, 0x30], &[0x48, 0x94], &[0x5c]];
        let stays: [&[u8]; 4] =
            [&[0x48, 0x83, 0xec, 8], &[0x48, 0x89, 0xec], &[0xc9], &[0x48, 0x8d, 0x65, 0xd8]];
        assert!(moves.into_iter().all(|code| moves_stack(&[code, &[0xff, 0xe2]].concat())));
        assert!(!stays.into_iter().any(moves_stack));
    }

    #[test]
    fn implicit_and_partial_uses_count() {
        let first = |bytes: &[u8]| unused_registers(bytes).next();
        assert_eq!(first(&[0x48, 0x8b, 0x05, 0, 0, 0, 0]), Some(1)); // mov rax, [rip]
        assert_eq!(first(&[0x8a, 0x2d, 0, 0, 0, 0]), Some(2)); // mov ch, [rip]
        assert_eq!(first(&[0xd3, 0x25, 0, 0, 0, 0]), Some(2)); // shl dword [rip], cl
        let exchange = unused_registers(&[0x48, 0x0f, 0xc7, 0x0d, 0, 0, 0, 0]); // cmpxchg16b [rip]
        assert!(exchange.eq([6, 7]));
        assert_eq!(first(&[0x0f, 0xae, 0x25, 0, 0, 0, 0]), Some(1)); // xsave [rip]: uses rax and rdx
    }
}
