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
use core::sync::atomic::Ordering;
use timewise_abi::thread::ThreadArea;
use timewise_abi::view::Shared;
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
        task::ASK => ask(area),
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

/// Which of the threads that are asked can leave: the answer for this one. Without the process lock, which one of them may
/// hold.
fn ask(area: &ThreadArea) -> u32 {
    // SAFETY: the shared file is mapped where the area says.
    let shared = unsafe { Shared::at(area.shared) };
    let mut offset = shared.process(area.process).latest_thread.load(Ordering::Acquire);
    while offset != 0 {
        let other = shared.thread(offset);
        // SAFETY: a registered area. Nobody else uses that of a thread that is asked, as it stands; nobody but the host
        // has them answer anything.
        unsafe {
            if other as u64 != area.this && (*other).answer == answer::ASKED {
                (*other).answer = answer_of(&*other);
            }
        }
        offset = shared.previous_thread(offset);
    }
    answer_of(area)
}

fn answer_of(area: &ThreadArea) -> u32 {
    if signal::can_leave(area) { answer::DONE } else { answer::AT_WORK }
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
