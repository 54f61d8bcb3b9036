//! Whether control gets from one place of a function to another while it stays in it.

extern crate alloc;

use crate::decode::{Control, control};
use alloc::vec;
use iced_x86::{Decoder, DecoderOptions, Instruction};

/// Whether control that returns to `from` may come to the instruction that ends at or holds the byte before `to`, without
/// leaving the code: whether a call that returned there and one that will return here may be of the same activation. Both are
/// distances from where `code` begins. Calls return; of an indirect jump it is not known that it leads elsewhere.
pub fn reaches(code: &[u8], from: usize, to: usize) -> bool {
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut is_seen = vec![false; code.len()];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at >= code.len() || core::mem::replace(&mut is_seen[at], true) || decoder.set_position(at).is_err()
        {
            continue;
        }
        decoder.set_ip(at as u64);
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() {
            continue;
        }
        let next = at + instruction.len();
        if at < to && to <= next {
            return true;
        }
        // What lies outside is as good as far beyond.
        let inside = |target: u64| usize::try_from(target).unwrap_or(usize::MAX);
        match control(&instruction) {
            Control::IndirectJump => return true,
            Control::Jump { target } => open.push(inside(target)),
            Control::Branch { target, .. }
            | Control::CountBranch { target }
            | Control::Transaction { target } => open.extend([next, inside(target)]),
            Control::Next | Control::Call { .. } | Control::IndirectCall | Control::SystemCall => {
                open.push(next)
            }
            Control::Return { .. } | Control::Unsupported => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// call +0; test eax,eax; jne START; call +0; ret
    const LOOP: [u8; 15] = [0xe8, 0, 0, 0, 0, 0x85, 0xc0, 0x75, 0xf7, 0xe8, 0, 0, 0, 0, 0xc3];

    #[test]
    fn a_call_in_a_loop_comes_again() {
        // Behind the first call, and behind the second.
        let (first, second) = (5, 14);
        assert!(reaches(&LOOP, first, first) && reaches(&LOOP, first, second));
        assert!(!reaches(&LOOP, second, second) && !reaches(&LOOP, second, first));
    }

    #[test]
    fn where_an_indirect_jump_leads_is_not_known() {
        // call +0; jmp rax
        assert!(reaches(&[0xe8, 0, 0, 0, 0, 0xff, 0xe0], 5, 5));
        // call +0; int3, and nothing behind it
        assert!(!reaches(&[0xe8, 0, 0, 0, 0, 0xcc], 5, 5));
        assert!(!reaches(&[], 5, 5));
    }
}
