//! Stacks that are not where they were left: those that threads are still taken to be on, and those that were copied.
//!
//! A scheduler that runs on a stack of its own may let another thread go on with what it has just put aside, and wait
//! itself. What it called stands above the calls of that stack then, which are the other thread's from there on.

use super::events::Landing;
use super::frames::{Frames, is_next};
use super::strands::{self, RESUMABLE, Strand, TAKEN};
use crate::sys::memory::{is_checked, read};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::ops::Range;
use timewise_abi::thread::{Frame, ThreadArea};

/// How much of a stack is read at once, to be compared with what was left on one that may have been elsewhere then.
const PART: usize = 4 << 10;

/// How many of the latest calls are compared with what stands where they were, and how many of the outermost: deep
/// recursions differ in nothing but where they end.
const COMPARED: usize = 1 << 12;
const OUTERMOST: usize = 1 << 6;

/// How many calls a scheduler that waits may have made, with that by which it was entered.
const WAITING: usize = 32;

/// How calls moved.
#[derive(Clone, Copy, Debug)]
struct Moved {
    /// By how much.
    by: u64,
    /// The first and the last of them.
    calls: (usize, usize),
}

impl Moved {
    fn apply(self, open: &mut [Frame]) {
        for frame in &mut open[self.calls.0..=self.calls.1] {
            frame.slot = frame.slot.wrapping_add(self.by);
        }
    }
}

/// Finds the stack on which the thread goes on behind a call. False if it is none that is known.
pub fn follow(frames: &mut Frames, place: &Place) -> bool {
    let Some(calls) = frames.process.calls.as_ref() else { return false };
    if !calls.is_site(&frames.process.space, place.landing.address) {
        return false;
    }
    let ended = |open: &[Frame], is_doubted: bool| Some((place.ended(frames, open, is_doubted)?, None));
    if let Some(strand) = take_from_thread(frames, place, ended) {
        strands::switch(frames, Some(strand));
        return true;
    }
    let is_known = follow_moved(frames, place);
    if is_known {
        calls.left.borrow_mut().note_moved(frames);
    }
    is_known
}

/// The same of a stack that was copied elsewhere, as Go's are when they grow or shrink.
fn follow_moved(frames: &mut Frames, place: &Place) -> bool {
    let Some(calls) = frames.process.calls.as_ref() else { return false };
    if let Some(moved) = place.moved(frames, frames.all(), (RESUMABLE, true)) {
        moved.apply(frames.open());
        return true;
    }
    let mut left = calls.left.borrow_mut();
    let found = left.resumed_at(place.landing.address, |open| place.moved(frames, open, (RESUMABLE, false)));
    let taken = found.and_then(|(number, moved)| {
        let mut strand = left.take(frames, number)?;
        moved.apply(&mut strand.open);
        Some(strand)
    });
    drop(left);
    let strand = taken.or_else(|| {
        take_from_thread(frames, place, |open, _| {
            let moved = place.moved(frames, open, (WAITING, false))?;
            let latest = moved.calls.1;
            // Else that thread is still on it, in the same functions.
            let is_left = open.get(latest + 1).is_some_and(|next| !is_next(open[latest].slot, next.slot));
            is_left.then_some((latest, Some(moved)))
        })
    });
    let is_known = strand.is_some();
    if is_known {
        strands::switch(frames, strand);
    }
    is_known
}

/// Where a thread goes on, and what was read there of the stack.
pub struct Place {
    landing: Landing,
    above: RefCell<Vec<u8>>,
}

impl Place {
    pub fn new(landing: Landing) -> Place {
        Place { landing, above: RefCell::default() }
    }

    /// Which of the calls of a stack returned here. If that is doubted, as another may be where it was, what stands here
    /// must be what the latest of them left.
    pub fn ended(&self, frames: &Frames, open: &[Frame], is_doubted: bool) -> Option<usize> {
        let index = open.iter().rposition(|frame| self.landing.ends(frames, frame))?;
        let stands = || {
            let first = first_of(open, index);
            let compared = first.max(index.saturating_sub(COMPARED));
            let outermost = first..compared.min(first + OUTERMOST);
            self.stand(frames, open, compared..index)
                && open[outermost].iter().all(|frame| frames.is_intact(frame))
        };
        (!is_doubted || !is_checked() || stands()).then_some(index)
    }

