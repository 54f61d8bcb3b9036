//! Returns from elsewhere than where their calls put the return address. Code of which nothing is told may move it, and
//! leave results on the stack, as what SBCL compiles does.

use super::frames::Frames;
use crate::sys::memory::read;
use timewise_abi::thread::Frame;

/// How far up a function may have moved its own return address where nothing tells of it: SBCL's move it past the frame
/// pointer of their caller, so that what they call first may return to above where theirs was put.
pub const MOVED_UP: u8 = 16;

/// How far from where a return address was put the stack pointer is looked for behind a return that took it from
/// elsewhere: arguments may lie between, or results. More than a page of them was not seen.
const FARTHEST: u64 = 4 << 10;

/// How much of the stack is looked through for a return address that was moved: as many arguments as fit there may lie
/// below it.
const MOST_ABOVE: usize = 1 << 10;

impl Frames<'_> {
    /// Ends the latest of the calls that return to `address`, if it may have returned there and left the stack pointer at
    /// `stack`, with its return address moved or results on the stack, and those that it made; then those that were left
    /// before without a return. How many returned there.
    pub fn end_moved(&mut self, stack: u64, address: u64) -> Option<usize> {
        let open = self.all();
        let ended = open.iter().rposition(|frame| self.returns_to(frame) == Some(address))?;
        let are_gone = open[ended + 1..].iter().all(|frame| frame.slot < stack);
        let is_near = open[ended].slot.abs_diff(stack) <= FARTHEST;
        (are_gone && is_near).then_some(())?;
        let over = open.len() - ended;
        (0..over).for_each(|_| self.end());
        while self.latest().is_some_and(|latest| self.was_left(&latest, stack)) {
            self.end();
        }
        Some(over)
    }

    /// Whether an open call was left without a return: its return address was put below `stack`, in the same 4 GiB as
    /// stacks may lie anywhere, and does not stand above that, either, where its function may have moved it.
    fn was_left(&self, frame: &Frame, stack: u64) -> bool {
        let mut above = [0; MOST_ABOVE];
        let stands = |above: &[u8]| {
            let to = self.returns_to(frame);
            above.chunks_exact(8).any(|word| word.try_into().ok().map(u64::from_le_bytes) == to)
        };
        let above_it = stack.saturating_sub(frame.slot);
        let is_below = above_it > MOVED_UP.into() && u32::try_from(above_it).is_ok();
        frame.cost != 0 && is_below && {
            let known = read(stack, &mut above);
            !stands(&above[..known])
        }
    }
}
