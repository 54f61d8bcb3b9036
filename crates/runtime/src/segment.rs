//! The program's `gs` segment. The runtime has the register for itself, so the program's base is kept in
//! the thread's area, and added where an instruction would have the processor add it.

use crate::borrow::extend_nothing;
use crate::emit::{Code, SCRATCH_SPILL, gs, spill_slot};
use timewise_isa::{GsOperand, GsUse, gs_use, unused_registers};

/// Emits an instruction that uses `gs`: the position where it is done. None, with nothing written, if it
/// is too unusual.
pub fn emit(code: &mut Code, bytes: &[u8]) -> Option<usize> {
    match gs_use(bytes)? {
        GsUse::ReadBase { register, wide } => {
            // mov register, gs:[base]
            let rex = 0x40 | u8::from(wide) << 3 | (register >> 3) << 2;
            code.raw(&[0x65, rex, 0x8b, 0x04 | (register & 7) << 3, 0x25]);
            code.raw(&gs!(gs_base).to_le_bytes());
        }
        GsUse::WriteBase { register, wide } => {
            if !wide {
                code.store_number(gs!(gs_base), 0);
            }
            let rex = 0x40 | u8::from(wide) << 3 | (register >> 3) << 2;
            code.raw(&[0x65, rex, 0x89, 0x04 | (register & 7) << 3, 0x25]);
            code.raw(&gs!(gs_base).to_le_bytes());
        }
        GsUse::Load => code.store_number(gs!(gs_base), 0),
        GsUse::Operand(operand) => return with_operand(code, bytes, operand),
    }
    Some(code.bytes.len())
}

fn with_operand(code: &mut Code, bytes: &[u8], operand: GsOperand) -> Option<usize> {
    let register = unused_registers(bytes).next()?;
    let at = usize::from(operand.modrm);
    let mut rewritten = bytes[..at].to_vec();
    rewritten.retain({
        // The prefix may stand more than once; what follows the prefixes is no prefix.
        let mut prefixes = true;
        move |&byte| {
            prefixes &= matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
            !(prefixes && byte == 0x65)
        }
    });
    extend_nothing(&mut rewritten)?;
    // A displacement of 32 bits is the same in every encoding.
    rewritten.push(0x80 | (bytes[at] & 0x38) | register);
    rewritten.extend(operand.displacement.to_le_bytes());
    rewritten.extend_from_slice(&bytes[at + usize::from(operand.length)..]);

    code.store_any(spill_slot(SCRATCH_SPILL), register);
    code.load_any(register, gs!(gs_base));
    if let Some(base) = operand.base {
        add(code, register, base, (register, 0));
    }
    if let Some(index) = operand.index {
        add(code, register, register, index);
    }
    code.raw(&rewritten);
    let done = code.bytes.len();
    code.load_any(register, spill_slot(SCRATCH_SPILL));
    Some(done)
}

/// `lea register, [base+index]`, with an index that is not `rsp`.
fn add(code: &mut Code, register: u8, base: u8, (index, scale): (u8, u8)) {
    let rex = 0x48 | (index >> 3) << 1 | base >> 3;
    let sib = scale << 6 | (index & 7) << 3 | base & 7;
    // With a displacement of 0, or `rbp` and `r13` would mean something else.
    code.raw(&[rex, 0x8d, 0x44 | register << 3, sib, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operand_gets_the_base_of_the_program() {
        let mut code = Code::at(0);
        let bytes = [0x65, 0x43, 0x83, 0x44, 0xb5, 0xf8, 5]; // add dword gs:[r13+r14*4-8], 5
        assert_eq!(emit(&mut code, &bytes), Some(36));
        let base = [0x49, 0x8d, 0x4c, 0x0d, 0]; // lea rcx, [r13+rcx]
        let index = [0x4a, 0x8d, 0x4c, 0xb1, 0]; // lea rcx, [rcx+r14*4]
        let operation = [0x42, 0x83, 0x81, 0xf8, 0xff, 0xff, 0xff, 5]; // add dword [rcx-8], 5
        let middle = [base.as_slice(), &index, &operation].concat();
        assert_eq!(code.bytes[18..36], middle);
    }
}