    /// Whether what some calls left on the stack of the next one, which returned here, is what stands here.
    fn stand(&self, frames: &Frames, open: &[Frame], some: Range<usize>) -> bool {
        let end = open[some.end].slot.wrapping_add(8);
        open[some].iter().rev().all(|frame| {
            let to = frames.returns_to(frame);
            to.is_none() || to == self.word(frame.slot.wrapping_sub(end))
        })
    }

    /// What stands so far above the stack pointer, if that can be found out.
    fn word(&self, at: u64) -> Option<u64> {
        let mut above = self.above.borrow_mut();
        let at = usize::try_from(at).ok()?;
        while at.checked_add(8)? > above.len() {
            is_checked().then_some(())?;
            let read_yet = above.len();
            // Ever more: a stack that is compared this far is mostly the one.
            above.resize(2 * read_yet.max(PART / 2), 0);
            let got = read(self.landing.stack.wrapping_add(read_yet as u64), &mut above[read_yet..]);
            above.truncate(read_yet + got);
            (got > 0).then_some(())?;
        }
        above[at..].first_chunk().map(|word| u64::from_le_bytes(*word))
    }

    /// How calls of a stack moved if it is one of the latest, so many, that returned here, by what they left there. The
    /// thread's own may have left nothing.
    fn moved(&self, frames: &Frames, open: &[Frame], (latest, is_own): (usize, bool)) -> Option<Moved> {
        (0..open.len()).rev().take(latest).find_map(|index| {
            let latest = &open[index];
            let is_it = latest.slot != TAKEN && frames.returns_to(latest) == Some(self.landing.address);
            let first = is_it.then(|| first_of(open, index))?;
            self.stand(frames, open, first..index).then_some(())?;
            let by = self.landing.stack.wrapping_sub(latest.slot.wrapping_add(8));
            (first < index || is_own).then_some(Moved { by, calls: (first, index) })
        })
    }
}

/// The first of the calls that are surely on one stack with one of them.
fn first_of(open: &[Frame], index: usize) -> usize {
    (1..=index).rev().find(|&n| !is_next(open[n - 1].slot, open[n].slot)).unwrap_or(0)
}

/// Takes from another thread the calls up to the one that `fits` picks, which may tell how they moved. It was made by
/// what runs on another stack now: that thread left them when it called that.
fn take_from_thread(
    frames: &Frames,
    place: &Place,
    fits: impl Fn(&[Frame], bool) -> Option<(usize, Option<Moved>)>,
) -> Option<Strand> {
    let process = frames.process;
    let is_doubted = frames.are_moved();
    let returns = |frame: &Frame| frames.returns_to(frame) == Some(place.landing.address);
    let mut found = None;
    process.each_other(frames.area, |other| {
        if found.is_some() || !latest_of(frames, other, WAITING).iter().any(returns) {
            return;
        }
        let mut open = latest_of(frames, other, usize::MAX);
        let Some((index, moved)) = fits(&open, is_doubted) else { return };
        let Some(next) = open.get(index + 1) else { return };
        let left = next.clock;
        open.truncate(index + 1);
        for number in 0..=index {
            // SAFETY: among those that were just read. The thread runs on another stack, and looks at none of these until
            // it has the process to itself.
            unsafe { (&raw mut (*frame_of(frames, other, number)).slot).write_volatile(TAKEN) };
        }
        if let Some(moved) = moved {
            moved.apply(&mut open);
        }
        open.retain(|frame| frame.slot != TAKEN);
        found = Some(Strand::new(open, left));
    });
    found
}

/// The latest calls of another thread, so many at most, which may be making and ending some: those that stay are read as
/// they are.
fn latest_of(frames: &Frames, other: *mut ThreadArea, most: usize) -> Vec<Frame> {
    let base = frame_of(frames, other, 0) as u64;
    // SAFETY: a registered area.
    let top = unsafe { (&raw const (*other).frame_top).read_volatile() };
    let count = (top + size_of::<Frame>() as u64).saturating_sub(base) as usize / size_of::<Frame>();
    let latest = count.saturating_sub(most)..count;
    // SAFETY: frames of it, up to the latest of that moment.
    latest.map(|number| unsafe { frame_of(frames, other, number).read_volatile() }).collect()
}

/// A call of a thread, by its number, the outermost first.
fn frame_of(frames: &Frames, thread: *mut ThreadArea, number: usize) -> *mut Frame {
    let base = thread as u64 + frames.process.shared.header().frames;
    // The first stands for none.
    (base as *mut Frame).wrapping_add(1 + number)
}
