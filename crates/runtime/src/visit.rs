//! What the host has a stopped thread do: the program that runs already is taken over, and later given back.
//!
//! The host stops all threads, makes the process ready on one of them and then each thread, and lets them go on
//! under the translator. To give the program back it stops them again; a thread that is found at work in the
//! runtime runs on until it is out of it. Then each leaves translated code, and what the process had before is put
//! back, so that the host can take the runtime's memory away.

use crate::calls;
use crate::dispatch::set_up;
use crate::entry;
use crate::kinds::window;
use crate::paths;
use crate::signal;
use crate::state::PROCESS;
use crate::sys::{call_for_program, number};
use crate::system_call::user_dispatch;
use timewise_abi::thread::ThreadArea;
use timewise_abi::visit::{answer, task};
use timewise_abi::{Failure, NONE};

/// Does a [`task`].
///
/// # Safety
/// For the host alone, on a thread that it stopped; `area` must be its thread area.
pub unsafe extern "C" fn visit(area: *mut ThreadArea, what: u64) {
    // SAFETY: the thread stands outside all code that holds a reference to its area, or only a copy of it is
    // looked at.
    let area = unsafe { &mut *area };
    area.answer = match what {
        task::BEGIN => match begin(area) {
            Ok(()) => answer::DONE,
            Err(Failure::WritableCodeDenied) => answer::WRITABLE_CODE_DENIED,
            Err(_) => answer::FAILED,
        },
        task::JOIN => join(area),
        task::ASK if signal::can_leave(area) => answer::DONE,
        task::ASK => answer::AT_WORK,
        task::LEAVE => leave(area),
        _ => end(area),
    };
}

fn begin(area: &mut ThreadArea) -> Result<(), Failure> {
    set_up(area)?;
    PROCESS.with(|process| {
        let process = process.as_mut().ok_or(Failure::Internal)?;
        if process.shared.has_several_threads(process.record) {
            process.share(area, NONE, false);
        }
        Ok(())
    })
}

fn join(area: &mut ThreadArea) -> u32 {
    PROCESS.with(|process| {
        let Some(process) = process else { return answer::FAILED };
        area.actions = (&raw const process.record.actions) as u64;
        calls::limit(process, area);
        paths::limit(process, area);
        window::start(process, area);
        area.handler_stack = signal::stack_in_force();
        signal::begin(area);
        user_dispatch::begin(area);
        answer::DONE
    })
}

fn leave(area: &mut ThreadArea) -> u32 {
    PROCESS.with(|process| {
        let Some(process) = process else { return answer::FAILED };
        let in_area = signal::leave(process, area);
        signal::give_stack_back(area);
        user_dispatch::end(area);
        if in_area { answer::VECTORS_IN_AREA } else { answer::DONE }
    })
}

fn end(area: &ThreadArea) -> u32 {
    PROCESS.with(|process| {
        let Some(process) = process else { return answer::FAILED };
        signal::give_actions_back(area);
        let low = entry::low();
        for range in process.cache.kept().into_iter().chain([low]) {
            // SAFETY: no thread executes there any more, and none will.
            let _ = unsafe {
                call_for_program(number::MUNMAP, [range.start, range.end - range.start, 0, 0, 0, 0])
            };
        }
        answer::DONE
    })
}
