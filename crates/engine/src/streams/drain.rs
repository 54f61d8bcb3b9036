//! Taking chunks out of rings.

use super::Chunk;
use crate::arena::{Arena, BASE};
use crate::harvest::{Claims, Ended, Images};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use timewise_abi::GRANULE;
use timewise_abi::stream::{CHUNK, CHUNKS, FIRST_CHUNK, RING};
use timewise_abi::thread::state;

/// How long is waited for a chunk before looking again for the program's end.
const PATIENCE: Duration = Duration::from_millis(20);

/// How often the program is told that somebody reads.
const BEAT: Duration = Duration::from_millis(100);

/// Tells the program that somebody reads, until it is ended.
#[derive(Debug)]
pub struct Beat<'a> {
    arena: &'a Arena,
    ended: AtomicBool,
}

impl<'a> Beat<'a> {
    /// Nobody is told yet.
    pub fn new(arena: &'a Arena) -> Beat<'a> {
        Beat { arena, ended: AtomicBool::new(false) }
    }

    /// Tells until [`Beat::end`].
    pub fn go_on(&self) {
        while !self.ended.load(Ordering::Acquire) {
            self.arena.shared().header().beat.fetch_add(1, Ordering::Relaxed);
            std::thread::park_timeout(BEAT);
        }
    }

    /// Ends it.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }
}

/// A ring as the host sees it.
#[derive(Debug)]
struct Source {
    ring: u64,
    area: u64,
    image: u64,
    /// Chunks taken.
    taken: u64,
    /// Whether nothing follows.
    is_over: bool,
}

/// Takes chunks until the program has `ended` and nothing is left, and gives them to `take`. False if
/// something is missing.
pub fn drain(arena: &Arena, ended: &AtomicBool, mut take: impl FnMut(&Chunk)) -> bool {
    let _farewell = Farewell(arena);
    let mut drain = Drain {
        arena,
        claims: Claims::new(arena),
        images: Images::of_blocks(),
        ended: Ended::default(),
        gone: HashSet::new(),
        latest: 0,
        sources: Vec::new(),
        is_whole: true,
    };
    loop {
        let chunks = &arena.shared().header().chunks;
        let seen = chunks.load(Ordering::Acquire);
        let is_over = ended.load(Ordering::Acquire);
        drain.discover();
        let mut found = false;
        // In turn: a thread that waits for another one fills its chunks as fast as they are read.
        for stream in 0..drain.sources.len() {
            found |= drain.next(stream, &mut take);
        }
        if is_over && !found {
            break;
        }
        if !found {
            crate::follow::sleep(chunks, seen, PATIENCE);
        }
    }
    for stream in 0..drain.sources.len() {
        drain.rest(stream, &mut take);
    }
    drain.is_whole && drain.claims.damage == 0
}

/// Tells the program that nobody reads any more, should whoever takes chunks give up by panicking.
struct Farewell<'a>(&'a Arena);

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.shared().header().host_pid.store(0, Ordering::Release);
        }
    }
}

struct Drain<'a> {
    arena: &'a Arena,
    claims: Claims,
    images: Images,
    ended: Ended,
    /// Images that have ended.
    gone: HashSet<u64>,
    latest: u64,
    sources: Vec<Source>,
    is_whole: bool,
}

