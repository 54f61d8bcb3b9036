//! The system call filters that the program installed, worked out for the runtime's own calls: one that
//! a filter does not let pass might end the program, so it is not made.
//!
//! Filters are programs of the classic Berkeley packet filter over a description of the call. They hold
//! for the threads that install them and what those make; here they are taken to hold for the process.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// An instruction of a filter, as the kernel has it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Instruction {
    /// What is done.
    pub code: u16,
    /// Instructions that a jump skips if its condition holds.
    pub if_true: u8,
    /// Instructions that it skips otherwise.
    pub if_false: u8,
    /// The constant.
    pub k: u32,
}

impl Instruction {
    /// From the 8 bytes of the kernel's `struct sock_filter`.
    pub fn read(bytes: &[u8]) -> Instruction {
        let code = u16::from_le_bytes([bytes[0], bytes[1]]);
        let k = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        Instruction { code, if_true: bytes[2], if_false: bytes[3], k }
    }
}

/// Most instructions that the kernel takes.
pub const LONGEST: usize = 4096;

/// A filter that may be in force.
pub struct Filter {
    /// Empty for the strict mode, which lets none of the runtime's calls pass.
    program: Vec<Instruction>,
    withdrawn: AtomicBool,
    previous: *const Filter,
}

/// The latest filter; none is ever taken off.
static LATEST: AtomicPtr<Filter> = AtomicPtr::new(ptr::null_mut());

/// Takes a filter for installed from now on. Under the process lock.
pub fn add(program: Vec<Instruction>) -> &'static Filter {
    let previous = LATEST.load(Ordering::Relaxed).cast_const();
    let filter = Box::leak(Box::new(Filter { program, withdrawn: AtomicBool::new(false), previous }));
    LATEST.store(filter, Ordering::Release);
    filter
}

impl Filter {
    /// The kernel did not take it.
    pub fn withdraw(&self) {
        self.withdrawn.store(true, Ordering::Relaxed);
    }

    /// Whether the filter lets a call pass. It is not if it depends on where the call is made, which is
    /// nowhere in particular.
    fn passes(&self, number: u64, arguments: &[u64; 6]) -> bool {
        const ALLOW: u32 = 0x7fff_0000;
        const LOG: u32 = 0x7ffc_0000;
        matches!(evaluate(&self.program, &Call { number, arguments }), Some(ALLOW | LOG))
    }
}

fn in_force() -> impl Iterator<Item = &'static Filter> {
    // SAFETY: filters are leaked, and complete before they are linked.
    let first = unsafe { LATEST.load(Ordering::Acquire).as_ref() };
    // SAFETY: likewise.
    let filters = core::iter::successors(first, |filter| unsafe { filter.previous.as_ref() });
    filters.filter(|filter| !filter.withdrawn.load(Ordering::Relaxed))
}

/// Whether any system calls are restricted.
pub fn is_confined() -> bool {
    in_force().next().is_some()
}

/// Whether all filters let a call pass.
pub fn allows(number: u64, arguments: &[u64; 6]) -> bool {
    in_force().all(|filter| filter.passes(number, arguments))
}

/// What a filter looks at.
struct Call<'a> {
    number: u64,
    arguments: &'a [u64; 6],
}

impl Call<'_> {
    const SIZE: u32 = 64;

    /// The word at an offset of the kernel's `struct seccomp_data`.
    fn word(&self, offset: u32) -> Option<u32> {
        const ARCHITECTURE: u32 = 0xc000_003e;
        match offset {
            0 => Some(self.number as u32),
            4 => Some(ARCHITECTURE),
            16..Self::SIZE if offset.is_multiple_of(4) => {
                let argument = self.arguments[(offset as usize - 16) / 8];
                Some((argument >> (offset % 8 * 8)) as u32)
            }
            _ => None,
        }
    }
}

