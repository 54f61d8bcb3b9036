//! Machine code that finds and stores addresses: forms with any of the sixteen registers, none of which
//! touches a flag.

use crate::emit::{Code, gs};
use timewise_isa::memory::{Access, Extent, Gathered, Mask, Segment};

/// `mov gs:[slot], register`.
pub fn keep(code: &mut Code, slot: u32, register: u8) {
    code.raw(&[0x65, 0x48 | (register >> 3) << 2, 0x89, 0x04 | (register & 7) << 3, 0x25]);
    code.raw32(slot);
}

/// `mov register, gs:[slot]`.
pub fn give_back(code: &mut Code, slot: u32, register: u8) {
    code.raw(&[0x65, 0x48 | (register >> 3) << 2, 0x8b, 0x04 | (register & 7) << 3, 0x25]);
    code.raw32(slot);
}

/// The operand `[base+offset]` with `register` in the other field.
fn operand(code: &mut Code, register: u8, base: u8, offset: u32, short: bool) {
    let is_short = short && offset < 128;
    code.raw(&[if is_short { 0x40 } else { 0x80 } | (register & 7) << 3 | (base & 7)]);
    if base & 7 == 4 {
        code.raw(&[0x24]);
    }
    if is_short { code.raw(&[offset as u8]) } else { code.raw32(offset) }
}

/// `mov [base+offset], register`.
pub fn store(code: &mut Code, base: u8, offset: u32, register: u8) {
    code.raw(&[0x48 | (register >> 3) << 2 | base >> 3, 0x89]);
    operand(code, register, base, offset, true);
}

/// `mov dword [base], value`.
pub fn store_number(code: &mut Code, base: u8, value: u32) {
    code.raw(&[0x40 | base >> 3, 0xc7]);
    operand(code, 0, base, 0, true);
    code.raw32(value);
}

/// `lea register, [base+index*scale+displacement]`.
pub fn load_address(
    code: &mut Code,
    register: u8,
    base: Option<u8>,
    index: Option<(u8, u8)>,
    displacement: i32,
    narrow: bool,
) {
    if narrow {
        code.raw(&[0x67]);
    }
    let extended = |register: u8| register >> 3;
    let rex = 0x48
        | extended(register) << 2
        | index.map_or(0, |(index, _)| extended(index)) << 1
        | base.map_or(0, extended);
    let field = (register & 7) << 3;
    code.raw(&[rex, 0x8d]);
    match (base, index) {
        (Some(base), None) if base & 7 != 4 => code.raw(&[0x80 | field | (base & 7)]),
        (Some(base), index) => {
            // Index 4 stands for none.
            let (index, scale) = index.unwrap_or((4, 0));
            code.raw(&[0x84 | field, scale << 6 | (index & 7) << 3 | (base & 7)]);
        }
        (None, index) => {
            let (index, scale) = index.unwrap_or((4, 0));
            code.raw(&[0x04 | field, scale << 6 | (index & 7) << 3 | 5]);
        }
    }
    code.raw32(displacement as u32);
}

/// Puts the address of an access, without the indexes of a gather, into a register that the access does not
/// use.
pub fn address(code: &mut Code, access: &Access, register: u8) {
    let displacement = access.displacement as i32;
    let mut base = access.base;
    match access.segment {
        Segment::Flat => {}
        Segment::Fs => code.raw(&[0xf3, 0x48 | register >> 3, 0x0f, 0xae, 0xc0 | (register & 7)]), // rdfsbase
        Segment::Gs => give_back(code, gs!(gs_base), register),
    }
    if access.segment != Segment::Flat {
        if let Some(base) = access.base {
            load_address(code, register, Some(register), Some((base, 0)), 0, false);
        }
        base = Some(register);
    }
    let index = match access.extent {
        Extent::ByTable if access.segment == Segment::Flat => {
            code.raw(&[0x40 | (register >> 3) << 2, 0x0f, 0xb6, 0xc0 | (register & 7) << 3]); // movzx register, al
            Some((register, 0))
        }
        Extent::ByTable => None,
        _ => access.index,
    };
    let narrow = access.narrow && access.segment == Segment::Flat;
    load_address(code, register, base, index, displacement, narrow);
}

/// Stores the indexes and the mask of a gather from `[base+offset]` on.
pub fn store_gather(code: &mut Code, gathered: &Gathered, base: u8, offset: u32) {
    store_vector(code, base, offset, gathered.indexes, gathered.bytes);
    let offset = offset + u32::from(gathered.bytes);
    match gathered.mask {
        Mask::Vector { register, bytes, .. } => store_vector(code, base, offset, register, bytes),
        Mask::Bits { register } => {
            code.raw(&[0xc4, 0xc1 | u8::from(base < 8) << 5, 0x78, 0x91]); // kmovw [base+offset], register
            operand(code, register, base, offset, true);
        }
    }
}

/// `vmovdqu [base+offset], register`.
fn store_vector(code: &mut Code, base: u8, offset: u32, register: u8, bytes: u8) {
    let not = |bit: u8| u8::from(bit & 1 == 0);
    if bytes < 64 && register < 16 {
        let head = not(register >> 3) << 7 | 0x40 | not(base >> 3) << 5 | 1;
        code.raw(&[0xc4, head, 0x7a | u8::from(bytes == 32) << 2, 0x7f]);
        operand(code, register, base, offset, true);
        return;
    }
    let head = not(register >> 3) << 7 | 0x40 | not(base >> 3) << 5 | not(register >> 4) << 4 | 1;
    let length = match bytes {
        64 => 0x48,
        32 => 0x28,
        _ => 0x08,
    };
    code.raw(&[0x62, head, 0xfe, length, 0x7f]);
    // A short displacement would be scaled.
    operand(code, register, base, offset, false);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn text(emit: impl FnOnce(&mut Code)) -> String {
        let mut code = Code::at(0);
        emit(&mut code);
        timewise_isa::text(&code.bytes, 0, &|_| None)
    }

    #[test]
    fn every_register_is_encoded() {
        for (emit, want) in [
            (text(|c| store(c, 12, 4, 9)), "mov [r12+4],r9"),
            (text(|c| store(c, 5, 200, 0)), "mov [rbp+0xc8],rax"),
            (text(|c| store_number(c, 13, 7)), "mov dword ptr [r13],7"),
            (text(|c| load_address(c, 8, Some(4), Some((13, 3)), -8, false)), "lea r8,[rsp+r13*8-8]"),
            (text(|c| load_address(c, 0, None, Some((9, 2)), 16, false)), "lea rax,[r9*4+0x10]"),
            (text(|c| load_address(c, 1, Some(12), None, 0, false)), "lea rcx,[r12]"),
            (text(|c| load_address(c, 1, Some(3), None, 4, true)), "lea rcx,[ebx+4]"),
            (text(|c| store_vector(c, 10, 12, 9, 32)), "vmovdqu [r10+0xc],ymm9"),
            (text(|c| store_vector(c, 3, 12, 1, 16)), "vmovdqu [rbx+0xc],xmm1"),
            (text(|c| store_vector(c, 12, 12, 17, 64)), "vmovdqu64 [r12+0xc],zmm17"),
        ] {
            let same = |text: &str| text.to_lowercase().replace(' ', "").replace("+0]", "]");
            assert_eq!(same(&emit), same(want));
        }
    }
}
