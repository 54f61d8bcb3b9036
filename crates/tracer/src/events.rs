//! The kernel's performance events of the calling thread: one that starts traces, and its breakpoint.

use timewise_abi::tracing::signal_data;
use timewise_runtime::sys::{Errno, call, number};

const PERF_EVENT_OPEN: u64 = 298;
const FCNTL: u64 = 72;
const IOCTL: u64 = 16;

const BAD_DESCRIPTOR: Errno = Errno(9);

const ENABLE: u64 = 0x2400;
const PERIOD: u64 = 0x4008_2404;
const MODIFY_ATTRIBUTES: u64 = 0x4008_240b;

const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const REMOVE_ON_EXEC: u64 = 1 << 36;
const SIGTRAP: u64 = 1 << 37;

/// The shortest period that the kernel keeps to, nanoseconds.
const SHORTEST_PERIOD_NS: u64 = 10_000;

/// `perf_event_attr` as of Linux 5.13, the first with `sigtrap`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint_kind: u32,
    breakpoint_address: u64,
    breakpoint_length: u64,
    unused: [u64; 6],
    signal_data: u64,
}

const FLAGS: u64 = DISABLED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | REMOVE_ON_EXEC | SIGTRAP;

fn sampling() -> Attributes {
    const SOFTWARE: u32 = 1;
    const CPU_CLOCK: u64 = 0;
    Attributes {
        kind: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: CPU_CLOCK,
        sample_period: SHORTEST_PERIOD_NS,
        flags: FLAGS,
        signal_data: signal_data::SAMPLE,
        ..Attributes::default()
    }
}

fn breakpoint(address: u64, period: u64, flags: u64) -> Attributes {
    const BREAKPOINT: u32 = 5;
    const EXECUTION: u32 = 4;
    Attributes {
        kind: BREAKPOINT,
        size: size_of::<Attributes>() as u32,
        sample_period: period,
        flags,
        breakpoint_kind: EXECUTION,
        breakpoint_address: address,
        breakpoint_length: size_of::<u64>() as u64,
        signal_data: signal_data::BREAKPOINT,
        ..Attributes::default()
    }
}

/// An event as it was opened. The program may close its descriptor, and open something of its own there.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Its descriptor.
    pub descriptor: i32,
    /// Its number among all that the kernel ever opened.
    pub identity: u64,
}

impl Event {
    /// Switches it off and closes it, if its descriptor still is its: a process that was forked meanwhile has it open, too.
    pub fn end(self) {
        if identity_of(self.descriptor) == Ok(self.identity) {
            switch_off(self.descriptor);
            close(self.descriptor);
        }
    }
}

/// Opens both, switched off, with descriptors from `lowest` on: the sampling event and the breakpoint.
///
/// # Errors
/// The kernel's; then neither is open.
pub fn open(lowest: u32) -> Result<[Event; 2], Errno> {
    let first = open_one(&sampling(), lowest)?;
    match open_breakpoint(lowest) {
        Ok(second) => Ok([first, second]),
        Err(error) => {
            first.end();
            Err(error)
        }
    }
}

/// Opens a breakpoint that is off.
///
/// # Errors
/// The kernel's.
pub fn open_breakpoint(lowest: u32) -> Result<Event, Errno> {
    // Any address will do for one that is off.
    open_one(&breakpoint(PERF_EVENT_OPEN, 1, FLAGS), lowest)
}

fn open_one(attributes: &Attributes, lowest: u32) -> Result<Event, Errno> {
    const CLOSE_ON_EXEC: u64 = 8;
    const DUPLICATE_CLOSE_ON_EXEC: u64 = 1030;
    let nobody = u64::MAX;
    let open = [attributes as *const Attributes as u64, 0, nobody, nobody, CLOSE_ON_EXEC, 0];
    // SAFETY: the kernel reads the attributes.
    let found = unsafe { call(PERF_EVENT_OPEN, open)? } as i32;
    let identity = identity_of(found)?;
    // It is put where the program's own do not come to lie, so that those are numbered as they would be natively.
    // SAFETY: passes no memory.
    let moved = unsafe { call(FCNTL, [found as u64, DUPLICATE_CLOSE_ON_EXEC, lowest.into(), 0, 0, 0]) };
    Event { descriptor: found, identity }.end();
    let descriptor = moved? as i32;
    if identity_of(descriptor) != Ok(identity) {
        // Another thread put something of its own in its first place meanwhile: this is a copy of that.
        close(descriptor);
        return Err(BAD_DESCRIPTOR);
    }
    Ok(Event { descriptor, identity })
}

