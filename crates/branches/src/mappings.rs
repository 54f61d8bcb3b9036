//! What the kernel tells of a process's mappings, of the processes that it makes, and of what its threads used when they
//! end, as that happens: none is too short-lived, and each mapping has its time.

use crate::threads::Threads;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use timewise_target::family;
use timewise_target::machine;
use timewise_target::maps::Mapped;
use timewise_target::perf::{
    Event, Fields, FileIdentity, RawMapping, RawRecord, Ring, Watched, records, sys,
};

/// Bytes of a processor's ring, to be tried: room for two thousand mappings, or a hundred. It is emptied every few
/// milliseconds.
const RING_BYTES: [usize; 3] = [256 << 10, 64 << 10, 16 << 10];

/// Bytes of the largest record: that of a file with the longest path. One is refused only where there is less room.
const LARGEST_RECORD: usize = 128 + libc::PATH_MAX as usize;

/// Code was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// When, by the monotonic clock, nanoseconds.
    pub time_ns: u64,
    /// What lies there from then on.
    pub mapped: Mapped,
}

/// The events of a process's threads: one that follows a thread to any processor cannot have a ring if threads are to
/// inherit it, hence one a processor.
#[derive(Debug)]
pub struct Mappings {
    events: Vec<Event>,
    rings: Vec<Ring>,
    bytes: Vec<u8>,
    /// The process's first thread, if it had no other when this began.
    only: Option<u32>,
    /// CPU time of threads that have ended, by id, nanoseconds.
    ended: BTreeMap<u32, u64>,
    /// Processes that it made itself, by id.
    pub made: BTreeSet<i32>,
    /// Whether anything was mapped that is not told of.
    pub is_incomplete: bool,
}

impl Mappings {
    /// Of a process whose threads stand, from now on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn of(pid: i32) -> io::Result<Mappings> {
        let threads = family::threads(pid);
        let mut mappings = Mappings {
            events: Vec::new(),
            rings: Vec::new(),
            bytes: Vec::new(),
            only: (threads.len() == 1).then_some(pid as u32),
            ended: BTreeMap::new(),
            made: BTreeSet::new(),
            is_incomplete: false,
        };
        for processor in machine::online_processors() {
            let mut first: Option<usize> = None;
            for &thread in &threads {
                let event = Event::open(&attributes(), Watched::Thread(thread), Some(processor))?;
                match first {
                    Some(first) => event.write_to(&mappings.events[first])?,
                    None => {
                        let ring = RING_BYTES.iter().find_map(|&bytes| Ring::map(&event, bytes).ok());
                        mappings.rings.push(ring.ok_or(io::ErrorKind::OutOfMemory)?);
                        first = Some(mappings.events.len());
                    }
                }
                mappings.events.push(event);
            }
        }
        Ok(mappings)
    }

    /// What was mapped since, in order.
    pub fn news(&mut self) -> Vec<News> {
        let mut news = Vec::new();
        // Until nothing more is found: of two mappings one may have gone into a ring behind us, and the other into one
        // before us.
        loop {
            self.bytes.clear();
            for ring in &mut self.rings {
                let before = self.bytes.len();
                ring.drain_into(&mut self.bytes);
                // The kernel tells of losses with the next record only, and there may be none.
                self.is_incomplete |= ring.capacity() - (self.bytes.len() - before) < LARGEST_RECORD;
            }
            if self.bytes.is_empty() {
                break;
            }
            self.is_incomplete |= !read_all(&self.bytes, &mut news, &mut self.made, &mut self.ended);
        }
        news.sort_by_key(|one: &News| one.time_ns);
        news
    }

    /// What threads used, as far as was told, of which those that the process made have none of the first `blind_ns`
    /// in traces.
    pub fn threads(&self, blind_ns: u64) -> Threads {
        let cpu_ns = self.events.iter().filter_map(|event| event.count().ok()).sum();
        let told_ns: u64 = self.ended.values().sum();
        let mut threads = Threads { cpu_ns, blind_ns, ..Threads::default() };
        for (&id, &used_ns) in &self.ended {
            // The kernel has one thread inherit from another, and may have them change places: one of them is not told
            // of, and has what is left.
            threads.add(match self.only == Some(id) {
                true => cpu_ns.saturating_sub(told_ns),
                false => used_ns,
            });
        }
        threads
    }
}

/// An event that never fires and tells of executable mappings, new processes, and what ended threads used.
fn attributes() -> sys::perf_event_attr {
    let mut attributes = sys::perf_event_attr::default();
    attributes.type_ = sys::PERF_TYPE_SOFTWARE;
    attributes.config = sys::PERF_COUNT_SW_TASK_CLOCK as u64;
    attributes.sample_type = sys::PERF_SAMPLE_TIME as u64;
    attributes.clockid = libc::CLOCK_MONOTONIC;
    attributes.set_use_clockid(1);
    attributes.set_sample_id_all(1);
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    attributes.set_inherit(1);
    attributes.set_inherit_thread(1);
    attributes.set_inherit_stat(1);
    attributes.set_remove_on_exec(1);
    attributes.set_mmap(1);
    attributes.set_mmap2(1);
    attributes.set_task(1);
    attributes
}

