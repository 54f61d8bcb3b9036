//! Looking ahead in small pieces of code.

extern crate alloc;

use super::*;
use crate::evaluation::{Evaluation, Visited, Work};
use crate::shadow::{GROUP, LINE, Source};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Code at 0x1000, and a stack up to 0x8000 of zeros.
struct Piece(&'static [u8]);

impl Source for Piece {
    fn line(&mut self, _: u64, _: &mut [u8; LINE]) -> bool {
        false
    }

    fn fetch(&mut self, address: u64, lines: &mut [[u8; LINE]; GROUP]) -> bool {
        let bytes = lines.as_flattened_mut();
        bytes.fill(0);
        if (0x1000..0x1100).contains(&address) {
            bytes[..self.0.len()].copy_from_slice(self.0);
            return true;
        }
        (0x7000..0x8000).contains(&address)
    }
}

/// Effort, at most.
const MOST: u32 = 1 << 16;

/// All visits are noted.
const ALL: Visited = Visited { most: u32::MAX, first: true };

struct Noted {
    branches: Vec<(u64, u64)>,
    conditional: u64,
    length: usize,
}

impl Branches for Noted {
    fn push(&mut self, from: u64, to: u64) {
        self.branches.push((from, to));
    }

    fn decided(&mut self) {
        self.conditional += 1;
    }

    fn reach(&self) -> Reach {
        let pairs = self.branches.len() as u64;
        Reach { pairs, conditional: self.conditional, ..Reach::default() }
    }

    fn full(&self) -> bool {
        self.branches.len() >= self.length
    }
}

/// What is found from the start of `code` with a stack at 0x7ff0: what to do, the branches, and the state there.
fn ahead(code: &'static [u8], length: usize) -> (Next, Noted, State) {
    let mut state = State::default();
    state.general[4] = 0x7ff0;
    let mut noted = Noted { branches: Vec::new(), conditional: 0, length };
    // SAFETY: all zeros is a value of it.
    let mut work = unsafe { Box::<Work>::new_zeroed().assume_init() };
    let mut evaluation = Evaluation::new(&mut work, Piece(code), None, ALL);
    let next = look_ahead(0x1000, &mut state, &mut evaluation, &mut noted, None, MOST);
    (next, noted, state)
}

#[test]
fn what_writes_memory_is_counted_once_an_instruction() {
    // 0: push rcx; 1: call 7; 6: nop; 7: mov rax,[rsp]; b: lea rdi,[rsp-64]; 10: mov ecx,9; 15: rep stosb; 17: syscall
    let code = &[
        0x51, 0xe8, 1, 0, 0, 0, 0x90, 0x48, 0x8b, 0x04, 0x24, 0x48, 0x8d, 0x7c, 0x24, 0xc0, 0xb9, 9, 0, 0, 0,
        0xf3, 0xaa, 0x0f, 0x05,
    ];
    let mut state = State::default();
    state.general[4] = 0x7ff0;
    let mut noted = Noted { branches: Vec::new(), conditional: 0, length: 9 };
    // SAFETY: all zeros is a value of it.
    let mut work = unsafe { Box::<Work>::new_zeroed().assume_init() };
    let mut evaluation = Evaluation::new(&mut work, Piece(code), None, ALL);
    look_ahead(0x1000, &mut state, &mut evaluation, &mut noted, None, MOST);
    let effort = evaluation.effort();
    assert_eq!((effort.instructions, effort.stores), (6, 3));
}

#[test]
fn loops_calls_and_returns_are_followed_through_registers_and_memory() {
    // 0: mov ecx,3; 5: call 0x11; a: dec ecx; c: jne 5; e: syscall; 11: push rcx; 12: pop rax; 13: ret
    let code =
        &[0xb9, 3, 0, 0, 0, 0xe8, 7, 0, 0, 0, 0xff, 0xc9, 0x75, 0xf7, 0x0f, 0x05, 0xcc, 0x51, 0x58, 0xc3];
    let (next, noted, state) = ahead(code, 100);
    // The system call takes rcx and r11, and answers in rax.
    assert_eq!(next, Next::Wait { address: 0x1010, known: 0xf7fc });
    let turn = [(0x1005, 0x1011), (0x1013, 0x100a), (0x100c, 0x1005)];
    assert_eq!(noted.branches, turn.iter().cycle().take(8).copied().collect::<Vec<_>>());
    assert_eq!(noted.conditional, 6);
    assert_eq!((state.general[0], state.general[4]), (1, 0x7ff0));
}

#[test]
fn a_full_trace_ends_where_its_last_branch_leads() {
    // 0: add eax,1; 3: jmp 0
    let (next, noted, state) = ahead(&[0x83, 0xc0, 1, 0xeb, 0xfb], 5);
    assert_eq!(next, Next::End { end: End::Full, address: 0x1000 });
    assert_eq!((noted.branches.len(), state.general[0]), (5, 5));
}

#[test]
fn what_is_not_known_is_waited_for_behind() {
    // 0: xor eax,eax; 2: rdtsc; 4: ret
    let (next, ..) = ahead(&[0x31, 0xc0, 0x0f, 0x31, 0xc3], 5);
    assert_eq!(next, Next::Wait { address: 0x1004, known: 1 << 4 });
    // 0: jmp 4; 2: rdtsc; 4: jmp 2: the thread comes by there before
    let (next, noted, _) = ahead(&[0xeb, 2, 0x0f, 0x31, 0xeb, 0xfc], 5);
    assert_eq!(next, Next::Wait { address: 0x1002, known: ALL_REGISTERS });
    assert_eq!(noted.branches, [(0x1000, 0x1004), (0x1004, 0x1002)]);
}

#[test]
fn system_calls_that_do_not_come_back_end_the_trace() {
    // mov eax,60; syscall
    let code = &[0xb8, 60, 0, 0, 0, 0x0f, 0x05];
    assert_eq!(ahead(code, 5).0, Next::Wait { address: 0x1005, known: ALL_REGISTERS });
    // iretq, where the thread stands
    assert_eq!(ahead(&[0x48, 0xcf], 5).0, Next::End { end: End::NotFollowed, address: 0x1000 });
}

#[test]
fn loops_without_end_and_memory_that_is_not_there_end_the_trace() {
    let (next, noted, _) = ahead(&[0xeb, 0xfe], usize::MAX);
    assert!(matches!(next, Next::End { end: End::Patience, .. }));
    assert!(noted.branches.len() <= MOST as usize);
    // ret, to address 0
    let (next, noted, _) = ahead(&[0xc3], 5);
    assert_eq!(next, Next::End { end: End::Unreadable, address: 0 });
    assert_eq!(noted.branches, [(0x1000, 0)]);
}

#[test]
fn code_that_writes_code_is_evaluated_as_written() {
    // 0: mov byte [rip+1], 0x31; 7: ud2 becomes rdtsc
    let (next, ..) = ahead(&[0xc6, 0x05, 1, 0, 0, 0, 0x31, 0x0f, 0x0b, 0xc3], 5);
    assert_eq!(next, Next::Wait { address: 0x1009, known: 1 << 4 });
}

#[test]
fn the_last_landmark_lies_where_the_thread_has_not_been() {
    // 0: jmp 2; 2: nop; 3: jmp 2
    let mut noted = Noted { branches: Vec::new(), conditional: 0, length: 50 };
    // SAFETY: all zeros is a value of it.
    let mut work = unsafe { Box::<Work>::new_zeroed().assume_init() };
    let mut evaluation = Evaluation::new(&mut work, Piece(&[0xeb, 0, 0x90, 0xeb, 0xfd]), None, ALL);
    let mut landmark = None;
    look_ahead(0x1000, &mut State::default(), &mut evaluation, &mut noted, Some(&mut landmark), MOST);
    let landmark = landmark.unwrap();
    assert_eq!((landmark.address, landmark.reach.pairs, noted.branches.len()), (0x1002, 1, 50));
}

#[test]
fn a_first_time_is_found_behind_a_loop() {
    // 0: mov ecx,3; 5: dec ecx; 7: jne 5; 9: nop
    let code = &[0xb9, 3, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0x90, 0x0f, 0x05];
    let mut state = State::default();
    let mut noted = Noted { branches: Vec::new(), conditional: 0, length: 1 };
    // SAFETY: all zeros is a value of it.
    let mut work = unsafe { Box::<Work>::new_zeroed().assume_init() };
    let mut evaluation = Evaluation::new(&mut work, Piece(code), None, ALL);
    let next = look_ahead(0x1000, &mut state, &mut evaluation, &mut noted, None, MOST);
    assert_eq!(next, Next::End { end: End::Full, address: 0x1005 });
    assert_eq!(first_time(0x1005, &mut state, &mut evaluation, 0, &mut 1000), Some(0x1009));
    assert_eq!((state.general[1], noted.branches.len()), (0, 1));
}
