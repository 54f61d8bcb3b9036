//! Indirect jumps, indirect calls and returns: found inline, without a flag changed.
//!
//! Every site jumps through a table, at a place made of its own number and the target. The stub that the
//! entry leads to knows the one target that it stands for, and checks it; so the check needs no load and
//! the edge is counted where it is found. Stubs that share an entry form a chain, which ends in the
//! dispatcher. Each site has a jump of its own, so that the processor predicts each by itself.

use crate::emit::{Borrowed, Code, gs, spill_slot};
use crate::entry;
use core::sync::atomic::{AtomicBool, Ordering};
use timewise_isa::{Control, Instruction};

/// Entries of one table, and sites that share it: with so many, no two sites of a table put the same
/// target at the same place, so that a stub which finds its target has also found its site.
pub const ENTRIES: u32 = 1 << 16;

/// Odd, so that multiplication permutes the numbers below [`ENTRIES`] and spreads neighbours.
const SPREAD: u32 = 40503;

/// [`SPREAD`] times this is 1 modulo [`ENTRIES`].
const UNSPREAD: u32 = inverse(SPREAD);

/// Slots for the registers that an indirect branch borrows.
pub const RCX_SLOT: u32 = 0;
/// Likewise.
pub const RDX_SLOT: u32 = 1;

/// Spill slot of the third register that is borrowed where more is done at a branch.
pub const RAX_SLOT: u32 = 4;

/// Spill slot of the second register that is borrowed at a direct call.
pub const R11_SLOT: u32 = 5;

const fn inverse(odd: u32) -> u32 {
    let mut x = odd;
    let mut round = 0;
    while round < 5 {
        x = x.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(x)));
        round += 1;
    }
    x % ENTRIES
}

/// What a site adds to its target.
pub fn salt(site: u32) -> u32 {
    site.wrapping_mul(SPREAD) % ENTRIES
}

/// The entry at which a site's branch to `target` looks.
pub fn index_of(site: u32, target: u64) -> u32 {
    (target as u32).wrapping_add(salt(site)) % ENTRIES
}

/// The site whose branch to `target` met entry `index` of table `table`.
pub fn site_of(table: u32, index: u32, target: u64) -> u32 {
    let salt = index.wrapping_sub(target as u32) % ENTRIES;
    table * ENTRIES + salt.wrapping_mul(UNSPREAD) % ENTRIES
}

/// Number of the table for a site.
pub fn table_number(site: u32) -> u32 {
    site / ENTRIES
}

/// Emits an indirect branch; `pool` makes a constant in memory for a return address. The position in the
/// code where the branch can no longer be taken back, but for the registers that it borrows; none if the
/// instruction has a form that is not handled.
pub fn emit(
    code: &mut Code,
    bytes: &[u8],
    instruction: &Instruction,
    site: u32,
    table: u32,
    pool: impl FnOnce(u64) -> u64,
) -> Option<usize> {
    code.store(spill_slot(RCX_SLOT), Borrowed::Rcx);
    code.store(spill_slot(RDX_SLOT), Borrowed::Rdx);
    let done;
    match instruction.control {
        Control::Return { discard } => {
            code.raw(&[0x5a]); // pop rdx
            done = code.bytes.len();
            if discard > 0 {
                code.raw(&[0x48, 0x8d, 0xa4, 0x24]); // lea rsp, [rsp+discard]
                code.raw(&u32::from(discard).to_le_bytes());
            }
        }
        _ => {
            if !load_target(code, bytes, instruction) {
                return None;
            }
            if instruction.control == Control::IndirectCall {
                let back = instruction.next();
                code.push_constant(back, || pool(back));
            }
            done = code.bytes.len();
        }
    }
    code.raw(&[0x8d, 0x8a]); // lea ecx, [rdx+salt]
    code.raw(&salt(site).to_le_bytes());
    code.raw(&[0x0f, 0xb7, 0xc9]); // movzx ecx, cx
    code.raw(&[0xff, 0x24, 0xcd]); // jmp [rcx*8+table]
    code.raw(&table.to_le_bytes());
    Some(done)
}

