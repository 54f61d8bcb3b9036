//! Conditions of branches against the processor itself.
#![cfg(target_arch = "x86_64")]

use timewise_isa::{Decoded, Memory, State, evaluate};

/// No memory at all.
struct Nothing;

impl Memory for Nothing {
    fn read(&mut self, _: u64, _: &mut [u8]) -> bool {
        false
    }

    fn write(&mut self, _: u64, _: &[u8]) -> bool {
        false
    }
}

/// All 16 conditions under all 32 values of the flags that they read, as the processor itself decides.
#[test]
fn conditions_agree_with_the_processor() {
    macro_rules! set {
        ($flags:expr, $($name:literal)*) => {
            [$({
                let result: u8;
                // SAFETY: changes flags and one register only; the direction flag stays clear.
                unsafe {
                    core::arch::asm!("push {f}", "popfq", concat!("set", $name, " {r}"),
                        f = in(reg) $flags, r = out(reg_byte) result);
                }
                result == 1
            }),*]
        };
    }
    for choice in 0..32_u64 {
        let bit = |at: u32, mask: u64| if choice >> at & 1 == 1 { mask } else { 0 };
        let flags = bit(0, 1) | bit(1, 1 << 2) | bit(2, 1 << 6) | bit(3, 1 << 7) | bit(4, 1 << 11);
        let real =
            set!(flags | 0x202, "o" "no" "b" "ae" "e" "ne" "be" "a" "s" "ns" "p" "np" "l" "ge" "le" "g");
        for (condition, real) in real.into_iter().enumerate() {
            let mut state = State { flags, ..State::default() };
            let branch = Decoded::new(&[0x70 + condition as u8, 0x10], 0x1000).unwrap();
            let expected = if real { 0x1012 } else { 0x1002 };
            let found = evaluate(&branch, &mut state, &mut Nothing).unwrap();
            assert_eq!((found.address, found.taken), (expected, real), "{condition} {flags:#x}");
        }
    }
}
