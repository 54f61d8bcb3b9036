//! Who called, by the frame pointers of a stopped thread.

use timewise_target::memory;
use timewise_target::trace::Registers;

/// As many as the kernel follows for performance events.
const MOST_CALLERS: usize = 127;
/// Read at once: most stacks fit.
const WINDOW_BYTES: usize = 8192;

/// Return addresses, innermost first, as far as each frame points to the next. Code that was built without frame
/// pointers gives short or wrong chains.
/// Of a thread in the kernel, the first is where it goes on.
pub fn by_frame_pointer(pid: i32, registers: &Registers, kernel: bool) -> Vec<u64> {
    let mut stack = Stack { pid, start: 0, bytes: Vec::new() };
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

/// A thread's stack, read in windows.
struct Stack {
    pid: i32,
    start: u64,
    bytes: Vec<u8>,
}

impl Stack {
    fn word(&mut self, address: u64) -> Option<u64> {
        if let Some(word) = self.within(address) {
            return Some(word);
        }
        self.bytes.resize(WINDOW_BYTES, 0);
        self.start = address;
        let read = memory::read(self.pid, address, &mut self.bytes);
        self.bytes.truncate(read);
        self.within(address)
    }

    fn within(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let word = self.bytes.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(word.try_into().ok()?))
    }
}