/// `mov rdx, operand` for the operand of an indirect `jmp` or `call`.
fn load_target(code: &mut Code, bytes: &[u8], instruction: &Instruction) -> bool {
    // Legacy prefixes, perhaps REX, then FF and its operand.
    let mut at = 0;
    let mut rewritten = [0u8; timewise_isa::MAX_LENGTH + 1];
    let mut length = 0;
    let mut push = |byte: u8| {
        rewritten[length] = byte;
        length += 1;
    };
    while matches!(bytes[at], 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x66 | 0x67 | 0xf2 | 0xf3) {
        // Of the prefixes, a segment and a short address size change the operand; the others announce
        // that the branch is tracked, bounded or sized, which a load cannot be.
        if matches!(bytes[at], 0x64 | 0x65 | 0x67) {
            push(bytes[at]);
        }
        at += 1;
    }
    let rex = if bytes[at] & 0xf0 == 0x40 { bytes[at] } else { 0x40 };
    at += usize::from(bytes[at] & 0xf0 == 0x40);
    if bytes[at] != 0xff {
        return false;
    }
    push(0x48 | (rex & 0x03));
    push(0x8b);
    push((bytes[at + 1] & 0xc7) | (Borrowed::Rdx as u8) << 3);
    for &byte in &bytes[at + 2..] {
        push(byte);
    }
    let rewritten = &rewritten[..length];
    match instruction.relative_operand {
        None => {
            code.raw(rewritten);
            true
        }
        Some((_, target)) => {
            let place = length - 4;
            if !code.relocated(rewritten, place, target) && !code.absolute(rewritten, place, target) {
                code.load_constant(Borrowed::Rdx as u8, target);
                code.raw(&[0x48, 0x8b, 0x12]); // mov rdx, [rdx]
            }
            true
        }
    }
}

/// The byte by which a check is switched off, so that it always fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switch {
    /// How far behind the check's first instruction it stands.
    pub at: u8,
    /// What it holds.
    pub on: u8,
    /// What it holds when the check is off.
    pub off: u8,
}

/// Whether a check ends in `loop`.
static BY_LOOP: AtomicBool = AtomicBool::new(false);

/// Says how checks end: in `loop`, which leads on where the target is another, or in `jrcxz` over a jump, which
/// is taken where it is the one.
pub fn check_by_loop(by_loop: bool) {
    BY_LOOP.store(by_loop, Ordering::Relaxed);
}

/// Emits the check that an indirect branch goes to `target`, and before it what follows if it fails: on to `next`. Where
/// the check begins, and how it is switched off. `rcx` and `rdx` are still borrowed after it.
pub fn emit_check(code: &mut Code, target: u64, table: u32, index: u32, next: Option<u64>) -> (u64, Switch) {
    let next = next.unwrap_or_else(|| entry::miss_routine(table));
    emit_check_by(BY_LOOP.load(Ordering::Relaxed), code, target, index, next)
}

/// The same, by `loop` or not.
pub(crate) fn emit_check_by(
    by_loop: bool,
    code: &mut Code,
    target: u64,
    index: u32,
    next: u64,
) -> (u64, Switch) {
    const LOOP: u8 = 0xe2;
    const JUMP: u8 = 0xeb;
    let failed = code.bytes.len();
    code.raw(&[0xb9]); // mov ecx, index: as the table's jump left it
    code.raw(&index.to_le_bytes());
    code.jump_far(next);
    let begin = code.bytes.len();
    // `loop` takes one off before it looks whether there is anything left.
    let sum = u64::from(by_loop).wrapping_sub(target);
    if target <= i32::MAX as u64 {
        code.raw(&[0x48, 0x8d, 0x8a]); // lea rcx, [rdx+sum]
        code.raw(&(sum as u32).to_le_bytes());
    } else {
        code.raw(&[0x48, 0xb9]); // mov rcx, sum
        code.raw(&sum.to_le_bytes());
        code.raw(&[0x48, 0x8d, 0x0c, 0x0a]); // lea rcx, [rdx+rcx]
    }
    let branch = code.bytes.len();
    if !by_loop {
        code.raw(&[0xe3, 2]); // jrcxz over the jump
    }
    let jump = code.bytes.len();
    let back = failed.wrapping_sub(jump + 2) as u8;
    code.raw(&[if by_loop { LOOP } else { JUMP }, back]);
    let at = (branch - begin) as u8;
    let switch = match by_loop {
        true => Switch { at, on: LOOP, off: JUMP },
        false => Switch { at: at + 1, on: 2, off: 0 },
    };
    (code.address + begin as u64, switch)
}