/// By what the kernel knows an event.
///
/// # Errors
/// The kernel's, if the descriptor is closed, or something else's.
fn identity_of(descriptor: i32) -> Result<u64, Errno> {
    const IDENTITY: u64 = 0x8008_2407;
    let mut identity = 0_u64;
    control(descriptor, IDENTITY, &raw mut identity as u64)?;
    Ok(identity)
}

/// Closes an event that is off.
fn close(descriptor: i32) {
    // SAFETY: of a descriptor that this module opened.
    let _ = unsafe { call(number::CLOSE, [descriptor as u64, 0, 0, 0, 0, 0]) };
}

/// Switches an event off.
pub fn switch_off(descriptor: i32) {
    const DISABLE: u64 = 0x2401;
    // If the program closed it, it is off.
    let _ = control(descriptor, DISABLE, 0);
}

/// Lets the sampling event, once it is on, send its next signal after `period_ns` of CPU time, and others so long after
/// one another.
///
/// # Errors
/// The kernel's, if the program closed the descriptor.
pub fn sample_after(descriptor: i32, period_ns: u64) -> Result<(), Errno> {
    let period = period_ns.max(SHORTEST_PERIOD_NS);
    control(descriptor, PERIOD, &raw const period as u64)
}

/// Switches an event on until it is switched off.
///
/// # Errors
/// As for [`sample_after`].
pub fn switch_on(descriptor: i32) -> Result<(), Errno> {
    control(descriptor, ENABLE, 0)
}

/// Sets the breakpoint, or switches it off where it was (`on` false). `period` is the one that it has: the kernel
/// refuses to change anything but the address.
///
/// # Errors
/// The kernel's: `ENOSPC` if somebody else has the processor's breakpoints.
pub fn set_breakpoint(descriptor: i32, address: u64, period: u64, on: bool) -> Result<(), Errno> {
    let attributes = breakpoint(address, period, if on { FLAGS & !DISABLED } else { FLAGS });
    control(descriptor, MODIFY_ATTRIBUTES, &raw const attributes as u64)
}

/// Sets the breakpoint so that it tells of the `visit`-th hit only, and of each so many from there on; `period` is the
/// one that it has.
///
/// # Errors
/// As for [`set_breakpoint`].
pub fn set_breakpoint_for(descriptor: i32, address: u64, period: &mut u64, visit: u64) -> Result<(), Errno> {
    if visit == 1 && *period == 1 {
        return set_breakpoint(descriptor, address, 1, true);
    }
    set_breakpoint(descriptor, address, *period, false)?;
    set_period(descriptor, period, visit)?;
    control(descriptor, ENABLE, 0)
}

/// From now on the breakpoint, which is off, tells of each hit again.
///
/// # Errors
/// As for [`set_breakpoint`].
pub fn tell_of_each_hit(descriptor: i32, period: &mut u64) -> Result<(), Errno> {
    set_period(descriptor, period, 1)
}

fn set_period(descriptor: i32, period: &mut u64, new: u64) -> Result<(), Errno> {
    if *period != new {
        control(descriptor, PERIOD, &raw const new as u64)?;
        *period = new;
    }
    Ok(())
}

fn control(descriptor: i32, request: u64, argument: u64) -> Result<(), Errno> {
    // SAFETY: these requests read or fill what the argument points to, and change the event alone.
    unsafe { call(IOCTL, [descriptor as u64, request, argument, 0, 0, 0]) }.map(drop)
}
