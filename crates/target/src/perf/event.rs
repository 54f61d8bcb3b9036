//! One performance event: opening it, switching it on and off.

use super::sys::{self, perf_event_attr};
use perf_event_open_sys::{ioctls, perf_event_open};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Whose execution an event watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// The calling thread.
    Caller,
    /// This thread; with `inherit`, those it creates from then on as well.
    Thread(i32),
    /// Every thread that runs on the chosen processor. Needs `CAP_PERFMON`, or
    /// `perf_event_paranoid` at 0 or less.
    Everyone,
}

/// An open event. Dropping it closes it.
#[derive(Debug)]
pub struct Event {
    fd: OwnedFd,
}

impl Event {
    /// Opens an event; `cpu` limits it to one processor and must be given with
    /// [`Watched::Everyone`]. `attributes.size` is filled in here.
    ///
    /// # Errors
    /// The kernel's: `ENOENT` or `EOPNOTSUPP` where the hardware lacks the event, `EACCES` or
    /// `EPERM` where `perf_event_paranoid` or a seccomp filter forbids it, `EINVAL` where this
    /// kernel does not know an attribute.
    pub fn open(attributes: &perf_event_attr, watched: Watched, cpu: Option<u32>) -> io::Result<Event> {
        let mut attributes = *attributes;
        attributes.size = size_of::<perf_event_attr>() as u32;
        let pid = match watched {
            Watched::Caller => 0,
            Watched::Thread(tid) => tid,
            Watched::Everyone => -1,
        };
        let cpu = cpu.map_or(-1, |cpu| cpu as i32);
        let flags = sys::PERF_FLAG_FD_CLOEXEC as libc::c_ulong;
        // SAFETY: `attributes` is a live, initialised structure of the size that it states, and it
        // holds no pointers.
        let fd = unsafe { perf_event_open(&mut attributes, pid, cpu, -1, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just returned this descriptor; nobody else owns it.
        Ok(Event { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Starts the event and the copies of it that threads inherited.
    ///
    /// # Errors
    /// The kernel's.
    pub fn enable(&self) -> io::Result<()> {
        // SAFETY: this request takes no memory.
        let result = unsafe { ioctls::ENABLE(self.fd.as_raw_fd(), 0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Sets after how much it fires, in the thread that it was opened for and in those that inherit it from now on: copies
    /// that others have inherited stay as they are.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_period(&self, period: u64) -> io::Result<()> {
        // SAFETY: this request reads the number that the address is of.
        let result = unsafe { ioctls::PERIOD(self.fd.as_raw_fd(), &raw const period as u64) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Has its records arrive in another event's ring, of the same processor.
    ///
    /// # Errors
    /// The kernel's.
    pub fn write_to(&self, other: &Event) -> io::Result<()> {
        // SAFETY: this request takes a descriptor and no memory.
        let result = unsafe { ioctls::SET_OUTPUT(self.fd.as_raw_fd(), other.fd.as_raw_fd()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// What the event has counted; it must have been opened without a read format.
    ///
    /// # Errors
    /// The kernel's; `UnexpectedEof` if there is a read format.
    pub fn count(&self) -> io::Result<u64> {
        self.read_words().map(|[value]| value)
    }

    /// Samples that found the ring full, of this event and of the copies that threads inherited;
    /// the event must have been opened with `PERF_FORMAT_LOST` as its only read format.
    ///
    /// # Errors
    /// The kernel's; `UnexpectedEof` if the read format is another.
    pub fn lost(&self) -> io::Result<u64> {
        self.read_words().map(|[_value, lost]| lost)
    }

    /// What the event and the copies of it that threads inherited have counted, and how long they could, nanoseconds: of
    /// events of threads, while these ran. It must have been opened with `PERF_FORMAT_TOTAL_TIME_RUNNING` as its only read
    /// format.
    ///
    /// # Errors
    /// The kernel's; `UnexpectedEof` if the read format is another.
    pub fn count_and_time(&self) -> io::Result<[u64; 2]> {
        self.read_words()
    }

    fn read_words<const N: usize>(&self) -> io::Result<[u64; N]> {
        let mut words = [0_u64; N];
        let size = size_of_val(&words);
        // SAFETY: the kernel writes at most `size` bytes into the array.
        let got = unsafe { libc::read(self.fd.as_raw_fd(), words.as_mut_ptr().cast(), size) };
        match got {
            ..0 => Err(io::Error::last_os_error()),
            _ if got as usize == size => Ok(words),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Stops the event and the copies of it that threads inherited.
    ///
    /// # Errors
    /// The kernel's.
    pub fn disable(&self) -> io::Result<()> {
        // SAFETY: this request takes no memory.
        let result = unsafe { ioctls::DISABLE(self.fd.as_raw_fd(), 0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
