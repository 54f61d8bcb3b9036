//! Putting the runtime into a program that is stopped at its first instruction.

use crate::address_limit::{self, UNLIMITED};
use crate::arena::{self, Arena};
use crate::count::CountError;
use crate::unlisted;
use std::sync::atomic::Ordering;
use timewise_abi::RESERVED_HIGH;
use timewise_abi::log::{MAPPED_CHANGING, MappingRecord};
use timewise_abi::thread::Registers;
use timewise_injection::{Image, Payload};
use timewise_target::errand::{Errand, Undo};
use timewise_target::first_instruction;
use timewise_target::maps::{self, Mapped};
use timewise_target::trace::{self, Tracee};

/// Maps the runtime into the program and points it there. `parent` is the record of the image that it
/// replaces or descends from, 0 for none.
///
/// # Errors
/// What the system refused. The program can still be released to run natively.
pub fn inject(arena: &Arena, payload: &Payload, pid: i32, parent: u64) -> Result<(), CountError> {
    let system = |what| move |cause| CountError::System { what, cause };
    let tracee = Tracee::new(pid);
    let before = tracee.registers().map_err(system("read registers"))?;
    let mappings = maps::executable(pid).map_err(system("read memory maps"))?;
    first_instruction::check(tracee, before.rip, &mappings)?;
    let taken = maps::ranges(pid).map_err(system("read memory maps"))?;
    if taken.iter().any(|range| range.start < RESERVED_HIGH.end && RESERVED_HIGH.start < range.end) {
        return Err(CountError::NoRoom);
    }
    let shared = arena.shared();
    let (process, thread) = arena.register(pid as u32, parent)?;
    let limits = address_limit::note(arena, process, parent, pid)?;
    let undo = Undo {
        mapped: RESERVED_HIGH,
        descriptors: timewise_injection::DESCRIPTORS,
        address_limits: (limits[0] != UNLIMITED).then_some(limits),
    };
    let errand = Errand::begin(tracee, &mappings, &undo).map_err(system("write to the program"))?;
    let mapped = address_limit::raise(arena, pid, limits)
        .and_then(|()| record_mappings(arena, process, pid, mappings))
        .and_then(|()| {
            timewise_injection::map(
                errand.tracee(),
                arena.file(),
                arena::BASE,
                payload,
                arena.image_offset(),
                Image::Mapped,
            )
            .map_err(system("map the runtime into the program"))
        });
    // SAFETY: the area was just registered; the program does not run yet.
    unsafe { (*shared.thread(thread)).registers = saved(&before) };
    let goes_on = match mapped {
        Ok(()) => trace::Registers { rip: payload.entry, gs_base: arena::BASE + thread, ..before },
        Err(_) => before,
    };
    // Not in a system call, so that none is restarted.
    errand.end(&trace::Registers { orig_rax: u64::MAX, ..goes_on }).map_err(system("set registers"))?;
    mapped?;
    // From now on the record is complete, for whoever looks at it meanwhile.
    shared.process(process).pid.store(pid as u32, Ordering::Release);
    Ok(())
}

/// The registers as they stand in a thread area.
pub fn saved(r: &trace::Registers) -> Registers {
    Registers {
        r8_to_r15: [r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15],
        rdi: r.rdi,
        rsi: r.rsi,
        rbp: r.rbp,
        rbx: r.rbx,
        rdx: r.rdx,
        rax: r.rax,
        rcx: r.rcx,
        rsp: r.rsp,
        rip: r.rip,
        rflags: r.eflags,
    }
}

/// Writes what is mapped executable before anything is counted into the process's log, and what the runtime cannot see
/// of the functions there.
pub fn record_mappings(
    arena: &Arena,
    process: u64,
    pid: i32,
    mappings: Vec<Mapped>,
) -> Result<(), CountError> {
    if arena.has_frames() {
        unlisted::tell(arena, process, pid, &mappings)?;
    }
    let shared = arena.shared();
    let log = &shared.process(process).mappings;
    let changing =
        maps::changing(pid).map_err(|cause| CountError::System { what: "read memory maps", cause })?;
    for Mapped { start, end, file_offset, device, inode, path } in mappings {
        let path_length = path.len() as u32;
        let mapped = if changing.contains(&start) { MAPPED_CHANGING } else { 1 };
        let record = MappingRecord { start, end, file_offset, device, inode, mapped, path_length };
        shared.append(log, &record, &path).map_err(|_| CountError::Full)?;
    }
    Ok(())
}
