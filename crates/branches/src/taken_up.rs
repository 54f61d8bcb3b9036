//! Which addresses of a process the tracer takes up. All others are the program's, those between them included.

use crate::rings::BASE;
use std::io;
use std::mem::offset_of;
use std::ops::Range;
use timewise_abi::tracing::{BENCHES, SLOT_BYTES, SLOTS, TraceHeader};
use timewise_abi::{IMAGE, LARGE_PAGE};
use timewise_injection::Occupant;
use timewise_target::{maps, memory};

/// What is not shared with the host: where single instructions are executed, where threads evaluate, and the page of the
/// image.
pub const PRIVATE: Range<u64> = BENCHES..IMAGE + LARGE_PAGE;

/// What of it the processes have, too, that the program forks.
pub const COPIED: Range<u64> = IMAGE..PRIVATE.end;

/// What of the memory of process `pid` is the tracer's: its own, or that of the process that it was forked from. What
/// begins at [`BASE`] comes last; nothing if no tracer is there.
///
/// # Errors
/// The system's, if the process is gone or hidden.
pub fn taken_up(pid: i32) -> io::Result<Vec<Range<u64>>> {
    let (Some(Occupant::Tracing { .. }), Some(file)) = (Occupant::of(pid)?, maps::file_at(pid, BASE)?) else {
        return Ok(Vec::new());
    };
    /// A mapping without a file.
    const ANONYMOUS: Option<(u64, u64)> = Some((0, 0));
    // Private memory is mapped before the file, or not at all.
    let is_whole = maps::file_at(pid, PRIVATE.start)? == ANONYMOUS;
    let mut ranges = vec![if is_whole { PRIVATE } else { COPIED }];
    ranges.extend(maps::ranges_of_file(pid, file)?.into_iter().rev());
    Ok(ranges)
}

/// The slots that threads of process `pid` use or used: which thread, and the slot's address.
///
/// # Errors
/// If its memory cannot be read.
pub fn used_slots(pid: i32) -> io::Result<Vec<(i32, u64)>> {
    const OWNERS: usize = offset_of!(TraceHeader, owners);
    let first = BASE + word(pid, offset_of!(TraceHeader, slots))?;
    let mut owners = [0; SLOTS * size_of::<i32>()];
    if memory::read(pid, BASE + OWNERS as u64, &mut owners) < owners.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let owners = owners.as_chunks().0.iter().map(|&owner| i32::from_ne_bytes(owner));
    let slots = owners.zip((first..).step_by(SLOT_BYTES as usize));
    Ok(slots.filter(|&(owner, _)| owner != 0).collect())
}

/// A word of the header.
fn word(pid: i32, offset: usize) -> io::Result<u64> {
    memory::word(pid, BASE + offset as u64).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Whether an address lies in what is taken up.
pub fn is_in(ranges: &[Range<u64>], address: u64) -> bool {
    ranges.iter().any(|range| range.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_process_without_a_tracer_is_ours() {
        assert_eq!(taken_up(std::process::id() as i32).unwrap(), []);
        assert!(!is_in(&[], BASE) && is_in(&[PRIVATE], BENCHES));
    }
}
