//! Who called, by the frame pointers of a stopped thread.

use timewise_callers::LiveStack;
use timewise_target::trace::Registers;

/// As many as the kernel follows for performance events.
const MOST_CALLERS: usize = 127;

/// Return addresses, innermost first, as far as each frame points to the next. Code that was built without frame
/// pointers gives short or wrong chains.
/// Of a thread in the kernel, the first is where it goes on.
pub fn by_frame_pointer(pid: i32, registers: &Registers, kernel: bool) -> Vec<u64> {
    let stack = LiveStack::of(pid);
    let mut callers: Vec<u64> = kernel.then_some(registers.rip).into_iter().collect();
    let mut frame = registers.rbp;
    while frame != 0 && callers.len() < MOST_CALLERS {
        let (Some(next), Some(caller)) = (stack.word(frame), stack.word(frame.wrapping_add(8))) else {
            break;
        };
        callers.push(caller);
        frame = next;
    }
    callers
}
