//! The memory that the host shares with every process under count.

use crate::address_limit::{self, UNLIMITED};
use crate::count::CountError;
use crate::paths::{self, Instrumentation, Laid};
use crate::records::Records;
use crate::unlisted::LaidDown;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicU32, Ordering};
use timewise_abi::process::ProcessRecord;
use timewise_abi::stream::{Plan, RING, Ring};
use timewise_abi::thread::{COUNTERS, ThreadArea};
use timewise_abi::view::Shared;
use timewise_abi::{GRANULE, MAGIC, SharedHeader, VERSION};
use timewise_injection::{Payload, SharedFile};
use timewise_target::machine::{self, Core, microarchitecture};
use timewise_target::maps;
use timewise_target::trace::Registers;

/// Where the shared file is mapped in every process under count.
pub const BASE: u64 = timewise_abi::SHARED;

/// Addresses reserved for it; memory is used only where something is written.
const SIZE: u64 = timewise_abi::IMAGE - BASE;

/// Addresses reserved for a thread's counters: sixteen million, of code that fills gigabytes.
const COUNTERS_SIZE: u64 = 128 << 20;

/// The least that is left for them where paths are counted, too: more than a hundred thousand.
const LEAST_COUNTERS: u64 = 1 << 20;

/// Addresses reserved for a thread's open calls, if their costs are asked for: a million, as many as find
/// room on a stack of the usual 8 MiB.
const FRAMES_SIZE: u64 = 32 << 20;

/// Under a limit on the address space that we may not raise, the part of it that is reserved instead, and
/// the thread areas that find room in that.
const SHARE_OF_LIMIT: u64 = 4;
const THREADS_UNDER_LIMIT: u64 = 32;

/// Bytes of a thread area, which instructions reach by their displacement.
const MOST_OF_AREA: u64 = 1 << 31;

/// The part of the memory that a program may use which records of translated code may take; the code itself and what the
/// runtime knows of it take about five times as much.
const LOG_SHARE: u64 = 16;

/// The shared file, mapped into the host.
#[derive(Debug)]
pub struct Arena {
    file: SharedFile,
    mapping: *mut u8,
    /// What the host laid down is kept here: a program may write to the header.
    shared: Shared,
    thread_area_size: u64,
    counters_end: u64,
    has_frames: bool,
    /// Where in a thread area the counters of paths lie, if there are any, and their tables among them.
    path_counters: Option<(Range<u64>, Vec<u32>)>,
    log_limit: u64,
    image: Range<u64>,
    laid_down: LaidDown,
    records: Records,
}

