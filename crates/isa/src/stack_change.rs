//! What an instruction does to the stack pointer, without any allocation.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// What the instruction at the start of `bytes` adds to the stack pointer when control goes on behind it;
/// `None` if that depends on anything but the instruction.
pub fn stack_change(bytes: &[u8]) -> Option<i64> {
    change(&Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode())
}

/// The same of one that is decoded.
pub fn change(decoded: &Instruction) -> Option<i64> {
    match decoded.mnemonic() {
        Mnemonic::Push | Mnemonic::Pushfq => Some(decoded.stack_pointer_increment().into()),
        Mnemonic::Pop | Mnemonic::Popfq if !is_stack(decoded, 0) => {
            Some(decoded.stack_pointer_increment().into())
        }
        Mnemonic::Add if is_stack(decoded, 0) => immediate(decoded),
        Mnemonic::Sub if is_stack(decoded, 0) => immediate(decoded)?.checked_neg(),
        Mnemonic::Lea if is_stack(decoded, 0) => {
            let own = decoded.memory_base() == Register::RSP && decoded.memory_index() == Register::None;
            own.then(|| decoded.memory_displacement64() as i64)
        }
        Mnemonic::Cmp | Mnemonic::Test => Some(0),
        Mnemonic::Enter | Mnemonic::Leave => None,
        _ if decoded.is_stack_instruction() => None,
        _ if (0..decoded.op_count()).any(|operand| is_stack(decoded, operand)) => {
            // All but a few instructions write no operand but their first.
            let more = matches!(
                decoded.mnemonic(),
                Mnemonic::Xchg | Mnemonic::Xadd | Mnemonic::Cmpxchg | Mnemonic::Mulx
            );
            (!is_stack(decoded, 0) && !more).then_some(0)
        }
        _ => Some(0),
    }
}

/// Whether an operand is the stack pointer, whole or in part.
fn is_stack(decoded: &Instruction, operand: u32) -> bool {
    decoded.op_kind(operand) == OpKind::Register
        && decoded.op_register(operand).full_register() == Register::RSP
}

fn immediate(decoded: &Instruction) -> Option<i64> {
    match decoded.op_kind(1) {
        OpKind::Register | OpKind::Memory => None,
        _ => Some(decoded.immediate(1) as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::stack_change;

    #[test]
    fn what_is_known_of_the_stack_pointer_is_exact() {
        let cases: [(&[u8], Option<i64>); 17] = [
            (&[0xc4, 0xe2, 0xdb, 0xf6, 0xc1], None),       // mulx rax,rsp,rcx
            (&[0x55], Some(-8)),                           // push rbp
            (&[0x41, 0x5f], Some(8)),                      // pop r15
            (&[0x5c], None),                               // pop rsp
            (&[0x48, 0x83, 0xec, 0x18], Some(-24)),        // sub rsp,18h
            (&[0x48, 0x83, 0xc4, 0x80], Some(-128)),       // add rsp,-80h
            (&[0x48, 0x81, 0xec, 0, 1, 0, 0], Some(-256)), // sub rsp,100h
            (&[0x48, 0x29, 0xc4], None),                   // sub rsp,rax
            (&[0x48, 0x8d, 0x64, 0x24, 0xf8], Some(-8)),   // lea rsp,[rsp-8]
            (&[0x48, 0x8d, 0x65, 0xd8], None),             // lea rsp,[rbp-28h]
            (&[0x48, 0x83, 0xe4, 0xf0], None),             // and rsp,-10h
            (&[0x48, 0x89, 0xe5], Some(0)),                // mov rbp,rsp
            (&[0x48, 0x94], None),                         // xchg rax,rsp
            (&[0xc9], None),                               // leave
            (&[0x48, 0x39, 0xc4], Some(0)),                // cmp rsp,rax
            (&[0x01, 0xc8], Some(0)),                      // add eax,ecx
            (&[0x48, 0x8b, 0x04, 0x24], Some(0)),          // mov rax,[rsp]
        ];
        for (bytes, expected) in cases {
            assert_eq!(stack_change(bytes), expected, "{bytes:x?}");
        }
    }
}
