//! Where a branch goes from a given state of a thread's registers and memory.

use crate::decode::{Control, MAX_LENGTH, control};
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// What a branch's direction and target are made of, besides memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// General registers, by their number in the encoding: `rax`, `rcx`, `rdx`, `rbx`, `rsp`, `rbp`, `rsi`,
    /// `rdi`, `r8` to `r15`.
    pub general: [u64; 16],
    /// The flags register.
    pub flags: u64,
}

/// Where control goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Address of the instruction that is executed next.
    pub address: u64,
    /// False if that is the instruction that follows because a condition did not hold.
    pub taken: bool,
}

/// Where the branch at the start of `bytes`, which stands at `address`, goes when it is executed in `state`;
/// `read` gives 8 bytes of memory. `None` of what is no branch of 64-bit user code, of one whose operand needs
/// a segment's base, and where memory cannot be read.
pub fn destination(
    bytes: &[u8],
    address: u64,
    state: &State,
    read: impl FnOnce(u64) -> Option<u64>,
) -> Option<Destination> {
    let bytes = &bytes[..bytes.len().min(MAX_LENGTH)];
    let decoded = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    if decoded.is_invalid() {
        return None;
    }
    let taken = |address| Some(Destination { address, taken: true });
    let by = |condition: bool, target: u64| {
        let address = if condition { target } else { decoded.next_ip() };
        Some(Destination { address, taken: condition })
    };
    match control(&decoded) {
        Control::Jump { target } | Control::Call { target } => taken(target),
        Control::Branch { target, condition } => by(holds(condition, state.flags), target),
        Control::CountBranch { target } => by(counts_on(&decoded, state)?, target),
        Control::Return { .. } => taken(read(state.general[4])?),
        Control::IndirectJump | Control::IndirectCall => match decoded.op0_kind() {
            OpKind::Register => taken(value(decoded.op0_register(), state)?),
            _ => taken(read(operand_address(&decoded, state)?)?),
        },
        Control::Next | Control::Transaction { .. } | Control::SystemCall | Control::Unsupported => None,
    }
}

const CARRY: u64 = 1;
const PARITY: u64 = 1 << 2;
const ZERO: u64 = 1 << 6;
const SIGN: u64 = 1 << 7;
const OVERFLOW: u64 = 1 << 11;

/// Whether the processor's condition of this number, 0 to 15, holds.
fn holds(condition: u8, flags: u64) -> bool {
    let set = |mask: u64| flags & mask != 0;
    let less = set(SIGN) != set(OVERFLOW);
    let even = match condition >> 1 {
        0 => set(OVERFLOW),
        1 => set(CARRY),
        2 => set(ZERO),
        3 => set(CARRY | ZERO),
        4 => set(SIGN),
        5 => set(PARITY),
        6 => less,
        _ => less || set(ZERO),
    };
    even != (condition & 1 == 1)
}

/// Whether a branch by `rcx` is taken.
fn counts_on(decoded: &Instruction, state: &State) -> Option<bool> {
    let rcx = state.general[1];
    // With an address-size prefix.
    let narrow = matches!(
        decoded.code(),
        Code::Jecxz_rel8_64 | Code::Loop_rel8_64_ECX | Code::Loope_rel8_64_ECX | Code::Loopne_rel8_64_ECX
    );
    let (count, mask) = if narrow { (rcx & 0xffff_ffff, 0xffff_ffff) } else { (rcx, u64::MAX) };
    let goes_on = count.wrapping_sub(1) & mask != 0;
    let zero = state.flags & ZERO != 0;
    match decoded.mnemonic() {
        Mnemonic::Jrcxz | Mnemonic::Jecxz => Some(count == 0),
        Mnemonic::Loop => Some(goes_on),
        Mnemonic::Loope => Some(goes_on && zero),
        Mnemonic::Loopne => Some(goes_on && !zero),
        _ => None,
    }
}

/// The value of a general register of 64 bits, or of the 32 that addresses can be made of.
fn value(register: Register, state: &State) -> Option<u64> {
    let number = register.number();
    match register {
        _ if register.is_gpr64() => state.general.get(number).copied(),
        _ if register.is_gpr32() => state.general.get(number).map(|value| value & 0xffff_ffff),
        _ => None,
    }
}