// SAFETY: the mapping stays until the arena is dropped, and what lies in it is reached through atomics.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Makes the shared file, with the runtime's image in it; with room for open calls if their costs are
    /// asked for, and with a plan for counting paths if there is one. `plan` says what else is asked for, `memory` how
    /// many bytes the program may use at most.
    ///
    /// # Errors
    /// [`CountError::System`]; [`CountError::AddressLimit`] and [`CountError::Full`] if the counters of paths have no
    /// room.
    pub fn new(
        payload: &Payload,
        calls: bool,
        plan: Plan,
        paths: Option<&Instrumentation>,
        memory: u64,
    ) -> Result<Arena, CountError> {
        let system = |what| move |cause| CountError::System { what, cause };
        // The program has been launched with the limit that it is to see: this one is ours alone.
        let limit = address_limit::raise_own(SIZE).map_err(system("read the limit on the address space"))?;
        let size = SIZE.min((limit / SHARE_OF_LIMIT) & !(GRANULE - 1));
        let most = (size / THREADS_UNDER_LIMIT) & !(GRANULE - 1);
        let of_paths: u64 = paths.map_or(0, |paths| paths::room(paths).iter().sum());
        let share = if calls { (most / 4) & !(GRANULE - 1) } else { most.saturating_sub(of_paths) };
        let counters = COUNTERS_SIZE.min(share);
        if paths.is_some() && counters < LEAST_COUNTERS {
            return Err(CountError::AddressLimit(limit));
        }
        let path_counters_at = if calls { (counters + FRAMES_SIZE).min(most) } else { counters };
        let thread_area_size = path_counters_at + of_paths;
        if thread_area_size > MOST_OF_AREA {
            return Err(CountError::Full);
        }
        let file = SharedFile::new(size).map_err(|error| match error.no_addresses && limit != UNLIMITED {
            true => CountError::AddressLimit(limit),
            false => system(error.what)(error.cause),
        })?;
        let image_offset = (size_of::<SharedHeader>() as u64).next_multiple_of(GRANULE);
        file.file().write_all_at(&payload.image, image_offset).map_err(system("write shared memory"))?;
        let mapping = file.mapping();
        // SAFETY: the mapping starts with zero pages, which are a valid header; nobody else has it yet.
        let header = unsafe { &mut *mapping.cast::<SharedHeader>() };
        header.magic = MAGIC;
        header.version = VERSION;
        header.size = size;
        header.log_limit = memory / LOG_SHARE;
        header.thread_area_size = thread_area_size;
        header.base = BASE;
        header.host_pid.store(std::process::id(), Ordering::Relaxed);
        header.user_gs = u32::from(user_gs());
        header.by_distance = u32::from(finds_stores_by_distance());
        header.quick_loop = u32::from(has_quick_loop());
        header.frames = if calls { counters } else { 0 };
        header.plan = plan;
        let log_limit = header.log_limit;
        header.counters_end = counters;
        let image_end = (image_offset + payload.image.len() as u64).next_multiple_of(GRANULE);
        let mut end = image_end;
        let mut path_counters = None;
        if let Some(paths) = paths {
            let Laid { bytes, counters, tables } = paths::lay_down(paths, image_end, path_counters_at);
            file.file().write_all_at(&bytes, image_end).map_err(system("write shared memory"))?;
            header.paths = image_end;
            end = (image_end + bytes.len() as u64).next_multiple_of(GRANULE);
            path_counters = Some((counters, tables));
        }
        header.next_free.store(end, Ordering::Relaxed);
        // SAFETY: the mapping stays as long as the arena, which outlives all use of its contents.
        let shared = unsafe { Shared::at(mapping as u64) };
        let image = image_offset..end;
        let (counters_end, has_frames) = (counters, calls);
        Ok(Arena {
            file,
            mapping,
            shared,
            thread_area_size,
            counters_end,
            has_frames,
            path_counters,
            log_limit,
            image,
            laid_down: LaidDown::default(),
            records: Records::default(),
        })
    }

    /// What it tells programs of their functions.
    pub fn laid_down(&self) -> &LaidDown {
        &self.laid_down
    }

    /// Its contents.
    pub fn shared(&self) -> Shared {
        self.shared
    }

    /// Where a word of the shared file lies in the programs.
    pub fn address_of(&self, word: &AtomicU32) -> u64 {
        BASE + (word.as_ptr() as u64 - self.mapping as u64)
    }

    /// The shared file itself.
    pub fn file(&self) -> &SharedFile {
        &self.file
    }

    /// Whether a process has it mapped where those under count have it.
    ///
    /// # Errors
    /// The system's, if the process is gone or hidden.
    pub fn is_mapped_in(&self, pid: i32) -> io::Result<bool> {
        let own = self.file.file().metadata()?;
        Ok(maps::file_at(pid, BASE)? == Some((own.dev(), own.ino())))
    }

    /// Offset of the runtime's image.
    pub fn image_offset(&self) -> u64 {
        self.image.start
    }

    /// Where the runtime's image lies, and what is to be done for paths behind it.
    pub fn image(&self) -> Range<u64> {
        self.image.clone()
    }

    /// Bytes of a thread area with all that belongs to it.
    pub fn thread_area_size(&self) -> u64 {
        self.thread_area_size
    }

    /// Where in a thread area its counters end.
    pub fn counters_end(&self) -> u64 {
        self.counters_end
    }

    /// Whether the costs of calls are asked for.
    pub fn has_frames(&self) -> bool {
        self.has_frames
    }

    /// Where in a thread area the counters of paths lie, if there are any, and their tables among them.
    pub fn path_counters(&self) -> Option<(Range<u64>, &[u32])> {
        self.path_counters.as_ref().map(|(counters, tables)| (counters.clone(), &tables[..]))
    }

    /// How many calls of a thread were forgotten for which its functions' paths were to wait.
    pub fn lost_paths(&self, area: u64) -> u64 {
        // SAFETY: within the file, aligned. Volatile: a thread may be writing it.
        self.thread(area).map_or(0, |area| unsafe { (&raw const (*area).lost_paths).read_volatile() })
    }

    /// Bytes that logs may take in all.
    pub fn log_limit(&self) -> u64 {
        self.log_limit
    }

    /// A process record, by what a program says is its offset; `None` if none can be there.
    pub fn process(&self, offset: u64) -> Option<&ProcessRecord> {
        self.shared.holds(offset, size_of::<ProcessRecord>() as u64).then(|| self.shared.process(offset))
    }

    /// The records of all processes that were registered, but for those given back, the latest first.
    pub fn records(&self) -> Vec<&ProcessRecord> {
        self.records.all(self)
    }

    /// Gives the memory of a process record back.
    pub fn give_back_record(&self, offset: u64) {
        self.records.forget(self, offset);
        self.release(offset..offset + GRANULE);
    }

    /// A thread area, by what a program says is its offset; `None` if none can be there.
    pub fn thread(&self, offset: u64) -> Option<*mut ThreadArea> {
        self.shared.holds(offset, self.thread_area_size).then(|| self.shared.thread(offset))
    }

    /// The area of a thread of a program that stands with these registers; `None` if it runs natively.
    pub fn area_of(&self, stopped: &Registers) -> Option<*mut ThreadArea> {
        stopped.gs_base.checked_sub(BASE).and_then(|offset| self.thread(offset))
    }

    /// A ring, likewise.
    pub fn ring(&self, offset: u64) -> Option<&Ring> {
        // SAFETY: within the file, aligned; what changes is atomic.
        self.shared.holds(offset, RING).then(|| unsafe { &*self.mapping.add(offset as usize).cast::<Ring>() })
    }

    /// What a counter of the thread area at `area` holds; 0 if there is none such.
    pub fn counter(&self, area: u64, counter: u32) -> u64 {
        let at = u64::from(COUNTERS) + 8 * u64::from(counter);
        match self.thread(area) {
            // SAFETY: within the area, aligned. Volatile: a thread may be writing it.
            Some(area) if at < self.counters_end => unsafe {
                area.cast::<u8>().add(at as usize).cast::<u64>().read_volatile()
            },
            _ => 0,
        }
    }

    /// Copies a part that lies in the file. A program may be writing it: what is read may make no sense.
    pub fn copy(&self, part: Range<u64>) -> Vec<u8> {
        assert!(part.start <= part.end && part.end <= self.file.size(), "within the file");
        let (offset, length) = (part.start, (part.end - part.start) as usize);
        let mut bytes = Vec::with_capacity(length);
        // SAFETY: the source lies within the mapping, the destination has room for as many bytes, and any
        // bytes are valid.
        unsafe {
            std::ptr::copy_nonoverlapping(self.mapping.add(offset as usize), bytes.as_mut_ptr(), length);
            bytes.set_len(length);
        }
        bytes
    }

    /// Gives memory back to the system; it reads as zero from then on.
    pub fn release(&self, range: Range<u64>) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let length = range.end - range.start;
        // SAFETY: passes no memory. Where the system cannot, memory is given back at the end of the run.
        unsafe { libc::fallocate(self.file.file().as_raw_fd(), mode, range.start as i64, length as i64) };
    }

    /// Calls `each` with the offset and value of every 8-byte word in `range` that may not be zero. Reading
    /// what was never written would make the system provide memory for it, so that is left out.
    pub fn each_word(&self, range: Range<u64>, mut each: impl FnMut(u64, u64)) {
        let mut at = range.start;
        while let Some(data) = self.seek(at, libc::SEEK_DATA).filter(|&data| data < range.end) {
            let hole = self.seek(data, libc::SEEK_HOLE).unwrap_or(range.end).min(range.end);
            for word in (data.max(at)..hole).step_by(8) {
                // SAFETY: within the mapping, aligned. Volatile: a thread may be writing it.
                each(word, unsafe { self.mapping.add(word as usize).cast::<u64>().read_volatile() });
            }
            at = hole;
        }
    }

    /// A word as a program could read it.
    #[cfg(test)]
    pub fn read_word(&self, at: u64) -> u64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.file.size());
        // SAFETY: within the mapping, aligned.
        unsafe { self.mapping.add(at as usize).cast::<u64>().read_volatile() }
    }

    /// Writes a word as a program could.
    #[cfg(test)]
    pub fn write_word(&self, at: u64, value: u64) {
        assert!(at.is_multiple_of(8) && at + 8 <= self.file.size());
        // SAFETY: within the mapping, aligned; whoever reads there takes any value.
        unsafe { self.mapping.add(at as usize).cast::<u64>().write_volatile(value) };
    }

    /// Memory in use, bytes.
    pub fn used(&self) -> u64 {
        self.file.file().metadata().map_or(0, |m| m.blocks() * 512)
    }

    /// The next data or hole at or after `offset`; `None` at the end of the file.
    fn seek(&self, offset: u64, what: libc::c_int) -> Option<u64> {
        // SAFETY: passes no memory.
        let found = unsafe { libc::lseek(self.file.file().as_raw_fd(), offset as i64, what) };
        u64::try_from(found).ok()
    }

    /// Registers a process image with its first thread: the offsets of both. Its process id is still
    /// unknown, so that nobody takes it for complete.
    ///
    /// # Errors
    /// [`CountError::Full`].
    pub fn register(&self, tid: u32, parent: u64) -> Result<(u64, u64), CountError> {
        let process = self.shared.register_process(parent).map_err(|_| CountError::Full)?;
        let thread = self.shared.register_thread(process).map_err(|_| CountError::Full)?;
        let area = self.thread(thread).ok_or(CountError::Full)?;
        // SAFETY: just registered; its thread does not run yet.
        unsafe { (*area).tid.store(tid, Ordering::Relaxed) };
        Ok((process, thread))
    }
}

/// Whether the processor finds what a load will read by how far its address is from the program counter, and not by a
/// bare address: an addition that a loop repeats took one cycle and seven on a Zen 5. A Zen 4 guesses wrong where several
/// instructions add to one field, and others were not measured.
fn finds_stores_by_distance() -> bool {
    machine::core() == Some(Core::Zen5)
}

/// Whether `loop` is one operation: beside a computation of an address it took 0.6 cycles on a Zen 4, as a comparison and
/// a branch do, and `jrcxz` that is taken 1.5. Intel's processors execute it as microcode.
fn has_quick_loop() -> bool {
    microarchitecture().is_some_and(|design| design.starts_with("AMD Zen"))
}

/// Whether programs may write `%gs`'s base: the kernel says so in the second word of capabilities.
fn user_gs() -> bool {
    const FSGSBASE: libc::c_ulong = 1 << 1;
    // SAFETY: reads the process's auxiliary vector.
    unsafe { libc::getauxval(libc::AT_HWCAP2) & FSGSBASE != 0 }
}
