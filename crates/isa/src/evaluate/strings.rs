//! String instructions that move and fill memory.

use super::operand::{Operand, read_memory, write};
use super::state::{DIRECTION, Memory, State};
use crate::decode::repeats;
use iced_x86::{Code, Instruction, Register};

/// Bytes that one instruction may move: more take too long.
const MOST_BYTES: u64 = 4096;

/// Executes `movs` or `stos`, repeated or not. What is half done when memory ends stays noted in memory; the
/// registers tell what the processor has done by then no more, so that evaluation has to stop there.
pub(super) fn string(decoded: &Instruction, state: &mut State, memory: &mut impl Memory) -> Option<()> {
    let (size, moves) = match decoded.code() {
        Code::Movsb_m8_m8 => (1, true),
        Code::Movsw_m16_m16 => (2, true),
        Code::Movsd_m32_m32 => (4, true),
        Code::Movsq_m64_m64 => (8, true),
        Code::Stosb_m8_AL => (1, false),
        Code::Stosw_m16_AX => (2, false),
        Code::Stosd_m32_EAX => (4, false),
        Code::Stosq_m64_RAX => (8, false),
        _ => return None,
    };
    let narrow = decoded.op0_kind() != iced_x86::OpKind::MemoryESRDI;
    let replaced = moves && !matches!(decoded.memory_segment(), Register::DS | Register::None);
    let repeated = repeats(decoded);
    let times = if repeated { state.general[1] } else { 1 };
    if narrow || replaced || state.flags & DIRECTION != 0 || times > MOST_BYTES / size as u64 {
        return None;
    }
    let mut work = *state;
    for _ in 0..times {
        let value = match moves {
            true => read_memory(work.general[6], size, memory)?,
            false => work.general[0],
        };
        let to = (Operand::Memory(work.general[7]), size);
        write(to, value, &mut work, memory)?;
        work.general[7] = work.general[7].wrapping_add(size as u64);
        work.general[6] = work.general[6].wrapping_add(if moves { size as u64 } else { 0 });
        work.general[1] = work.general[1].wrapping_sub(u64::from(repeated));
    }
    *state = work;
    Some(())
}