fn operand_address(decoded: &Instruction, state: &State) -> Option<u64> {
    if matches!(decoded.memory_segment(), Register::FS | Register::GS) {
        return None;
    }
    if decoded.is_ip_rel_memory_operand() {
        return Some(decoded.ip_rel_memory_address());
    }
    let part = |register: Register| match register {
        Register::None => Some(0),
        _ => value(register, state),
    };
    let (base, index) = (part(decoded.memory_base())?, part(decoded.memory_index())?);
    let index = index.wrapping_mul(decoded.memory_index_scale().into());
    let address = base.wrapping_add(index).wrapping_add(decoded.memory_displacement64());
    let narrow = decoded.memory_base().is_gpr32() || decoded.memory_index().is_gpr32();
    Some(if narrow { address & 0xffff_ffff } else { address })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(bytes: &[u8], state: &State) -> Option<(u64, bool)> {
        let read = |address: u64| address.is_multiple_of(8).then_some(address + 1);
        destination(bytes, 0x1000, state, read).map(|d| (d.address, d.taken))
    }

    #[test]
    fn targets_are_found_in_registers_and_memory() {
        let mut state = State::default();
        for (number, value) in state.general.iter_mut().enumerate() {
            *value = 0x1_0000_0000 * number as u64 + 0x100;
        }
        let taken = |address| Some((address, true));
        assert_eq!(to(&[0xff, 0xe0], &state), taken(0x100)); // jmp rax
        assert_eq!(to(&[0x41, 0xff, 0xd7], &state), taken(0xf_0000_0100)); // call r15
        assert_eq!(to(&[0xc3], &state), taken(0x4_0000_0101)); // ret
        assert_eq!(to(&[0xc2, 8, 0], &state), taken(0x4_0000_0101)); // ret 8
        assert_eq!(to(&[0xff, 0x25, 2, 0, 0, 0], &state), taken(0x1009)); // jmp [rip+2]
        assert_eq!(to(&[0xff, 0x24, 0xc8], &state), taken(0x8_0000_0901)); // jmp [rax+rcx*8]
        assert_eq!(to(&[0xff, 0x50, 0xf8], &state), taken(0xf9)); // call [rax-8]
        assert_eq!(to(&[0x67, 0xff, 0x23], &state), taken(0x101)); // jmp [ebx]
        assert_eq!(to(&[0xff, 0x14, 0x25, 0x10, 0, 0, 0], &state), taken(0x11)); // call [0x10]
        assert_eq!(to(&[0xff, 0x60, 1], &state), None); // jmp [rax+1]: cannot be read
        assert_eq!(to(&[0x64, 0xff, 0x20], &state), None); // jmp fs:[rax]
        assert_eq!(to(&[0xeb, 0x10], &state), taken(0x1012));
        assert_eq!(to(&[0xe8, 0, 0, 0, 0], &state), taken(0x1005));
        assert_eq!(to(&[0x90], &state), None);
        assert_eq!(to(&[0x0f, 0x05], &state), None);
        assert_eq!(to(&[0xff], &state), None);
    }

    #[test]
    fn branches_by_count_look_at_what_is_left() {
        let state = |rcx: u64, flags: u64| {
            let mut state = State { flags, ..State::default() };
            state.general[1] = rcx;
            state
        };
        let taken = |bytes: &[u8], rcx, flags| to(bytes, &state(rcx, flags)).unwrap().1;
        let (jrcxz, jecxz) = (&[0xe3, 2][..], &[0x67, 0xe3, 2][..]);
        assert!(taken(jrcxz, 0, 0) && !taken(jrcxz, 1 << 32, 0) && taken(jecxz, 1 << 32, 0));
        let (one, wide) = (&[0xe2, 2][..], &[0x67, 0xe2, 2][..]);
        assert!(!taken(one, 1, 0) && taken(one, 2, 0) && taken(one, 0, 0));
        assert!(taken(one, 1 << 32 | 1, 0) && !taken(wide, 1 << 32 | 1, 0));
        let (loope, loopne) = (&[0xe1, 2][..], &[0xe0, 2][..]);
        assert!(taken(loope, 2, ZERO) && !taken(loope, 2, 0) && !taken(loope, 1, ZERO));
        assert!(!taken(loopne, 2, ZERO) && taken(loopne, 2, 0));
    }
}