/// Reads whole records: false if some were lost.
fn read_all(
    bytes: &[u8],
    news: &mut Vec<News>,
    made: &mut BTreeSet<i32>,
    ended: &mut BTreeMap<u32, u64>,
) -> bool {
    let mut is_complete = true;
    for RawRecord { kind, misc, body } in records(bytes) {
        match kind {
            sys::PERF_RECORD_MMAP2 => news.extend(read(misc, body)),
            sys::PERF_RECORD_FORK => made.extend(read_fork(Fields(body))),
            sys::PERF_RECORD_READ => add_used(Fields(body), ended).unwrap_or_default(),
            sys::PERF_RECORD_LOST => is_complete = false,
            _ => {}
        }
    }
    is_complete
}

/// The process that was made, if it is more than a thread.
fn read_fork(mut fields: Fields) -> Option<i32> {
    let (made, maker) = (fields.u32()?, fields.u32()?);
    (made != maker).then_some(made as i32)
}

/// What a thread that has ended used on one of the processors.
fn add_used(mut fields: Fields, ended: &mut BTreeMap<u32, u64>) -> Option<()> {
    let (_process, thread, used_ns) = (fields.u32()?, fields.u32()?, fields.u64()?);
    *ended.entry(thread).or_default() += used_ns;
    Some(())
}

/// A mapping, and the time that the kernel appends.
fn read(misc: u16, body: &[u8]) -> Option<News> {
    let (body, time) = body.split_at_checked(body.len().checked_sub(8)?)?;
    let RawMapping { address: start, length, file_offset, identity, path, .. } =
        RawMapping::read(misc, Fields(body))?;
    // Build ids are not asked for.
    let FileIdentity::Inode { device, inode } = identity else { return None };
    let end = start.saturating_add(length);
    Some(News {
        time_ns: Fields(time).u64()?,
        mapped: Mapped { start, end, file_offset, device, inode, path },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_target::cpu_time::monotonic_ns;

    fn record(kind: u32, words: &[u64]) -> Vec<u8> {
        let head = u64::from(kind) | (8 + 8 * words.len() as u64) << 48;
        [head].iter().chain(words).flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn mappings_and_new_processes_are_read_and_losses_noticed() {
        let name = u64::from_ne_bytes(*b"/lib/a\0\0");
        let words = [1 | 1 << 32, 0x1000, 0x2000, 0x3000, 8 | 1 << 32, 42, 0, 5, name, 99];
        let mut bytes = record(sys::PERF_RECORD_MMAP2, &words);
        bytes.extend(record(sys::PERF_RECORD_FORK, &[8 | 7 << 32, 8 | 7 << 32, 99, 99]));
        bytes.extend(record(sys::PERF_RECORD_FORK, &[7 | 7 << 32, 9 | 7 << 32, 99, 99]));
        for used_ns in [300, 20] {
            bytes.extend(record(sys::PERF_RECORD_READ, &[7 | 9 << 32, used_ns, 99]));
        }
        let (mut news, mut made, mut ended) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
        assert!(read_all(&bytes, &mut news, &mut made, &mut ended));
        assert_eq!((made, &ended), (BTreeSet::from([8]), &BTreeMap::from([(9, 320)])));
        let mapped = Mapped {
            start: 0x1000,
            end: 0x3000,
            file_offset: 0x3000,
            device: libc::makedev(8, 1),
            inode: 42,
            path: b"/lib/a".to_vec(),
        };
        assert_eq!(news, [News { time_ns: 99, mapped }]);
        for cut in 1..bytes.len() {
            read_all(&bytes[..cut], &mut Vec::new(), &mut BTreeSet::new(), &mut BTreeMap::new());
        }
        bytes.extend(record(sys::PERF_RECORD_LOST, &[0, 3, 100]));
        assert!(!read_all(&bytes, &mut news, &mut BTreeSet::new(), &mut ended));
        assert_eq!(news.len(), 2);
    }

    /// Maps so many pages, and unmaps them again: the range of all.
    fn map_for_a_moment(pages: usize) -> (u64, u64) {
        const PAGE: usize = 0x1000;
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, which nobody else knows.
        unsafe {
            let start = libc::mmap(std::ptr::null_mut(), pages * PAGE, protection, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            libc::munmap(start, pages * PAGE);
            (start as u64, start as u64 + (pages * PAGE) as u64)
        }
    }

    /// Each mapping of our own is told, with what was mapped there and when; and if there are too many of them, that is
    /// noticed, though nothing is mapped behind them with which the kernel would tell of it.
    #[test]
    fn short_lived_mappings_are_told_in_order_and_missed_if_lost() {
        const SMALLEST_RECORD: usize = 64;
        let mut mappings = match Mappings::of(std::process::id() as i32) {
            Ok(mappings) => mappings,
            Err(why) => return eprintln!("skipped, events are refused here: {why}"),
        };
        let before = monotonic_ns();
        let starts = [1, 2, 3, 1].map(map_for_a_moment);
        let after = monotonic_ns();
        let news = mappings.news();
        assert!(!mappings.is_incomplete);
        let told: Vec<(u64, u64)> = news
            .iter()
            .filter(|one| (before..=after).contains(&one.time_ns))
            .map(|one| (one.mapped.start, one.mapped.end))
            .filter(|range| starts.contains(range))
            .collect();
        assert_eq!(told, starts);
        let room: usize = mappings.rings.iter().map(Ring::capacity).sum();
        for _ in 0..room / SMALLEST_RECORD {
            map_for_a_moment(1);
        }
        mappings.news();
        assert!(mappings.is_incomplete);
    }
}
