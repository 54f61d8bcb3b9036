//! Arithmetic: results and flags.

use super::state::{ARITHMETIC, AUXILIARY, CARRY, OVERFLOW, PARITY, SIGN, ZERO, extended, mask};
use iced_x86::Mnemonic;

/// A result, and what it does to the flags.
pub(super) struct Result {
    /// The value, in as many bytes as the operands have.
    pub value: u64,
    /// Flags that are written.
    pub written: u64,
    /// What they are set to.
    pub flags: u64,
    /// Flags that are left undefined.
    pub undefined: u64,
}

/// Zero, sign and parity of a value.
fn flags_of(value: u64, size: usize) -> u64 {
    let value = value & mask(size);
    let mut flags = if value == 0 { ZERO } else { 0 };
    if is_negative(value, size) {
        flags |= SIGN;
    }
    if (value as u8).count_ones().is_multiple_of(2) {
        flags |= PARITY;
    }
    flags
}

fn is_negative(value: u64, size: usize) -> bool {
    value >> (8 * size - 1) & 1 == 1
}

fn flag(flag: u64, is_set: bool) -> u64 {
    if is_set { flag } else { 0 }
}

/// An operation on two values; `carry` is the flag before. `None` of other operations.
pub(super) fn binary(mnemonic: Mnemonic, size: usize, a: u64, b: u64, carry: bool) -> Option<Result> {
    let (a, b) = (a & mask(size), b & mask(size));
    match mnemonic {
        Mnemonic::Add => Some(sum(size, a, b, false)),
        Mnemonic::Adc => Some(sum(size, a, b, carry)),
        Mnemonic::Sub | Mnemonic::Cmp => Some(difference(size, a, b, false)),
        Mnemonic::Sbb => Some(difference(size, a, b, carry)),
        Mnemonic::And | Mnemonic::Test => Some(logical(size, a & b)),
        Mnemonic::Or => Some(logical(size, a | b)),
        Mnemonic::Xor => Some(logical(size, a ^ b)),
        _ => None,
    }
}

fn sum(size: usize, a: u64, b: u64, carry: bool) -> Result {
    let wide = u128::from(a) + u128::from(b) + u128::from(carry);
    let value = wide as u64 & mask(size);
    let flags = flags_of(value, size)
        | flag(CARRY, wide >> (8 * size) != 0)
        | flag(AUXILIARY, (a ^ b ^ value) & 16 != 0)
        | flag(OVERFLOW, is_negative((a ^ value) & (b ^ value), size));
    Result { value, written: ARITHMETIC, flags, undefined: 0 }
}

fn difference(size: usize, a: u64, b: u64, borrow: bool) -> Result {
    let value = a.wrapping_sub(b).wrapping_sub(borrow.into()) & mask(size);
    let flags = flags_of(value, size)
        | flag(CARRY, u128::from(a) < u128::from(b) + u128::from(borrow))
        | flag(AUXILIARY, (a ^ b ^ value) & 16 != 0)
        | flag(OVERFLOW, is_negative((a ^ b) & (a ^ value), size));
    Result { value, written: ARITHMETIC, flags, undefined: 0 }
}

fn logical(size: usize, value: u64) -> Result {
    Result { value, written: ARITHMETIC, flags: flags_of(value, size), undefined: 0 }
}

/// An operation on one value. `None` of other operations.
pub(super) fn unary(mnemonic: Mnemonic, size: usize, a: u64) -> Option<Result> {
    let a = a & mask(size);
    match mnemonic {
        Mnemonic::Inc => Some(Result { written: ARITHMETIC & !CARRY, ..sum(size, a, 1, false) }),
        Mnemonic::Dec => Some(Result { written: ARITHMETIC & !CARRY, ..difference(size, a, 1, false) }),
        Mnemonic::Neg => Some(difference(size, 0, a, false)),
        Mnemonic::Not => Some(Result { value: !a & mask(size), written: 0, flags: 0, undefined: 0 }),
        _ => None,
    }
}

/// A shift. By nothing it leaves the flags alone. `None` of other operations.
pub(super) fn shift(mnemonic: Mnemonic, size: usize, a: u64, count: u64) -> Option<Result> {
    let a = a & mask(size);
    let count = count as u32 & if size == 8 { 63 } else { 31 };
    let bits = 8 * size as u32;
    if count == 0 {
        return Some(Result { value: a, written: 0, flags: 0, undefined: 0 });
    }
    let (value, carry, overflow) = match mnemonic {
        Mnemonic::Shl | Mnemonic::Sal => {
            let wide = u128::from(a) << count;
            let value = wide as u64 & mask(size);
            let carry = wide >> bits & 1 == 1;
            (value, carry, is_negative(value, size) != carry)
        }
        Mnemonic::Shr => {
            (u128::from(a).wrapping_shr(count) as u64, a >> (count - 1) & 1 == 1, is_negative(a, size))
        }
        Mnemonic::Sar => {
            let wide = extended(a, size) as i64;
            ((wide >> count) as u64 & mask(size), wide >> (count - 1) & 1 == 1, false)
        }
        _ => return None,
    };
    // Shifts by more than the operand has leave no defined carry.
    let undefined = AUXILIARY | flag(OVERFLOW, count > 1) | flag(CARRY, count >= bits && size < 4);
    let flags = flags_of(value, size) | flag(CARRY, carry) | flag(OVERFLOW, overflow);
    Some(Result { value, written: ARITHMETIC & !undefined, flags, undefined })
}

/// A signed product, of which only the lower half is kept.
pub(super) fn product(size: usize, a: u64, b: u64) -> Result {
    let wide = i128::from(extended(a, size) as i64) * i128::from(extended(b, size) as i64);
    let value = wide as u64 & mask(size);
    let lost = wide != i128::from(extended(value, size) as i64);
    let written = CARRY | OVERFLOW;
    Result { value, written, flags: flag(written, lost), undefined: ARITHMETIC & !written }
}

/// Quotient and remainder of a value of twice the size, in two halves. `None` where the processor faults, and where
/// the upper half of a value of 16 bytes is not what its lower half alone makes it.
pub(super) fn quotient(size: usize, high: u64, low: u64, by: u64, signed: bool) -> Option<(u64, u64)> {
    let (high, low) = (high & mask(size), low & mask(size));
    let wide = match size {
        8 if high == if signed { ((low as i64) >> 63) as u64 } else { 0 } => low,
        8 => return None,
        _ => high << (8 * size) | low,
    };
    let (quotient, remainder) = if signed {
        let (wide, by) = (extended(wide, 2 * size) as i64, extended(by, size) as i64);
        (wide.checked_div(by)? as u64, wide.checked_rem(by)? as u64)
    } else {
        let by = by & mask(size);
        (wide.checked_div(by)?, wide.checked_rem(by)?)
    };
    let kept = quotient & mask(size);
    let back = if signed { extended(kept, size) } else { kept };
    (back == quotient).then_some((kept, remainder & mask(size)))
}
