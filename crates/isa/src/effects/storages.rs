//! Sets of what instructions read and write beside memory.

use crate::flags::FlagSet;
use crate::numbers::numbers;
use iced_x86::Register;

/// A set of storages: registers whole, but the lower 16 bytes of a vector register apart from the rest of it, and each
/// flag by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Storages(u128);

/// Where the vector registers stand, their lower 16 bytes each.
const VECTORS: u8 = 16;
/// Where their upper parts stand.
const UPPER: u8 = 48;
const MASKS: u8 = 80;
const FLAGS: u8 = 88;
/// The x87 and MMX registers with their control and status.
const FPU: u8 = 94;
/// All else that an instruction may depend on or change: direction flag, segments, control registers.
const OTHER: u8 = 95;

/// The number of the stack pointer.
pub const STACK_POINTER: u8 = 4;

impl Storages {
    /// Nothing.
    pub const NONE: Storages = Storages(0);
    /// Everything that there is.
    pub const ALL: Storages = Storages((1 << 96) - 1);
    /// All six flags.
    pub const FLAGS: Storages = Storages(0x3f << FLAGS);
    /// Numbers are below this.
    pub const COUNT: usize = 96;

    /// The one with this number.
    pub const fn one(number: u8) -> Storages {
        Storages(1 << number)
    }

    pub(super) const FPU: Storages = Storages::one(FPU);
    pub(super) const OTHER: Storages = Storages::one(OTHER);

    /// Those of a register: of a vector register, up to its size.
    pub(super) fn of(register: Register) -> Storages {
        let full = register.full_register();
        let number = full.number() as u8;
        match full {
            Register::None | Register::RIP | Register::EIP => Storages::NONE,
            full if full.is_gpr64() => Storages::one(number),
            full if full.is_vector_register() => {
                let upper = if register.is_xmm() { Storages::NONE } else { Storages::one(UPPER + number) };
                Storages::one(VECTORS + number).union(upper)
            }
            full if full.is_k() => Storages::one(MASKS + number),
            full if full.is_st() || full.is_mm() => Storages::FPU,
            _ => Storages::OTHER,
        }
    }

    pub(super) fn of_flags(flags: FlagSet) -> Storages {
        Storages(u128::from(flags.bits()) << FLAGS)
    }

    /// Those of both.
    pub const fn union(self, other: Storages) -> Storages {
        Storages(self.0 | other.0)
    }

    /// Those in this set and not in `other`.
    pub const fn without(self, other: Storages) -> Storages {
        Storages(self.0 & !other.0)
    }

    /// Those in both.
    pub const fn intersection(self, other: Storages) -> Storages {
        Storages(self.0 & other.0)
    }

    /// Whether the sets share one.
    pub const fn intersects(self, other: Storages) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the one with this number is in it.
    pub const fn contains(self, number: u8) -> bool {
        self.0 >> number & 1 == 1
    }

    /// Their numbers, in order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        numbers(self.0)
    }
}

/// What a storage is called.
pub fn storage_name(number: u8) -> &'static str {
    const GENERAL: [&str; 16] = [
        "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
        "r14", "r15",
    ];
    const VECTOR: [&str; 32] = [
        "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22",
        "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31",
    ];
    const MASK: [&str; 8] = ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"];
    match number {
        ..VECTORS => GENERAL[usize::from(number)],
        VECTORS..UPPER => VECTOR[usize::from(number - VECTORS)],
        UPPER..MASKS => VECTOR[usize::from(number - UPPER)],
        MASKS..FLAGS => MASK[usize::from(number - MASKS)],
        FLAGS..FPU => "rflags",
        _ => "state",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports say of each that it is overwritten, or holds something.
    #[test]
    fn each_storage_is_called_by_one_name() {
        assert_eq!(
            [0, VECTORS, MASKS, FLAGS, FPU].map(storage_name),
            ["rax", "xmm0", "k0", "rflags", "state"]
        );
    }
}
