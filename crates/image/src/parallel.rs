//! Many questions about one module at once, shared among the processors.

use crate::dwarf::{Frame, Lines};
use crate::symboliser::Symboliser;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder};

/// Offsets that a thread takes at once: neighbours, whose tables are read once for all.
const PIECE: usize = 4096;

/// What [`Symboliser::frames`] says of each offset, in the order given. Sorted offsets are found fastest.
pub fn frames_of(symboliser: &Symboliser, offsets: &[u64]) -> Vec<Vec<Frame>> {
    let Some(lines) = symboliser.lines() else { return vec![Vec::new(); offsets.len()] };
    let pieces = offsets.chunks(PIECE).len();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(pieces);
    if threads <= 1 {
        return offsets.iter().map(|&offset| lines.frames(offset)).collect();
    }
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<Vec<Vec<Frame>>>> = Mutex::new(vec![Vec::new(); pieces]);
    let work = |lines: &Lines| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = offsets.chunks(PIECE).nth(at) else { return };
            let frames = piece.iter().map(|&offset| lines.frames(offset)).collect();
            found.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[at] = frames;
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            let reader = lines.for_thread();
            // Where the system allows no further thread those that there are do the work.
            if Builder::new().spawn_scoped(scope, move || reader().as_ref().map(work)).is_err() {
                break;
            }
        }
        work(lines);
    });
    found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).into_iter().flatten().collect()
}