/// What a filter answers; none if it does what is not known.
fn evaluate(program: &[Instruction], call: &Call) -> Option<u32> {
    let mut scratch = [0u32; 16];
    let (mut a, mut x) = (0u32, 0u32);
    let mut at = 0usize;
    loop {
        let &Instruction { code, if_true, if_false, k } = program.get(at)?;
        at += 1;
        // Bit 3 chooses between the constant and the index register.
        let operand = if code & 0x08 == 0 { k } else { x };
        match code {
            0x00 => a = k,
            0x01 => x = k,
            0x20 => a = call.word(k)?,
            0x80 => a = Call::SIZE,
            0x81 => x = Call::SIZE,
            0x60 => a = *scratch.get(k as usize)?,
            0x61 => x = *scratch.get(k as usize)?,
            0x02 => *scratch.get_mut(k as usize)? = a,
            0x03 => *scratch.get_mut(k as usize)? = x,
            0x07 => x = a,
            0x87 => a = x,
            0x04 | 0x0c => a = a.wrapping_add(operand),
            0x14 | 0x1c => a = a.wrapping_sub(operand),
            0x24 | 0x2c => a = a.wrapping_mul(operand),
            // A division by 0 ends the filter with 0.
            0x34 | 0x3c if operand == 0 => return Some(0),
            0x34 | 0x3c => a /= operand,
            0x44 | 0x4c => a |= operand,
            0x54 | 0x5c => a &= operand,
            0x64 | 0x6c => a = a.checked_shl(operand).unwrap_or(0),
            0x74 | 0x7c => a = a.checked_shr(operand).unwrap_or(0),
            0x84 => a = a.wrapping_neg(),
            0xa4 | 0xac => a ^= operand,
            0x05 => at += k as usize,
            0x15 | 0x1d | 0x25 | 0x2d | 0x35 | 0x3d | 0x45 | 0x4d => {
                let holds = match code & 0xf0 {
                    0x10 => a == operand,
                    0x20 => a > operand,
                    0x30 => a >= operand,
                    _ => a & operand != 0,
                };
                at += usize::from(if holds { if_true } else { if_false });
            }
            0x06 => return Some(k),
            0x16 => return Some(a),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOW: u32 = 0x7fff_0000;

    fn answer(program: &[(u16, u8, u8, u32)], number: u64, arguments: [u64; 6]) -> Option<u32> {
        let program: Vec<Instruction> = program
            .iter()
            .map(|&(code, if_true, if_false, k)| Instruction { code, if_true, if_false, k })
            .collect();
        evaluate(&program, &Call { number, arguments: &arguments })
    }

    #[test]
    fn a_list_of_allowed_calls() {
        // Another architecture is killed, 1 and 231 are allowed, all else is an error.
        let program = [
            (0x20, 0, 0, 4),
            (0x15, 1, 0, 0xc000_003e),
            (0x06, 0, 0, 0),
            (0x20, 0, 0, 0),
            (0x15, 2, 0, 1),
            (0x15, 1, 0, 231),
            (0x06, 0, 0, 0x5_0001),
            (0x06, 0, 0, ALLOW),
        ];
        assert_eq!([1, 231, 2].map(|n| answer(&program, n, [0; 6])), [ALLOW, ALLOW, 0x5_0001].map(Some));
    }

    #[test]
    fn both_halves_of_an_argument() {
        // (second argument >> 32) == 7 and its low half has bit 3 set.
        let program = [
            (0x20, 0, 0, 28),
            (0x15, 0, 3, 7),
            (0x20, 0, 0, 24),
            (0x45, 0, 1, 8),
            (0x06, 0, 0, ALLOW),
            (0x06, 0, 0, 0),
        ];
        let with = |argument: u64| answer(&program, 9, [1, argument, 2, 3, 4, 5]);
        assert_eq!(with(7 << 32 | 9), Some(ALLOW));
        assert_eq!(with(7 << 32 | 1), Some(0));
        assert_eq!(with(8 << 32 | 9), Some(0));
    }

    #[test]
    fn arithmetic_and_memory() {
        // ((number * 3 - 1) & 0xff) << 4, kept in memory, plus the size of what is looked at.
        let program = [
            (0x20, 0, 0, 0),
            (0x24, 0, 0, 3),
            (0x14, 0, 0, 1),
            (0x54, 0, 0, 0xff),
            (0x64, 0, 0, 4),
            (0x02, 0, 0, 2),
            (0x81, 0, 0, 0),
            (0x60, 0, 0, 2),
            (0x0c, 0, 0, 0),
            (0x16, 0, 0, 0),
        ];
        assert_eq!(answer(&program, 100, [0; 6]), Some(((100 * 3 - 1) & 0xff) * 16 + 64));
        assert_eq!(answer(&[(0x01, 0, 0, 0), (0x3c, 0, 0, 0), (0x06, 0, 0, ALLOW)], 1, [0; 6]), Some(0));
    }

    #[test]
    fn what_is_not_known_does_not_pass() {
        assert_eq!(answer(&[], 1, [0; 6]), None);
        assert_eq!(answer(&[(0x20, 0, 0, 8), (0x06, 0, 0, ALLOW)], 1, [0; 6]), None);
        assert_eq!(answer(&[(0x20, 0, 0, 18), (0x06, 0, 0, ALLOW)], 1, [0; 6]), None);
        assert_eq!(answer(&[(0x05, 0, 0, 9), (0x06, 0, 0, ALLOW)], 1, [0; 6]), None);
        assert_eq!(answer(&[(0x28, 0, 0, 0), (0x06, 0, 0, ALLOW)], 1, [0; 6]), None);
    }
}
