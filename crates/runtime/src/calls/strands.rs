//! Stacks between which a thread switches, as coroutines do: each has calls of its own, whose costs stand still
//! while the thread is on another.

use super::frames::{Frames, brief};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use timewise_abi::thread::{Frame, ThreadArea};

/// Most stacks of a thread that are remembered; the one left longest ago is forgotten first.
const MOST: usize = 4096;

/// A stack that the thread has left.
#[derive(Debug)]
struct Strand {
    /// Calls on it, the outermost first.
    open: Vec<Frame>,
    /// Instructions that the thread had executed when it left.
    left: u64,
}

/// All of them, those left last at the end.
#[derive(Debug, Default)]
struct Strands(Vec<Strand>);

fn of(area: &mut ThreadArea) -> Option<&mut Strands> {
    // SAFETY: 0, or a box that was leaked for this thread.
    unsafe { (area.strands as *mut Strands).as_mut() }
}

/// Whether the thread has only one stack, as far as is known.
pub fn is_empty(area: &mut ThreadArea) -> bool {
    of(area).is_none_or(|strands| strands.0.is_empty())
}

/// The stack left last whose calls `fits` picks.
pub fn find(area: &ThreadArea, fits: impl Fn(&[Frame]) -> bool) -> Option<usize> {
    // SAFETY: as for `of`.
    let strands = unsafe { (area.strands as *const Strands).as_ref() }?;
    strands.0.iter().rposition(|strand| fits(&strand.open))
}

/// The thread leaves its stack for another that it left before, or for a new one.
pub fn switch(frames: &mut Frames, to: Option<usize>) {
    if frames.area.strands == 0 {
        frames.area.strands = Box::into_raw(Box::<Strands>::default()) as u64;
    }
    let next = of(frames.area).and_then(|strands| to.map(|number| strands.0.remove(number)));
    // The functions whose activations are left no longer wait.
    for index in (0..frames.open().len()).rev() {
        let waiting = frames.open()[index];
        frames.wait_again(&waiting);
    }
    let outermost = if frames.open().is_empty() { 0 } else { frames.caller(0) };
    *frames.counter(outermost) = 0;
    let open = frames.open().to_vec();
    let left = frames.now;
    let mut lost = Vec::new();
    if let Some(strands) = of(frames.area).filter(|_| !open.is_empty()) {
        if strands.0.len() == MOST {
            lost = strands.0.remove(0).open;
        }
        strands.0.push(Strand { open, left });
    }
    frames.area.lost_calls += lost.len() as u64;
    lost.iter().for_each(|frame| frames.end_brief(brief(frame), frame.clock));
    match next {
        Some(next) => {
            take_up(frames, &next.open);
            frames.skip(left.wrapping_sub(next.left));
        }
        None => frames.set(&[]),
    }
}

/// Goes on with the calls of a stack that was left. What waits on it is what its functions find now.
fn take_up(frames: &mut Frames, open: &[Frame]) {
    frames.set(open);
    if let Some(&Frame { cost, .. }) = open.first() {
        let outermost = frames.caller(0);
        *frames.counter(outermost) = cost.into();
    }
    for index in 0..open.len() {
        let frame = frames.open()[index];
        frames.open()[index].older = frames.waiting(frame.function);
        if let Some(&Frame { cost, .. }) = open.get(index + 1) {
            *frames.counter(frame.function) = cost.into();
        }
    }
}

/// The thread ends, with no call open: those on its other stacks ended when it left them.
pub fn close(frames: &mut Frames) {
    if frames.area.strands == 0 {
        return;
    }
    // SAFETY: leaked by `switch`, and nobody else's.
    let strands = unsafe { Box::from_raw(frames.area.strands as *mut Strands) };
    frames.area.strands = 0;
    for Strand { open, left } in strands.0 {
        take_up(frames, &open);
        frames.now = left;
        frames.end_all();
    }
}

/// What calls on other stacks cost counts from where those were left.
pub fn start(frames: &mut Frames) {
    let Some(mut strands) = of(frames.area).map(core::mem::take) else { return };
    for Strand { open, left } in &mut strands.0 {
        for frame in open {
            frame.clock = *left;
            frames.begin_brief(brief(frame), *left);
        }
    }
    if let Some(kept) = of(frames.area) {
        *kept = strands;
    }
}

/// Functions were found to recur: activations of them on other stacks are noted.
pub fn note_recurring(frames: &mut Frames, found: &BTreeMap<u64, u32>) {
    let Some(mut strands) = of(frames.area).map(core::mem::take) else { return };
    let present = frames.open().to_vec();
    for strand in &mut strands.0 {
        frames.set(&strand.open);
        frames.note_recurring(found, None);
        strand.open.copy_from_slice(frames.open());
    }
    frames.set(&present);
    if let Some(kept) = of(frames.area) {
        *kept = strands;
    }
}
