//! What the program wants done about each signal, and what the kernel is told.
//!
//! The kernel gets the runtime's handler also for signals that end the program by default, so that its
//! last position is known; not once system calls are restricted, for the runtime may then not be allowed
//! to end it. What is ignored, or stops the program, is the kernel's own business.

use super::receive::receive;
use crate::entry;
use crate::state::PROCESS;
use crate::sys::filter::is_confined;
use crate::sys::{Errno, call_for_program, number};
use timewise_abi::signal::{Action, Actions, SIGNALS};
use timewise_abi::thread::ThreadArea;

/// The default action.
pub const DEFAULT: u64 = 0;
/// Nothing is to be done.
pub const IGNORE: u64 = 1;

const NOCLDSTOP: u64 = 1;
const NOCLDWAIT: u64 = 2;
const SIGINFO: u64 = 4;
const EXPOSE_TAGBITS: u64 = 0x800;
const RESTORER: u64 = 0x0400_0000;
/// The handler runs on the program's stack for handlers.
pub const ONSTACK: u64 = 0x0800_0000;
const RESTART: u64 = 0x1000_0000;
/// The signal is not blocked while its handler runs.
pub const NODEFER: u64 = 0x4000_0000;
/// The action becomes the default when the handler runs.
pub const RESETHAND: u64 = 0x8000_0000;

/// Flags that the kernel keeps.
const KNOWN: u64 =
    NOCLDSTOP | NOCLDWAIT | SIGINFO | EXPOSE_TAGBITS | RESTORER | ONSTACK | RESTART | NODEFER | RESETHAND;

/// A flag of `clone3`: handlers become the default.
pub const CLEARED: u64 = 0x1_0000_0000;

const KILL: usize = 9;
const CHLD: usize = 17;
const CONT: usize = 18;
const STOP: usize = 19;
const URG: usize = 23;
const WINCH: usize = 28;

/// Whether a signal ends the program unless something else is asked for.
pub fn ends_by_default(signal: usize) -> bool {
    const TSTP: usize = 20;
    const TTIN: usize = 21;
    const TTOU: usize = 22;
    !matches!(signal, CHLD | CONT | STOP | TSTP | TTIN | TTOU | URG | WINCH)
}

/// The signals for which the kernel does nothing, as the program wants it. Under the process lock.
pub fn ignored(area: &ThreadArea) -> u64 {
    const BY_DEFAULT: [usize; 4] = [CHLD, CONT, URG, WINCH];
    let is_ignored = |signal: &usize| match super::actions(area).get(*signal).handler {
        DEFAULT => BY_DEFAULT.contains(signal),
        handler => handler == IGNORE,
    };
    changeable().filter(is_ignored).fold(0, |mask, signal| mask | super::bit(signal))
}

/// Tells the kernel what to do about a signal so that the program's wish can be met.
///
/// # Errors
/// The kernel's.
pub fn install(signal: usize, wish: Action) -> Result<(), Errno> {
    let confined = is_confined();
    let by_kernel = if confined { RESETHAND } else { 0 };
    let action = match wish.handler {
        IGNORE => wish,
        DEFAULT if confined || !ends_by_default(signal) => wish,
        _ => Action {
            handler: receive as *const () as u64,
            flags: SIGINFO
                | RESTORER
                | ONSTACK
                | wish.flags & (RESTART | NOCLDSTOP | NOCLDWAIT | EXPOSE_TAGBITS | by_kernel),
            restorer: entry::restorer as *const () as u64,
            mask: u64::MAX,
        },
    };
    kernel(signal, Some(action)).map(drop)
}

/// Tells the kernel anew about all signals, after it began, or ceased, to matter whether the process is
/// confined. Under the process lock.
pub fn renew(area: &ThreadArea) {
    for signal in changeable() {
        let _ = install(signal, super::actions(area).get(signal));
    }
}

fn changeable() -> impl Iterator<Item = usize> {
    (1..=SIGNALS).filter(|&signal| signal != KILL && signal != STOP)
}

/// Gives a signal back to the kernel's default.
pub fn give_up(signal: usize) {
    let _ = kernel(signal, Some(Action::default()));
}

/// The kernel's own call: what it had.
fn kernel(signal: usize, new: Option<Action>) -> Result<Action, Errno> {
    let mut old = Action::default();
    let new = new.as_ref().map_or(0, |new| (new as *const Action) as u64);
    // SAFETY: the runtime's handler takes care of what it is called for.
    unsafe { call_for_program(number::RT_SIGACTION, [signal as u64, new, (&raw mut old) as u64, 8, 0, 0]) }?;
    Ok(old)
}

/// What is not ignored becomes the default, as for a child that wants it so.
pub fn clear(actions: &Actions) {
    for signal in 1..=SIGNALS {
        if actions.get(signal).handler != IGNORE {
            actions.set(signal, Action::default());
        }
    }
}

/// Learns what is done about signals up to now, and takes over.
pub fn set_up(area: &mut ThreadArea) {
    area.actions = PROCESS.with(|process| {
        let process = process.as_ref().expect("just set up");
        (&raw const process.record.actions) as u64
    });
    let actions = super::actions(area);
    for signal in changeable() {
        let Ok(action) = kernel(signal, None) else { continue };
        actions.set(signal, action);
        if action.handler != IGNORE {
            let _ = install(signal, action);
        }
    }
}

/// Tells the kernel what the program wants done, as it would know it natively.
pub fn give_actions_back(area: &ThreadArea) {
    for signal in changeable() {
        let _ = kernel(signal, Some(super::actions(area).get(signal)));
    }
}

/// The program changes what is to be done, or asks: what was to be done before.
///
/// # Errors
/// The kernel's.
pub fn change(area: &ThreadArea, signal: usize, wish: Option<Action>) -> Result<Action, Errno> {
    const EINVAL: Errno = Errno(22);
    let changeable = signal != KILL && signal != STOP;
    if !(1..=SIGNALS).contains(&signal) || (wish.is_some() && !changeable) {
        return Err(EINVAL);
    }
    PROCESS.with(|_| {
        let actions = super::actions(area);
        let before = actions.get(signal);
        if let Some(mut wish) = wish {
            wish.flags &= KNOWN;
            wish.mask &= !(super::bit(KILL) | super::bit(STOP));
            install(signal, wish)?;
            actions.set(signal, wish);
        }
        Ok(before)
    })
}
