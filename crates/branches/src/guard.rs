//! System calls of the program that concern the tracer are watched by breakpoints: by some it could take `SIGTRAP` from
//! the tracer, which keeps the program's handler for it instead; by others it restricts its system calls, so that a
//! filter would end it for the tracer's.

use crate::inherited;
use crate::taken_up::{self, taken_up};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use timewise_abi::tracing::{GUARDS, signal_data};
use timewise_isa::walk::boundaries;
use timewise_isa::{Control, unused_registers};
use timewise_target::perf::{Event, Watched, sys};
use timewise_target::{maps, subject};

/// Which system call is made at a place. The first of a kind are watched before the second of any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// `rt_sigaction`.
    SetsHandlers,
    /// `prctl`, by which programs announce that they will restrict themselves.
    Announces,
    /// `seccomp`.
    Restricts,
}

/// Where a system call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The address of the instruction.
    pub address: u64,
    /// Which it is.
    pub call: Call,
}

/// `syscall`.
const SYSTEM_CALL: [u8; 2] = [0x0f, 0x05];

/// Instructions between the number and the system call, at most: compilers put moves of arguments there.
const BETWEEN: usize = 4;

impl Call {
    const ALL: [Call; 3] = [Call::SetsHandlers, Call::Announces, Call::Restricts];

    fn number(self) -> i64 {
        match self {
            Call::SetsHandlers => libc::SYS_rt_sigaction,
            Call::Announces => libc::SYS_prctl,
            Call::Restricts => libc::SYS_seccomp,
        }
    }
}

/// The number that the first instructions of `code` load, as C libraries and Go's runtime do, `mov eax, number` or
/// `push number` and `pop rax`, and how many bytes that takes.
fn loaded(code: &[u8]) -> Option<(i64, usize)> {
    match *code {
        [0xb8, a, b, c, d, ..] => Some((u32::from_le_bytes([a, b, c, d]).into(), 5)),
        [0x6a, number @ ..0x80, 0x58, ..] => Some((number.into(), 3)),
        _ => None,
    }
}

/// Where in `code` its first instructions make one of these system calls, if they do.
fn made(code: &[u8]) -> Option<(usize, Call)> {
    const RAX: u8 = 0;
    let (number, mut at) = loaded(code)?;
    let call = Call::ALL.into_iter().find(|call| call.number() == number)?;
    for (length, control) in boundaries(&code[at..], 0).take(BETWEEN + 1) {
        if code[at..].starts_with(&SYSTEM_CALL) {
            return Some((at, call));
        }
        if control != Control::Next || !unused_registers(&code[at..]).any(|register| register == RAX) {
            return None;
        }
        at += usize::from(length);
    }
    None
}

/// The places of these system calls in what process `pid` has mapped now; at most as many as can be watched.
///
/// # Errors
/// The system's, if its memory cannot be read.
pub fn places(pid: i32) -> io::Result<Vec<Place>> {
    /// The longest that is looked at from a number on.
    const LONGEST: usize = 64;
    let memory = std::fs::File::open(format!("/proc/{pid}/mem"))?;
    let loader = subject::loader_base(pid)?;
    let mut found = Vec::new();
    let ours = taken_up(pid)?;
    let is_ours = |mapped: &maps::Mapped| taken_up::is_in(&ours, mapped.start);
    for mapped in maps::executable(pid)?.iter().filter(|mapped| mapped.inode != 0 && !is_ours(mapped)) {
        let mut code = vec![0; (mapped.end - mapped.start) as usize];
        // A file may be shorter than what is mapped of it.
        let read = memory.read_at(&mut code, mapped.start).unwrap_or_default();
        let is_loader = loader != 0 && is_in_loader(mapped, loader);
        for start in 0..read {
            if let Some((at, call)) = made(&code[start..read.min(start + LONGEST)]) {
                let place = Place { address: mapped.start + (start + at) as u64, call };
                found.push((is_loader, at, place));
            }
        }
    }
    Ok(most_wanted(found))
}

/// Whether this is code of the loader that lies at `base`: its code follows its headers.
fn is_in_loader(mapped: &maps::Mapped, base: u64) -> bool {
    mapped.start.checked_sub(base).is_some_and(|distance| distance == mapped.file_offset)
}