impl Drain<'_> {
    /// Finds the rings that were registered since.
    fn discover(&mut self) {
        let head = self.arena.shared().header().latest_ring.load(Ordering::Acquire);
        let mut found = Vec::new();
        let mut next = head;
        while next != self.latest && next != 0 {
            let Some(ring) = self.arena.ring(next).filter(|_| self.claims.take(self.arena, next, RING))
            else {
                self.is_whole = false;
                break;
            };
            found.push(Source { ring: next, area: ring.area, image: ring.process, taken: 0, is_over: false });
            next = ring.previous.load(Ordering::Acquire);
        }
        self.latest = head;
        for source in found.into_iter().rev() {
            self.admit(source.image);
            self.sources.push(source);
        }
    }

    /// Makes the logs of an image and its ancestors known.
    fn admit(&mut self, image: u64) {
        let mut line = Vec::new();
        let mut next = image;
        // The program could write to what is read here: a parent lies before its child, so that this ends.
        while self.images.get(next).is_none() {
            let Some(process) = self.arena.process(next) else { break };
            line.push((next, process));
            if process.parent == 0 || process.parent >= next {
                break;
            }
            next = process.parent;
        }
        for (image, process) in line.into_iter().rev() {
            if self.claims.take(self.arena, image, GRANULE) {
                self.images.add(self.arena, &mut self.claims, image, process);
            }
        }
    }

    /// Takes the next chunk of a stream, if it is full, or all that is left of a process that has ended: whoever keeps
    /// something for each stream need not keep it while others run.
    fn next(&mut self, stream: usize, take: &mut impl FnMut(&Chunk)) -> bool {
        let Source { ring, image, is_over, .. } = self.sources[stream];
        if is_over {
            return false;
        }
        if !self.has_ended(image) {
            return self.chunk(stream, take);
        }
        while self.chunk(stream, take) {}
        self.rest(stream, take);
        // Nobody writes there any more.
        self.arena.release(ring + FIRST_CHUNK..ring + RING);
        true
    }

    fn has_ended(&mut self, image: u64) -> bool {
        let process = self.arena.process(image).filter(|_| !self.gone.contains(&image));
        if process.is_some_and(|process| self.ended.is(self.arena, image, process)) {
            self.gone.insert(image);
        }
        self.gone.contains(&image)
    }

    /// Takes the next chunk of a stream, if it is full.
    fn chunk(&mut self, stream: usize, take: &mut impl FnMut(&Chunk)) -> bool {
        let Source { ring, taken, .. } = self.sources[stream];
        let Some(header) = self.arena.ring(ring) else { return false };
        let number = taken as usize % CHUNKS;
        let used = u64::from(header.full[number].load(Ordering::Acquire));
        if used == 0 || used > CHUNK {
            return false;
        }
        self.give(stream, used, None, take);
        self.sources[stream].taken += 1;
        header.full[number].store(0, Ordering::Release);
        crate::follow::wake(&header.full[number]);
        true
    }

    /// Takes what a thread wrote that has not filled its chunk, unless that was done.
    fn rest(&mut self, stream: usize, take: &mut impl FnMut(&Chunk)) {
        let Source { ring, area, taken, is_over, .. } = self.sources[stream];
        if is_over {
            return;
        }
        self.sources[stream].is_over = true;
        let (Some(header), Some(area)) = (self.arena.ring(ring), self.arena.thread(area)) else { return };
        self.is_whole &= header.lost.load(Ordering::Relaxed) == 0;
        // SAFETY: within the file. Volatile: a thread may be writing it.
        let (at, is_running) = unsafe {
            let at = (&raw const (*area).ring_at).read_volatile();
            (at, (*area).state.load(Ordering::Acquire) == state::RUNNING)
        };
        let number = taken % CHUNKS as u64;
        let start = BASE + ring + FIRST_CHUNK + number * CHUNK;
        let used = at.checked_sub(start).filter(|&used| used <= CHUNK);
        let is_right = header.begun.load(Ordering::Acquire) == taken && used.is_some();
        self.is_whole &= is_right;
        let used = used.filter(|_| is_right).unwrap_or(0);
        self.give(stream, used, Some(is_running), take);
    }

    fn give(&mut self, stream: usize, used: u64, end: Option<bool>, take: &mut impl FnMut(&Chunk)) {
        let Source { ring, image, taken, area, .. } = self.sources[stream];
        let start = ring + FIRST_CHUNK + taken % CHUNKS as u64 * CHUNK;
        let bytes = self.arena.copy(start..start + used);
        self.images.refresh(self.arena, &mut self.claims, image);
        let pid = self.images.get(image).map_or(0, |image| image.pid);
        let (is_last, is_cut) = (end.is_some(), end == Some(true));
        let (arena, images) = (self.arena, &self.images);
        take(&Chunk { stream, image, pid, bytes: &bytes, is_last, is_cut, area, arena, images });
    }
}
