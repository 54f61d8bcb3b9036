//! The ring buffer that the kernel writes an event's records into.

use super::Event;
use super::sys::perf_event_mmap_page;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory shared with the kernel: a page of positions, then the records. The kernel advances the
/// head as it writes, we advance the tail as we read; what lies between them is ours.
#[derive(Debug)]
pub struct Ring {
    map: NonNull<u8>,
    page_bytes: usize,
    data_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and may be read from whichever thread holds it.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `data_bytes`, rounded up to a power of two of pages.
    ///
    /// # Errors
    /// The kernel's; `EPERM` means more than `perf_event_mlock_kb` and `RLIMIT_MEMLOCK` allow.
    pub fn map(event: &Event, data_bytes: usize) -> io::Result<Ring> {
        // SAFETY: takes no memory.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let data_bytes = data_bytes.max(page_bytes).next_power_of_two();
        let fd = event.as_fd().as_raw_fd();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let map =
            unsafe { libc::mmap(ptr::null_mut(), page_bytes + data_bytes, access, libc::MAP_SHARED, fd, 0) };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let map = NonNull::new(map.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Ring { map, page_bytes, data_bytes })
    }

    /// Bytes of records that there is room for.
    pub fn capacity(&self) -> usize {
        self.data_bytes
    }

    /// Appends all unread bytes, which are whole records, to `bytes` and gives their room back to
    /// the kernel. Copying first keeps the room occupied for a few microseconds only, however
    /// long the records take to digest.
    pub fn drain_into(&mut self, bytes: &mut Vec<u8>) {
        let page: *mut perf_event_mmap_page = self.map.as_ptr().cast();
        // SAFETY: both positions are aligned 64-bit fields of the live first page, changed only
        // atomically while it is mapped.
        let (head, tail) = unsafe {
            (AtomicU64::from_ptr(&raw mut (*page).data_head), AtomicU64::from_ptr(&raw mut (*page).data_tail))
        };
        // Acquire: the records up to the head are written before the head moves over them.
        let end = head.load(Ordering::Acquire);
        let start = tail.load(Ordering::Relaxed);
        let unread = (end.wrapping_sub(start) as usize).min(self.data_bytes);
        let at = start as usize & (self.data_bytes - 1);
        let first = unread.min(self.data_bytes - at);
        bytes.reserve(unread);
        // SAFETY: both parts lie within the data area, and the kernel leaves what is between tail
        // and head alone; the destination has room for both, reserved just before.
        unsafe {
            let data = self.map.as_ptr().add(self.page_bytes);
            let destination = bytes.as_mut_ptr().add(bytes.len());
            ptr::copy_nonoverlapping(data.add(at), destination, first);
            ptr::copy_nonoverlapping(data, destination.add(first), unread - first);
            bytes.set_len(bytes.len() + unread);
        }
        // Release: the copy is complete before the kernel may write there again.
        tail.store(end, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `map` mapped; nothing borrows from it.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.page_bytes + self.data_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Watched, sys};
    use super::*;

    /// Renaming a thread writes one record a time: a count and contents that we choose.
    #[test]
    fn records_survive_many_turns_of_a_small_ring() {
        let mut attributes = sys::perf_event_attr::default();
        attributes.type_ = sys::PERF_TYPE_SOFTWARE;
        attributes.config = sys::PERF_COUNT_SW_DUMMY as u64;
        attributes.set_exclude_kernel(1);
        attributes.set_comm(1);
        let event = match Event::open(&attributes, Watched::Caller, None) {
            Ok(event) => event,
            Err(why) => return eprintln!("skipped, events are refused here: {why}"),
        };
        let mut ring = Ring::map(&event, 1).unwrap();
        let mut bytes = Vec::new();
        for turn in 0..1000 {
            let name = std::ffi::CString::new(format!("ring {turn:0width$}", width = 1 + turn % 9)).unwrap();
            // SAFETY: a valid C string.
            unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
            if turn % 7 == 0 {
                ring.drain_into(&mut bytes);
            }
        }
        ring.drain_into(&mut bytes);
        let mut names = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let size = u16::from_ne_bytes([rest[6], rest[7]]) as usize;
            let name = &rest[16..size];
            names.push(String::from_utf8_lossy(name).trim_end_matches('\0').to_string());
            rest = &rest[size..];
        }
        let expected: Vec<String> =
            (0..1000).map(|turn| format!("ring {turn:0width$}", width = 1 + turn % 9)).collect();
        assert_eq!(names, expected);
    }
}