/// The places to be watched, of places with whether the loader has them and how far behind the number they are: loaders
/// come last, as they make few calls but where they are the C library too; of others, each kind in its turn.
fn most_wanted(mut found: Vec<(bool, usize, Place)>) -> Vec<Place> {
    found.sort_by_key(|&(is_loader, distance, place)| (is_loader, distance, place.address));
    let mut ranked: Vec<(bool, usize, Place)> = Vec::new();
    for (is_loader, _, place) in found {
        let same = ranked
            .iter()
            .filter(|(other_loader, _, other)| *other_loader == is_loader && other.call == place.call);
        let rank = same.count();
        ranked.push((is_loader, rank, place));
    }
    ranked.sort_by_key(|&(is_loader, rank, place)| (is_loader, rank, place.call));
    ranked.into_iter().map(|(_, _, place)| place).take(GUARDS).collect()
}

/// Whether process `pid` sets handlers at some of these places: not if they lie in code that a program without a loader
/// has mapped for others, as emulators do.
///
/// # Errors
/// The system's, if the process is gone or hidden.
pub fn sets_handlers_there(pid: i32, places: &[Place]) -> io::Result<bool> {
    let mut handlers = places.iter().filter(|place| place.call == Call::SetsHandlers);
    if subject::loader_base(pid)? != 0 {
        return Ok(handlers.next().is_some());
    }
    let program = std::fs::read_link(format!("/proc/{pid}/exe"))?;
    let mapped = maps::executable(pid)?;
    let own = |place: &Place| {
        let mut own = mapped.iter().filter(|mapped| mapped.path == program.as_os_str().as_bytes());
        own.any(|own| (own.start..own.end).contains(&place.address))
    };
    Ok(handlers.any(own))
}

/// Watches one of them, in the process's first thread and all that it will make.
///
/// # Errors
/// The kernel's.
pub fn open(pid: i32, place: Place) -> io::Result<Event> {
    let mut attributes = inherited::attributes(signal_data::GUARD);
    attributes.type_ = sys::PERF_TYPE_BREAKPOINT;
    attributes.__bindgen_anon_1.sample_period = 1;
    attributes.bp_type = sys::HW_BREAKPOINT_X;
    attributes.__bindgen_anon_3.bp_addr = place.address;
    attributes.__bindgen_anon_4.bp_len = size_of::<u64>() as u64;
    Event::open(&attributes, Watched::Thread(pid), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(code: &[u8]) -> Option<(usize, Call)> {
        made(&[code, &[0x90; 16]].concat())
    }

    #[test]
    fn system_calls_are_found_as_compilers_make_them() {
        // mov eax, 13; syscall
        assert_eq!(call(&[0xb8, 13, 0, 0, 0, 0x0f, 5]), Some((5, Call::SetsHandlers)));
        // mov eax, 13; mov r10d, 8; mov rsi, rcx; syscall
        let moves = [0xb8, 13, 0, 0, 0, 0x41, 0xba, 8, 0, 0, 0, 0x48, 0x89, 0xce, 0x0f, 5];
        assert_eq!(call(&moves), Some((14, Call::SetsHandlers)));
        // push 13; pop rax; mov rdx, r8; syscall
        assert_eq!(call(&[0x6a, 13, 0x58, 0x4c, 0x89, 0xc2, 0x0f, 5]), Some((6, Call::SetsHandlers)));
        assert_eq!(call(&[0xb8, 157, 0, 0, 0, 0x0f, 5]), Some((5, Call::Announces)));
        assert_eq!(call(&[0xb8, 0x3d, 1, 0, 0, 0x0f, 5]), Some((5, Call::Restricts)));
        // Another number; xor eax, eax before the call; a jump before it; none at all.
        assert_eq!(call(&[0xb8, 14, 0, 0, 0, 0x0f, 5]), None);
        assert_eq!(call(&[0xb8, 13, 0, 0, 0, 0x31, 0xc0, 0x0f, 5]), None);
        assert_eq!(call(&[0xb8, 13, 0, 0, 0, 0xeb, 0, 0x0f, 5]), None);
        assert_eq!(call(&[0xb8, 13, 0, 0, 0]), None);
    }

    #[test]
    fn each_kind_is_watched_before_a_second_one_and_loaders_last() {
        let place = |address, call| Place { address, call };
        let [first, second] = [10, 20].map(|address| place(address, Call::SetsHandlers));
        let [announces, loaders] = [place(30, Call::Announces), place(5, Call::SetsHandlers)];
        let exact = 5;
        let own = |place| (false, exact, place);
        assert_eq!(
            most_wanted(vec![(true, exact, loaders), own(second), own(announces)]),
            [second, announces, loaders]
        );
        let all = vec![(true, exact, loaders), (false, 8, first), own(second), own(announces)];
        assert_eq!(most_wanted(all), [second, announces, first]);
    }
}
