//! Signals: the kernel knows one handler, [`receive::receive`], which runs on a stack of the runtime's own,
//! finds out where the program was ([`recover`]), and sends it to its own handler ([`deliver`]) with the
//! frame that the kernel would have put on its stack ([`frame`]).
//!
//! A signal that arrives while the runtime itself runs waits, and all others are blocked, until the thread
//! is on its way back to the program: see [`receive::let_in`].

mod action;
mod added;
mod alone;
mod deliver;
mod frame;
mod leave;
mod receive;
mod recover;
pub mod stop;

pub use action::{CLEARED, change, clear, give_actions_back, ignored, renew, set_up};
pub use alone::prepare as prepare_alone;
pub use frame::{Frame, SS_AUTODISARM, SS_DISABLE, SS_ONSTACK, on_stack};
pub use leave::{can_leave, leave, stand, stay};
pub use receive::let_in;
pub use recover::Origin;

use crate::sys::{call, number, signal};
use crate::system_call;
use core::sync::atomic::Ordering;
use timewise_abi::signal::{Actions, Stack};
use timewise_abi::thread::{SIGNAL_STACK, STACK, ThreadArea};

/// The bit of a signal in a mask.
pub fn bit(signal: usize) -> u64 {
    1 << (signal - 1)
}

/// What is to be done about signals on this thread; under the process lock.
pub fn actions(area: &ThreadArea) -> &'static Actions {
    // SAFETY: set when the area was prepared, to a table in shared memory, which stays.
    unsafe { &*(area.actions as *const Actions) }
}

/// Blocks all signals: the program's mask before. None if one is waiting already: the thread then goes
/// back to before the program's system call, so that the signal comes first.
pub fn block(area: &mut ThreadArea) -> Option<u64> {
    let before = signal::block_all();
    if area.held.load(Ordering::Relaxed) == 0 {
        return Some(before);
    }
    system_call::again(area);
    None
}

/// The stack that signals arrive on, as the kernel is to know it.
pub fn own_stack(area: &ThreadArea) -> Stack {
    let size = u64::from(STACK - SIGNAL_STACK);
    Stack { address: area.this + u64::from(SIGNAL_STACK), flags: 0, reserved: 0, size }
}

/// Tells the kernel of the stack that signals arrive on; a new thread begins so.
pub fn begin(area: &ThreadArea) {
    let stack = own_stack(area);
    // SAFETY: the stack lies in the thread's own area and serves for nothing else.
    let _ = unsafe { call(number::SIGALTSTACK, [(&raw const stack) as u64, 0, 0, 0, 0, 0]) };
}

/// The stack for handlers that the kernel knows of, before [`begin`].
pub fn stack_in_force() -> Stack {
    let mut stack = Stack::default();
    // SAFETY: writes the structure.
    let asked = unsafe { call(number::SIGALTSTACK, [0, (&raw mut stack) as u64, 0, 0, 0, 0]) };
    match asked {
        Ok(_) if stack.flags & SS_DISABLE == 0 => Stack { flags: stack.flags & SS_AUTODISARM, ..stack },
        _ => Stack { flags: SS_DISABLE, ..Stack::default() },
    }
}

/// Tells the kernel of the program's stack for handlers, as it knows it natively.
pub fn give_stack_back(area: &ThreadArea) {
    let none = Stack { flags: SS_DISABLE, ..Stack::default() };
    let stack = if area.handler_stack.size == 0 { none } else { area.handler_stack };
    // SAFETY: what the program asked for; the thread stands on a stack of the host's.
    let _ = unsafe { call(number::SIGALTSTACK, [(&raw const stack) as u64, 0, 0, 0, 0, 0]) };
}
