//! The thread's own ring of chunks, from the side that writes.
//!
//! A chunk is given to the host only when the next one is free, so that words which must be written at once
//! always find room: the last bytes of a chunk are for them alone.

use crate::sys::{Errno, call, filter, number};
use core::sync::atomic::{AtomicU32, Ordering};
use timewise_abi::Failure;
use timewise_abi::stream::{CHUNK, CHUNKS, FIRST_CHUNK, RING, Ring, SLACK};
use timewise_abi::thread::ThreadArea;
use timewise_abi::view::Shared;

/// How long is waited before looking again whether the host still reads.
const PATIENCE_NS: u64 = 10_000_000;

/// In how many waits in a row the host may do nothing, if it is known to be gone, and if not.
const GONE: u32 = 100;
const SILENT: u32 = 3000;

/// How often is looked where the program may not wait: some ten milliseconds.
const LOOKS: u32 = 200_000;

/// What came of waiting for a free chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited {
    /// There is room.
    Room,
    /// A signal wants in first.
    Interrupted,
    /// The host does not read any more.
    Alone,
}

/// Gives the thread a ring, if it has none.
///
/// # Errors
/// [`Failure::SharedFull`].
pub fn prepare(area: &mut ThreadArea) -> Result<(), Failure> {
    if area.ring != 0 {
        return Ok(());
    }
    let shared = shared(area);
    let offset = shared.allocate(RING)?;
    let ring = shared.header().base + offset;
    let (this, process) = (shared.offset(area.this), area.process);
    // SAFETY: just handed out, zero, which is a valid ring; nobody else knows of it yet.
    unsafe {
        let ring = &mut *(ring as *mut Ring);
        (ring.area, ring.process) = (this, process);
        shared.register_ring(offset, &ring.previous);
    }
    area.ring = ring;
    area.ring_at = ring + FIRST_CHUNK;
    Ok(())
}

/// Bytes left in the present chunk for blocks.
pub fn room(area: &ThreadArea) -> u64 {
    let Some(ring) = ring(area) else { return 0 };
    (end(area, ring) - SLACK).saturating_sub(area.ring_at)
}

/// Writes words. If there is no room at all, the stream is marked as incomplete.
pub fn note(area: &mut ThreadArea, words: &[u32]) {
    let Some(ring) = ring(area) else { return };
    let bytes = 4 * words.len() as u64;
    if area.ring_at + bytes > end(area, ring) && !turn(area, ring) {
        ring.lost.store(1, Ordering::Relaxed);
        return;
    }
    for &word in words {
        // SAFETY: within the chunk, which is this thread's as long as it writes there.
        unsafe { (area.ring_at as *mut u32).write(word) };
        area.ring_at += 4;
    }
}

/// Goes on to the next chunk, once that is free. Not under the process lock.
pub fn wait(area: &mut ThreadArea) -> Waited {
    let Some(ring) = ring(area) else { return Waited::Alone };
    let header = shared(area).header();
    let (mut beat, mut silent) = (header.beat.load(Ordering::Relaxed), 0);
    while !turn(area, ring) {
        if area.held.load(Ordering::Relaxed) != 0 {
            return Waited::Interrupted;
        }
        let host = header.host_pid.load(Ordering::Relaxed);
        let now = header.beat.load(Ordering::Relaxed);
        silent = if now == beat { silent + 1 } else { 0 };
        beat = now;
        if host == 0 || silent > SILENT || (silent > GONE && is_gone(host)) {
            ring.lost.store(1, Ordering::Relaxed);
            return Waited::Alone;
        }
        let next = ring.begun.load(Ordering::Relaxed) as usize + 1;
        sleep(&ring.full[next % CHUNKS]);
    }
    Waited::Room
}

/// Gives the present chunk to the host and begins the next, if that is free.
fn turn(area: &mut ThreadArea, ring: &Ring) -> bool {
    let begun = ring.begun.load(Ordering::Relaxed);
    let (this, next) = (begun as usize % CHUNKS, (begun as usize + 1) % CHUNKS);
    if ring.full[next].load(Ordering::Acquire) != 0 {
        return false;
    }
    let start = area.ring + FIRST_CHUNK;
    let used = area.ring_at - (start + this as u64 * CHUNK);
    // In this order: until the chunk is given away, the host reads it up to where the thread stands.
    area.ring_at = start + next as u64 * CHUNK;
    ring.begun.store(begun + 1, Ordering::Release);
    ring.full[this].store(used as u32, Ordering::Release);
    const WAKE: u64 = 1;
    let chunks = &shared(area).header().chunks;
    chunks.fetch_add(1, Ordering::Release);
    // SAFETY: wakes the host; changes nothing.
    let _ = unsafe { call(number::FUTEX, [chunks.as_ptr() as u64, WAKE, 1, 0, 0, 0]) };
    true
}

/// Whether no process has this number.
fn is_gone(pid: u32) -> bool {
    const ESRCH: Errno = Errno(3);
    // SAFETY: signal 0 only asks whether the process is there.
    let asked = unsafe { call(number::KILL, [pid.into(), 0, 0, 0, 0, 0]) };
    asked == Err(ESRCH)
}

fn sleep(full: &AtomicU32) {
    const WAIT: u64 = 0;
    let value = full.load(Ordering::Relaxed);
    let timeout = [0u64, PATIENCE_NS];
    let arguments = [full.as_ptr() as u64, WAIT, value.into(), timeout.as_ptr() as u64, 0, 0];
    // A wait that is interrupted goes on by another call, which the kernel makes without being asked.
    let may_wait =
        filter::allows(number::RESTART_SYSCALL, &[0; 6]) && filter::allows(number::FUTEX, &arguments);
    if may_wait && value != 0 {
        // SAFETY: waits while the word says so; changes nothing. An error means: look again.
        let _ = unsafe { call(number::FUTEX, arguments) };
        return;
    }
    for _ in 0..LOOKS {
        if full.load(Ordering::Relaxed) == 0 {
            return;
        }
        // SAFETY: lets others run; changes nothing.
        let _ = unsafe { call(number::SCHED_YIELD, [0; 6]) };
        core::hint::spin_loop();
    }
}

fn end(area: &ThreadArea, ring: &Ring) -> u64 {
    let chunk = ring.begun.load(Ordering::Relaxed) % CHUNKS as u64;
    area.ring + FIRST_CHUNK + (chunk + 1) * CHUNK
}

fn ring(area: &ThreadArea) -> Option<&'static Ring> {
    // SAFETY: a registered ring, which stays; what changes is atomic.
    (area.ring != 0).then(|| unsafe { &*(area.ring as *const Ring) })
}

fn shared(area: &ThreadArea) -> Shared {
    // SAFETY: the shared file is mapped where the area says.
    unsafe { Shared::at(area.shared) }
}
