//! System calls about signals: what the kernel is told differs from what the program asked for, so the
//! program is answered from here.

use super::{answer, process};
use crate::calls;
use crate::dispatch::{enter, external, go_native};
use crate::kinds;
use crate::paths;
use crate::signal::{self, Frame, SS_AUTODISARM, SS_DISABLE, SS_ONSTACK, on_stack};
use crate::state::PROCESS;
use crate::sys::{Errno, memory};
use core::sync::atomic::Ordering;
use timewise_abi::NONE;
use timewise_abi::signal::{Action, Stack};
use timewise_abi::thread::{RETURN_FRAME, ThreadArea};

const EPERM: Errno = Errno(1);
const ENOMEM: Errno = Errno(12);
const EFAULT: Errno = Errno(14);
const EINVAL: Errno = Errno(22);

/// `rt_sigaction`.
pub fn action(area: &mut ThreadArea) {
    let result = change_action(area);
    answer(area, result);
}

fn change_action(area: &ThreadArea) -> Result<u64, Errno> {
    let r = &area.registers;
    if r.r8_to_r15[2] != size_of::<u64>() as u64 {
        return Err(EINVAL);
    }
    let wish: Option<[u64; 4]> = read(r.rsi)?;
    let wish = wish.map(|[handler, flags, restorer, mask]| Action { handler, flags, restorer, mask });
    let signal = usize::try_from(r.rdi as i32).map_err(|_| EINVAL)?;
    let Action { handler, flags, restorer, mask } = signal::change(area, signal, wish)?;
    write(r.rdx, [handler, flags, restorer, mask])
}

/// `sigaltstack`.
pub fn handler_stack(area: &mut ThreadArea) {
    let result = change_handler_stack(area);
    answer(area, result);
}

fn change_handler_stack(area: &mut ThreadArea) -> Result<u64, Errno> {
    let r = &area.registers;
    let (pointer, place) = (r.rsp, r.rsi);
    let wish: Option<[u64; 3]> = read(r.rdi)?;
    let old = area.handler_stack;
    if let Some([address, flags, size]) = wish {
        let stack = Stack { address, flags: flags as u32, reserved: 0, size };
        set_handler_stack(area, stack, pointer)?;
    }
    let on = match old.size {
        0 => SS_DISABLE,
        _ if on_stack(&old, pointer) => SS_ONSTACK,
        _ => 0,
    };
    write(place, [old.address, u64::from(on | old.flags & SS_AUTODISARM), old.size])
}

fn set_handler_stack(area: &mut ThreadArea, wish: Stack, pointer: u64) -> Result<(), Errno> {
    const SMALLEST: u64 = 2048;
    if on_stack(&area.handler_stack, pointer) {
        return Err(EPERM);
    }
    area.handler_stack = match wish.flags & !SS_AUTODISARM {
        SS_DISABLE => Stack { flags: wish.flags, ..Stack::default() },
        0 | SS_ONSTACK if wish.size < SMALLEST => return Err(ENOMEM),
        0 | SS_ONSTACK => wish,
        _ => return Err(EINVAL),
    };
    Ok(())
}

/// `rt_sigreturn`: the program goes on where the frame on its stack says, whatever its handler made of it.
pub fn sigreturn(area: &mut ThreadArea) {
    if signal::block(area).is_none() {
        return;
    }
    // SAFETY: if there is no frame, or what it points to, the fault ends the process, as it would natively.
    let frame = unsafe { (*((area.registers.rsp - 8) as *const Frame)).keep(area, RETURN_FRAME) };
    let wish = core::mem::replace(&mut frame.stack, signal::own_stack(area));
    // The kernel does not mind either.
    let _ = set_handler_stack(area, wish, frame.registers.rsp);
    let address = frame.registers.rip;
    let result = PROCESS.with(|process| {
        let process = process::expect(process);
        let from = area.position.load(Ordering::Relaxed);
        let executed = process.blocks[from as usize].instructions;
        external(process, area, from, executed, NONE)?;
        let place = area.registers.rsp - 8;
        calls::end_handler(process, area, place, (address, frame.registers.rsp));
        paths::end_handler(process, area, from, place, (address, frame.registers.rsp));
        kinds::handled(area);
        enter(process, area, address)
    });
    frame.registers.rip = match result {
        Ok(Some(resume)) => resume,
        // No instruction there: the processor will say so itself.
        Ok(None) => address,
        Err(failure) => go_native(area, address, failure, Some(frame.mask)),
    };
    return_by(area, frame);
}

/// The thread goes on where the frame says.
pub fn return_by(area: &mut ThreadArea, frame: &Frame) {
    area.frame = (&raw const *frame) as u64;
    area.resume = crate::entry::return_from_signal as *const () as u64;
}

/// Words of the program's, if it names any.
fn read<const N: usize>(address: u64) -> Result<Option<[u64; N]>, Errno> {
    if address == 0 {
        return Ok(None);
    }
    let mut words = [0; N];
    for (at, word) in words.iter_mut().enumerate() {
        let mut bytes = [0; 8];
        if memory::read(address + 8 * at as u64, &mut bytes) != bytes.len() {
            return Err(EFAULT);
        }
        *word = u64::from_le_bytes(bytes);
    }
    Ok(Some(words))
}

/// Writes words to where the program asks for them, if it does.
fn write<const N: usize>(address: u64, words: [u64; N]) -> Result<u64, Errno> {
    if address == 0 {
        return Ok(0);
    }
    for (at, word) in words.iter().enumerate() {
        if !memory::write(address + 8 * at as u64, &word.to_le_bytes()) {
            return Err(EFAULT);
        }
    }
    Ok(0)
}