/// Gives back the registers that an indirect branch borrows.
pub fn give_back(code: &mut Code) {
    code.load(Borrowed::Rcx, spill_slot(RCX_SLOT));
    code.load(Borrowed::Rdx, spill_slot(RDX_SLOT));
}

/// Where translated code says which entry it missed, and the target.
pub const MISSED: u32 = gs!(missed);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::memory::map_at;

    #[test]
    fn the_site_follows_from_entry_and_target() {
        for (site, target) in [(0, 0x5555_1234_5678), (77, 0x40_1000), (70_000, u64::MAX)] {
            let index = index_of(site, target);
            assert_eq!(site_of(table_number(site), index, target), site);
        }
    }

    #[test]
    fn operands_are_loaded_as_the_branch_would() {
        let forms: [(&[u8], &[u8]); 4] = [
            (&[0xff, 0xe0], &[0x48, 0x8b, 0xd0]),                   // jmp rax
            (&[0x41, 0xff, 0xe3], &[0x49, 0x8b, 0xd3]),             // jmp r11
            (&[0x3e, 0xff, 0x24, 0xc8], &[0x48, 0x8b, 0x14, 0xc8]), // notrack jmp [rax+rcx*8]
            (&[0x64, 0xff, 0x14, 0x25, 8, 0, 0, 0], &[0x64, 0x48, 0x8b, 0x14, 0x25, 8, 0, 0, 0]), // call fs:[8]
        ];
        for (branch, load) in forms {
            let instruction = timewise_isa::decode(branch, 0x1000).unwrap();
            let mut code = Code::at(0);
            assert!(load_target(&mut code, branch, &instruction));
            assert_eq!(code.bytes, load);
        }
    }

    /// Either way in which a check may end, in code that is executed: the one that this processor would not get, too.
    #[test]
    fn a_check_lets_its_target_through_and_no_other_and_none_when_it_is_off() {
        const PLACE: u64 = 0x7123_4560_0000;
        const INDEX: u32 = 0x1234;
        map_at(PLACE, 4096, true).unwrap();
        for (by_loop, target) in [false, true].into_iter().flat_map(|by_loop| {
            [1, 0x40_1000, i32::MAX as u64, 1 << 31, 0x7000_0000_1000].map(|target| (by_loop, target))
        }) {
            // What a check that failed leads to says at which entry.
            let mut code = Code::at(PLACE);
            code.raw(&[0x89, 0xc8, 0xc3]); // mov eax, ecx; ret
            let (begin, switch) = emit_check_by(by_loop, &mut code, target, INDEX, PLACE);
            code.raw(&[0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff, 0xc3]); // mov rax, -1; ret
            let enter = code.here();
            code.raw(&[0x48, 0x89, 0xfa]); // mov rdx, rdi
            code.jump_far(begin);
            crate::cache::write(PLACE, &code.bytes);
            // SAFETY: the code that was just put there, which changes `rax`, `rcx` and `rdx` alone.
            let goes_to = unsafe { core::mem::transmute::<u64, extern "C" fn(u64) -> u64>(enter) };
            let others = [target - 1, target + 1, target ^ 1 << 32, !target];
            for is_on in [true, false, true] {
                let byte = if is_on { switch.on } else { switch.off };
                crate::cache::write(begin + u64::from(switch.at), &[byte]);
                assert_eq!(
                    goes_to(target),
                    if is_on { u64::MAX } else { INDEX.into() },
                    "{by_loop} {target:#x}"
                );
                assert!(others.iter().all(|&other| goes_to(other) == INDEX.into()), "{by_loop} {target:#x}");
            }
        }
    }
}
