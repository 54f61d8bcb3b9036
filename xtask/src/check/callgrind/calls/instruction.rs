//! What kind of branch an instruction is. Written anew, as counting is checked with it.

/// What an instruction does to control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// Calls.
    Call,
    /// Jumps so far from its end, perhaps only on a condition.
    Jump(i64),
    /// Jumps to an address that it finds in a register or in memory.
    IndirectJump,
    /// None of these.
    Other,
}

impl Branch {
    /// Reads the code of one instruction.
    pub fn of(code: &[u8]) -> Branch {
        let prefix = |byte: &u8| matches!(byte, 0x2e | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf2 | 0xf3);
        let code = &code[code.iter().take_while(|byte| prefix(byte)).count()..];
        // The field of the byte after the operation that tells apart what 0xff does.
        let field = |mode: u8| mode >> 3 & 7;
        match *code {
            [0xe8, ..] => Branch::Call,
            [0xff, mode, ..] if matches!(field(mode), 2 | 3) => Branch::Call,
            [0xff, mode, ..] if matches!(field(mode), 4 | 5) => Branch::IndirectJump,
            [0x70..=0x7f | 0xeb | 0xe0..=0xe3, near] => Branch::Jump(i64::from(near as i8)),
            [0xe9, a, b, c, d] | [0x0f, 0x80..=0x8f, a, b, c, d] => {
                Branch::Jump(i64::from(i32::from_le_bytes([a, b, c, d])))
            }
            _ => Branch::Other,
        }
    }

    /// Whether control can go from the instruction, which is so long and stands at `offset`, to another by no call.
    pub fn can_jump(self, (offset, length): (u64, u64), to: u64) -> bool {
        let next = offset + length;
        match self {
            Branch::Call => false,
            Branch::Jump(distance) => next.wrapping_add_signed(distance) == to || next == to,
            Branch::IndirectJump => true,
            Branch::Other => next == to,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_jumps_are_told_apart() {
        assert_eq!(Branch::of(&[0xe8, 0, 0, 0, 0]), Branch::Call);
        assert_eq!(Branch::of(&[0x41, 0xff, 0xd4]), Branch::Call);
        assert_eq!(Branch::of(&[0xff, 0x15, 0, 0, 0, 0]), Branch::Call);
        assert_eq!(Branch::of(&[0xff, 0x25, 0, 0, 0, 0]), Branch::IndirectJump);
        assert_eq!(Branch::of(&[0x3e, 0xff, 0xe0]), Branch::IndirectJump);
        assert_eq!(Branch::of(&[0xf2, 0xe9, 0xfb, 0xff, 0xff, 0xff]), Branch::Jump(-5));
        assert_eq!(Branch::of(&[0x0f, 0x84, 0x10, 0, 0, 0]), Branch::Jump(16));
        assert_eq!(Branch::of(&[0x74, 0xfe]), Branch::Jump(-2));
        assert_eq!(Branch::of(&[0xff, 0xc0]), Branch::Other);
        assert_eq!(Branch::of(&[0xc3]), Branch::Other);
    }

    #[test]
    fn a_jump_leads_to_its_target_or_on() {
        let jump = Branch::Jump(-2);
        assert!(
            jump.can_jump((100, 2), 100) && jump.can_jump((100, 2), 102) && !jump.can_jump((100, 2), 101)
        );
        assert!(!Branch::Call.can_jump((100, 2), 102));
        assert!(Branch::Other.can_jump((100, 1), 101) && !Branch::Other.can_jump((100, 1), 100));
    }
}
