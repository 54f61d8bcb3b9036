//! Random straight code, evaluated as it is and without what can be left out: everything that is read later is the same.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;
use timewise_isa::{Decoded, Memory, State, evaluate};

/// Memory whose bytes are what their addresses say until they are written.
#[derive(Clone, Default, PartialEq, Debug)]
struct Bytes(HashMap<u64, u8>);

impl Bytes {
    fn at(&self, address: u64) -> u8 {
        self.0.get(&address).copied().unwrap_or((address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
    }

    fn is_as(&self, other: &Bytes) -> bool {
        self.0.keys().chain(other.0.keys()).all(|&address| self.at(address) == other.at(address))
    }
}

impl Memory for Bytes {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        let addresses = (0..).map(|distance| address.wrapping_add(distance));
        bytes.iter_mut().zip(addresses).for_each(|(byte, address)| *byte = self.at(address));
        true
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        self.0.extend((0..).map(|distance| address.wrapping_add(distance)).zip(bytes.iter().copied()));
        true
    }
}

/// An instruction made of three numbers: on few registers and few places in memory, so that they meet.
fn instruction([which, one, two]: [u8; 3]) -> Vec<u8> {
    const REGISTERS: [u8; 4] = [0, 1, 2, 3];
    let [a, b] = [one, two].map(|number| REGISTERS[usize::from(number) % 4]);
    let wide = if one & 0x80 == 0 { 0x48 } else { 0x40 };
    let both = 0xc0 | b << 3 | a;
    let slot = (two >> 2) % 4 * 4;
    let (stack, elsewhere) = (0x44 | a << 3, 0x43 | a << 3);
    match which % 28 {
        0 | 1 => vec![wide, 0x89, both],
        2 => vec![wide, 0x01, both],
        3 => vec![wide, 0x31, both],
        4 => vec![wide, 0x39, both],
        5 => vec![wide, 0x29, both],
        6 | 7 => vec![wide, 0x8b, stack, 0x24, slot],
        8 | 9 => vec![wide, 0x89, stack, 0x24, slot],
        10 => vec![wide, 0x8b, elsewhere, slot],
        11 => vec![wide, 0x89, elsewhere, slot],
        12 => vec![0x88, stack, 0x24, slot],
        13 => vec![0x88, both],
        14 => vec![wide, 0x83, 0xc0 | a, two & 7],
        15 => vec![wide, 0x8d, 0x40 | a << 3 | b, slot],
        16 => vec![0x0f, 0xb6, 0xc0 | a << 3 | b],
        17 => vec![0x0f, 0x94 | two >> 7, 0xc0 | a],
        18 => vec![wide, 0x0f, 0x44 | two >> 7, 0xc0 | a << 3 | b],
        19 => vec![0x50 | a],
        20 => vec![0x58 | a],
        21 => vec![wide, 0xc1, 0xe0 | a, two & 31],
        22 => vec![wide, 0x0f, 0xaf, 0xc0 | a << 3 | b],
        23 => vec![wide, 0xff, 0xc0 | a],
        25 => vec![0xc9],
        26 => vec![0x48, 0xf7, 0x60 | a, slot],
        24 => vec![wide, 0x01, stack, 0x24, slot],
        _ => vec![wide, 0xc7, 0xc0 | a, two & 3, 0, 0, 0],
    }
}

/// `mul` by what a register points to, which `evaluate` does not know.
fn multiply(register: u8, displacement: u8, state: &mut State, memory: &mut Bytes) {
    let address = state.general[usize::from(register)].wrapping_add(displacement.into());
    let mut factor = [0; 8];
    memory.read(address, &mut factor);
    let product = u128::from(state.general[0]) * u128::from(u64::from_le_bytes(factor));
    (state.general[0], state.general[2]) = (product as u64, (product >> 64) as u64);
    let (carry, overflow) = (1, 1 << 11);
    state.flags &= !(carry | overflow);
    if state.general[2] != 0 {
        state.flags |= carry | overflow;
    }
}

/// What is there after some code, of which some instructions are left out.
fn after(code: &[Vec<u8>], is_left_out: impl Fn(usize) -> bool) -> (State, Bytes) {
    let mut state = State::default();
    for (number, value) in state.general.iter_mut().enumerate() {
        *value = 0x1111_2222_8000 * (number as u64 + 1);
    }
    // What one of them points to is on the stack.
    state.general[3] = state.general[4] + 4;
    let mut memory = Bytes::default();
    for (position, bytes) in code.iter().enumerate().filter(|(position, _)| !is_left_out(*position)) {
        if let [0x48, 0xf7, place @ 0x60..0x68, displacement] = bytes[..] {
            multiply(place & 7, displacement, &mut state, &mut memory);
            continue;
        }
        let decoded = Decoded::new(bytes, 0x1000 + position as u64).unwrap();
        evaluate(&decoded, &mut state, &mut memory).unwrap();
        // What is undefined stays as it was, here.
        state.undefined_flags = 0;
    }
    (state, memory)
}

/// The flags that are read later, as bits of the flags register.
fn flags_of(live: Storages) -> u64 {
    const BITS: [u32; 6] = [0, 2, 4, 6, 7, 11];
    let first = Storages::FLAGS.iter().next().unwrap();
    (0..6).filter(|&flag| live.contains(first + flag)).map(|flag| 1 << BITS[usize::from(flag)]).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn code_does_the_same_without_it(
        numbers in prop::collection::vec(any::<[u8; 3]>(), 1..24),
        dead in prop::collection::vec(0u8..96, 0..8),
        kept in any::<u32>(),
    ) {
        let code: Vec<Vec<u8>> = numbers.into_iter().map(instruction).collect();
        let path: Vec<Effects> = code.iter().map(|bytes| effects(bytes, 0x1000)).collect();
        let path: Vec<&Effects> = path.iter().collect();
        let live = dead.into_iter().fold(Storages::ALL, |live, storage| live.without(Storages::one(storage)));
        let claims = wasted_on(&path, live);
        let is_removable = |position: usize| claims[position].is_some_and(|claim| claim.kind.is_removable());
        let (state, memory) = after(&code, |_| false);
        for chosen in [u32::MAX, kept] {
            let (other, written) = after(&code, |position| is_removable(position) && chosen >> position & 1 == 1);
            for register in (0..16).filter(|&register| live.contains(register)) {
                let values = [&state, &other].map(|state| state.general[usize::from(register)]);
                prop_assert_eq!(values[0], values[1], "{} of {:x?} {:?}", register, code, claims);
            }
            prop_assert_eq!(state.flags & flags_of(live), other.flags & flags_of(live), "{:x?} {:?}", code, claims);
            prop_assert!(memory.is_as(&written), "{:x?} {:?}", code, claims);
        }
    }
}
