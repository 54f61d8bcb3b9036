//! Control transfers and what evaluation refuses; arithmetic is compared with the processor in `tracer`.

use super::*;

/// Memory that reads as the address and one, where that is a multiple of 8, and cannot be written at 0.
struct Ascending;

impl Memory for Ascending {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        let word = (address + 1).to_le_bytes();
        bytes.copy_from_slice(&word[..bytes.len()]);
        address.is_multiple_of(8)
    }

    fn write(&mut self, address: u64, _: &[u8]) -> bool {
        address != 0
    }
}

fn step(bytes: &[u8], state: &mut State) -> Option<Way> {
    evaluate(&Decoded::new(bytes, 0x1000)?, state, &mut Ascending)
}

fn to(bytes: &[u8], state: &State) -> Option<(u64, bool)> {
    step(bytes, &mut state.clone()).map(|way| (way.address, way.taken))
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
    assert_eq!(to(&[0x64, 0xff, 0x20], &state), None); // jmp fs:[rax]: the base is not known
    state.segment_bases[0] = Some(0x7000);
    assert_eq!(to(&[0x64, 0xff, 0x20], &state), taken(0x7101));
    assert_eq!(to(&[0xeb, 0x10], &state), taken(0x1012));
    assert_eq!(to(&[0xe8, 0, 0, 0, 0], &state), taken(0x1005));
    assert_eq!(to(&[0x90], &state), Some((0x1001, false)));
    assert_eq!(to(&[0x0f, 0x05], &state), None);
    assert_eq!(to(&[0xff], &state), None);
}

#[test]
fn calls_and_returns_move_the_stack_pointer() {
    let mut state = State::default();
    state.general[4] = 0x8000;
    step(&[0xe8, 0, 0, 0, 0], &mut state).unwrap();
    assert_eq!(state.general[4], 0x7ff8);
    step(&[0xc2, 8, 0], &mut state).unwrap();
    assert_eq!(state.general[4], 0x8008);
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
    let mut counted = state(1 << 32 | 5, 0);
    step(wide, &mut counted).unwrap();
    assert_eq!(counted.general[1], 4);
}

#[test]
fn nothing_depends_on_flags_that_are_undefined() {
    let mut state = State::default();
    state.general[0] = 3;
    step(&[0x48, 0x0f, 0xaf, 0xc0], &mut state).unwrap(); // imul rax, rax
    assert_eq!(state.general[0], 9);
    assert_eq!(to(&[0x74, 2], &state), None); // je
    assert_eq!(to(&[0x72, 2], &state), Some((0x1002, false))); // jb: defined
    step(&[0x48, 0x85, 0xc0], &mut state).unwrap(); // test rax, rax
    assert_eq!(to(&[0x74, 2], &state), Some((0x1002, false)));
}

#[test]
fn what_faults_changes_nothing() {
    let mut state = State::default();
    state.general[1] = 0;
    let before = state;
    assert_eq!(step(&[0x48, 0xf7, 0xf1], &mut state), None); // div rcx
    assert_eq!(step(&[0x48, 0x89, 0x01], &mut state), None); // mov [rcx], rax
    assert_eq!(
        step(&[0x58], &mut {
            state.general[4] = 1;
            state
        }),
        None
    ); // pop rax
    state.general[4] = before.general[4];
    assert_eq!(state, before);
}
