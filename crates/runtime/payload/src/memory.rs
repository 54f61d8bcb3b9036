//! The memory functions that compiled code calls, which no C library provides here.
//!
//! Nearly all that is copied are some bytes of code or a record, for which the processor's string instructions
//! take longer to begin than loads and stores take in all.

use core::arch::asm;

#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: the caller's promise: `count` bytes at both, not overlapping.
    unsafe {
        if count <= SMALL {
            copy_small(to, from, count);
        } else {
            asm!("rep movsb", inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
        }
    }
    to
}

/// Most bytes that [`copy_small`] copies.
const SMALL: usize = 64;

/// Copies up to [`SMALL`] bytes. All are loaded before the first is stored, so both places may overlap.
#[inline(always)]
unsafe fn copy_small(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: the caller's promise: `count` bytes at both. Each pair of a size covers what lies between its lower
    // bound and twice the size.
    unsafe {
        match count {
            0 => {}
            1 => to.write(from.read()),
            2..4 => copy_ends::<u16>(to, from, count),
            4..8 => copy_ends::<u32>(to, from, count),
            8..16 => copy_ends::<u64>(to, from, count),
            16..=32 => copy_ends::<u128>(to, from, count),
            _ => copy_ends::<[u128; 2]>(to, from, count),
        }
    }
}

/// Copies the first and the last bytes of `count`, as many as a `T` has.
#[inline(always)]
unsafe fn copy_ends<T: Copy>(to: *mut u8, from: *const u8, count: usize) {
    let last = count - size_of::<T>();
    // SAFETY: the caller's promise, for no fewer bytes than a `T` has.
    unsafe {
        let (head, tail) = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
        to.cast::<T>().write_unaligned(head);
        to.add(last).cast::<T>().write_unaligned(tail);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: the caller's promise. Copying upwards overwrites nothing that is still to be read if the place to
    // copy to does not begin within what is copied; else blocks are copied downwards, each loaded as a whole.
    unsafe {
        if (to as usize).wrapping_sub(from as usize) >= count {
            return memcpy(to, from, count);
        }
        let mut left = count;
        while left > SMALL {
            left -= SMALL;
            copy_small(to.add(left), from.add(left), SMALL);
        }
        copy_small(to, from, left);
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, count: usize) -> *mut u8 {
    // SAFETY: the caller's promise: `count` bytes at `to`.
    unsafe {
        asm!("rep stosb", inout("rcx") count => _, inout("rdi") to => _, in("al") value as u8, options(nostack, preserves_flags));
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    for at in 0..count {
        // SAFETY: the caller's promise: `count` bytes at both. Volatile, or this becomes a call to itself.
        let (x, y) = unsafe { (a.add(at).read_volatile(), b.add(at).read_volatile()) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: as promised by the caller.
    unsafe { memcmp(a, b, count) }
}
