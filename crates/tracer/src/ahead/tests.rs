//! Looking ahead in small pieces of code.

extern crate alloc;

use super::*;
use alloc::vec::Vec;

/// Code at 0x1000, and data that reads as its address.
struct Piece(&'static [u8]);

impl Memory for Piece {
    fn code(&mut self, address: u64) -> &[u8] {
        address.checked_sub(0x1000).and_then(|at| self.0.get(at as usize..)).unwrap_or_default()
    }

    fn word(&mut self, address: u64) -> Option<u64> {
        Some(address)
    }
}

struct Noted {
    branches: Vec<(u64, u64)>,
    decided: u32,
    length: usize,
}

impl Branches for Noted {
    fn push(&mut self, from: u64, to: u64) {
        self.branches.push((from, to));
    }

    fn decided(&mut self) {
        self.decided += 1;
    }

    fn full(&self) -> bool {
        self.branches.len() >= self.length
    }
}

const ZERO: u64 = 1 << 6;

/// What is found from the start of `code` with a stack at 0x8000: what to do, and the branches.
fn ahead(code: &'static [u8], flags: u64, length: usize) -> (Next, Vec<(u64, u64)>) {
    let mut state = State { flags, ..State::default() };
    state.general[4] = 0x8000;
    let mut noted = Noted { branches: Vec::new(), decided: 0, length };
    let next = look_ahead(0x1000, &state, &mut Piece(code), &mut noted);
    (next, noted.branches)
}

fn wait(address: u64, stack: u64) -> Next {
    Next::Wait { address, stack: Some(stack) }
}

#[test]
fn direct_jumps_and_calls_need_no_breakpoint() {
    // 0: jmp 4; 4: push rbp; call 0xc; c: nop; ret
    let code = &[0xeb, 2, 0xcc, 0xcc, 0x55, 0xe8, 2, 0, 0, 0, 0xcc, 0xcc, 0x90, 0xc3];
    assert_eq!(ahead(code, 0, 16), (wait(0x100d, 0x7ff0), Vec::from([(0x1000, 0x1004), (0x1005, 0x100c)])));
}

#[test]
fn a_branch_is_decided_where_the_thread_stands_and_waited_for_where_it_does_not() {
    // 0: je 4; 2: test eax,eax; 4: je 0
    let code = &[0x74, 2, 0x85, 0xc0, 0x74, 0xfa];
    assert_eq!(ahead(code, 0, 16), (wait(0x1004, 0x8000), Vec::new()));
    // Taken, it leads to the second, whose flags are still the same, and that back: until nothing more is wanted.
    let turns = Vec::from([(0x1000, 0x1004), (0x1004, 0x1000), (0x1000, 0x1004)]);
    assert_eq!(ahead(code, ZERO, 3), (wait(0x1004, 0x8000), turns));
}

#[test]
fn the_last_branch_is_sure_only_where_the_thread_stands() {
    let jump = &[0xeb, 0xfe];
    assert_eq!(ahead(jump, 0, 1), (Next::End(End::Full), Vec::from([(0x1000, 0x1000)])));
    let later = &[0x91, 0xeb, 0xfd];
    assert_eq!(ahead(later, 0, 1), (wait(0x1000, 0x8000), Vec::from([(0x1001, 0x1000)])));
}

#[test]
fn what_a_call_pushed_is_not_read_before_it_is_there() {
    // call 5; ret: the return address is not in memory yet
    let code = &[0xe8, 0, 0, 0, 0, 0xc3];
    assert_eq!(ahead(code, 0, 16), (wait(0x1005, 0x7ff8), Vec::from([(0x1000, 0x1005)])));
}

#[test]
fn linkage_stubs_need_no_breakpoint() {
    // call 8; 8: endbr64; jmp [rip+2]: reads 0x1014, where this code has a return
    let code = &[
        0xe8, 3, 0, 0, 0, 0xcc, 0xcc, 0xcc, 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc, 0xc3,
    ];
    let branches = Vec::from([(0x1000, 0x1008), (0x100c, 0x1014)]);
    assert_eq!(ahead(code, 0, 16), (wait(0x1014, 0x7ff8), branches));
}

#[test]
fn returns_are_followed_where_the_thread_stands() {
    // The word on the stack is 0x8000, where nothing can be read.
    assert_eq!(ahead(&[0xc3], 0, 16), (Next::End(End::Unreadable), Vec::from([(0x1000, 0x8000)])));
}

#[test]
fn system_calls_are_waited_for_and_not_followed() {
    let code = &[0x0f, 0x05];
    assert_eq!(ahead(code, 0, 16), (Next::End(End::NotFollowed), Vec::new()));
    assert_eq!(ahead(&[0x90, 0x0f, 0x05], 0, 16), (wait(0x1001, 0x8000), Vec::new()));
}

#[test]
fn loops_of_jumps_and_endless_code_end() {
    assert_eq!(ahead(&[0xeb, 0xfe], 0, usize::MAX).0, Next::End(End::NotFollowed));
    assert_eq!(ahead(&[0x90; 5000], 0, 16), (Next::End(End::NotFollowed), Vec::new()));
    assert_eq!(ahead(&[0x90; 20], 0, 16), (Next::End(End::Unreadable), Vec::new()));
    assert_eq!(ahead(&[0x06], 0, 16), (Next::End(End::Unreadable), Vec::new()));
}
