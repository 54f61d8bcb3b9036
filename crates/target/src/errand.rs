//! System calls made in the name of a program that is stopped, in such a way that it goes on by itself whatever happens
//! to us.
//!
//! When a tracer is killed, the kernel lets each thread that it traced run from where it stands. So at no moment may a
//! thread stand anywhere but where it can go on from. Its memory and its registers cannot be changed at once: what is
//! written therefore lies where no code of the program is, and what changes registers changes all of them at once. The
//! calls are made by an instruction behind which code undoes them and leads back to where the program was (the way
//! back). While we live, that code is never reached: the thread stops as it enters and leaves each call. It does so in
//! syscall stops, as the kernel would make the signals of other stops the program's own.

use crate::maps::Mapped;
use crate::trace::{Registers, Tracee};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// What the way back undoes.
#[derive(Clone, Debug, Default)]
pub struct Undo {
    /// Addresses that are unmapped.
    pub mapped: Range<u64>,
    /// How many descriptors are closed, of the lowest that are free before: as many as calls open at once.
    pub descriptors: usize,
    /// The soft and the hard limit on the address space that are set.
    pub address_limits: Option<[u64; 2]>,
}

/// An errand in a program with one thread, which stands at an instruction between two system calls.
#[derive(Debug)]
pub struct Errand {
    tracee: Tracee,
    memory: File,
    way_back: Range<u64>,
    before: Registers,
    signal_mask: u64,
}

impl Errand {
    /// Writes the way back, and puts the thread there. `mappings` are the executable ones of its process.
    ///
    /// # Errors
    /// The system's, and if there is no room for the way back.
    pub fn begin(tracee: Tracee, mappings: &[Mapped], undo: &Undo) -> io::Result<Errand> {
        tracee.mark_call_stops()?;
        let pid = tracee.tid();
        let memory = format!("/proc/{pid}/mem");
        // Where /proc is mounted read-only, as in some containers, what `ptrace` writes is enough.
        let writable = OpenOptions::new().read(true).write(true).open(&memory);
        let memory = writable.or_else(|_| File::open(memory))?;
        let (before, signal_mask) = (tracee.registers()?, tracee.signal_mask()?);
        let descriptors = lowest_free(pid, undo.descriptors);
        let code = |place| way_back(place, (&before, signal_mask), undo, &descriptors);
        // Its length does not depend on where it is.
        let length = code(0).1.len() as u64;
        let place = rooms(&memory, mappings, length)
            .find(|&place| write(&memory, tracee, place, &code(place).1).is_ok())
            .ok_or_else(|| {
                io::Error::other("there is no room beside its code; timewise sample needs none")
            })?;
        let (gate, _) = code(place);
        let errand = Errand {
            tracee: tracee.with_way_back(gate),
            memory,
            way_back: place..place + length,
            before,
            signal_mask,
        };
        errand.tracee.set_registers(&Registers { rip: gate + GATE, orig_rax: u64::MAX, ..before })?;
        errand.tracee.set_signal_mask(u64::MAX)?;
        Ok(errand)
    }

    /// The thread, whose calls are made in this way.
    pub fn tracee(&self) -> Tracee {
        self.tracee
    }

    /// Where the program goes on if it is as before.
    pub fn before(&self) -> &Registers {
        &self.before
    }

    /// The thread stands elsewhere from now on, and needs no way back.
    ///
    /// # Errors
    /// The system's.
    pub fn end(self, registers: &Registers) -> io::Result<()> {
        self.tracee.set_signal_mask(self.signal_mask)?;
        self.tracee.set_registers(registers)?;
        let zeros = vec![0; (self.way_back.end - self.way_back.start) as usize];
        write(&self.memory, self.tracee, self.way_back.start, &zeros)
    }
}

/// Writes to the program's memory at once, whatever its protection. Some kernels let only `ptrace` do that, which takes
/// a call for every 8 bytes.
fn write(memory: &File, tracee: Tracee, place: u64, bytes: &[u8]) -> io::Result<()> {
    memory.write_all_at(bytes, place).or_else(|_| tracee.write(place, bytes))
}

/// Places for so many bytes where no code is and nothing is read: zeros at the end of what is mapped of the vDSO, which
/// no program writes to, and of files.
fn rooms(memory: &File, mappings: &[Mapped], length: u64) -> impl Iterator<Item = u64> {
    // Some bytes before it are zeros too: they may belong to the last instruction.
    const APART: u64 = 16;
    let at_the_end = move |mapped: &Mapped| {
        let start = mapped.end.checked_sub(length + APART).filter(|&start| start >= mapped.start)?;
        let mut bytes = vec![0; (length + APART) as usize];
        memory.read_exact_at(&mut bytes, start).ok()?;
        bytes.iter().all(|&byte| byte == 0).then_some(start + APART)
    };
    let vdso = mappings.iter().filter(|mapped| mapped.path == b"[vdso]");
    vdso.chain(mappings.iter().filter(|mapped| mapped.inode != 0)).filter_map(at_the_end)
}

/// The descriptors that a process would be given next.
fn lowest_free(pid: i32, count: usize) -> Vec<u64> {
    let Ok(listed) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let number = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    let used: Vec<u64> = listed.filter_map(number).collect();
    (0..).filter(|number| !used.contains(number)).take(count).collect()
}

/// Bytes of the instruction that makes calls.
const GATE: u64 = 2;
const SYSCALL: [u8; GATE as usize] = [0x0f, 0x05];

/// The registers that calls take, give and overwrite, by the number that instructions have for them.
const RAX: u8 = 0;
const ARGUMENTS: [u8; 6] = [7, 6, 2, 10, 8, 9];

/// Data, and code to be written behind it at `place`: the instruction that makes calls, whose address is given, and the
/// way back. No instruction of it changes a flag or needs a stack.
fn way_back(
    place: u64,
    (before, signal_mask): (&Registers, u64),
    undo: &Undo,
    descriptors: &[u64],
) -> (u64, Vec<u8>) {
    let [soft, hard] = undo.address_limits.unwrap_or_default();
    let data = [signal_mask, soft, hard];
    let (mask_at, limits_at) = (place, place + 8);
    let mut code: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
    let gate = place + code.len() as u64;
    code.extend(SYSCALL);
    for &descriptor in descriptors {
        call(&mut code, libc::SYS_close, &[descriptor]);
    }
    let Range { start, end } = undo.mapped;
    if start < end {
        call(&mut code, libc::SYS_munmap, &[start, end - start]);
    }
    if undo.address_limits.is_some() {
        call(&mut code, libc::SYS_prlimit64, &[0, libc::RLIMIT_AS.into(), limits_at, 0]);
    }
    let set = libc::SIG_SETMASK as u64;
    call(&mut code, libc::SYS_rt_sigprocmask, &[set, mask_at, 0, size_of_val(&signal_mask) as u64]);
    let r = before;
    let overwritten = [(RAX, r.rax), (1, r.rcx), (11, r.r11)];
    let arguments = ARGUMENTS.into_iter().zip([r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9]);
    overwritten.into_iter().chain(arguments).for_each(|(register, value)| load(&mut code, register, value));
    code.extend([0xff, 0x25, 0, 0, 0, 0]); // jmp [rip]
    code.extend(before.rip.to_le_bytes());
    (gate, code)
}

fn call(code: &mut Vec<u8>, number: libc::c_long, arguments: &[u64]) {
    for (&register, &value) in ARGUMENTS.iter().zip(arguments) {
        load(code, register, value);
    }
    load(code, RAX, number as u64);
    code.extend(SYSCALL);
}

/// `mov register, value`
fn load(code: &mut Vec<u8>, register: u8, value: u64) {
    code.extend([0x48 | register >> 3, 0xb8 | register & 7]);
    code.extend(value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Launch, Stopped};
    use crate::maps;

    /// A program that ends with 7 if its limit on the address space is what it is to be.
    fn begun(limit: Option<u64>) -> (Stopped, Errand) {
        let mut launch = Launch::new("sh");
        let wanted = limit.map_or("unlimited".to_string(), |limit| (limit / 1024).to_string());
        launch.arguments = vec!["-c".into(), format!("[ $(ulimit -v) = {wanted} ] && exit 7").into()];
        let stopped = launch.stopped().unwrap();
        let mappings = maps::executable(stopped.pid()).unwrap();
        let mapped = 0x2000_0000_0000..0x2000_0000_1000;
        let undo = Undo { mapped, descriptors: 1, address_limits: limit.map(|limit| [limit, u64::MAX]) };
        let errand = Errand::begin(Tracee::new(stopped.pid()), &mappings, &undo).unwrap();
        (stopped, errand)
    }

    fn status(stopped: Stopped) -> i32 {
        libc::WEXITSTATUS(stopped.release().unwrap().wait().unwrap().wait_status)
    }

    #[test]
    fn calls_are_made_and_leave_no_trace() {
        let (stopped, errand) = begun(None);
        let tracee = errand.tracee();
        assert_eq!(tracee.system_call(libc::SYS_getpid, [0; 6]).unwrap(), stopped.pid() as u64);
        let refused = tracee.system_call(libc::SYS_close, [12345, 0, 0, 0, 0, 0]).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EBADF));
        let (before, way_back) = (*errand.before(), errand.way_back.clone());
        let place = errand.memory.try_clone().unwrap();
        errand.end(&before).unwrap();
        let mut bytes = vec![1; (way_back.end - way_back.start) as usize];
        place.read_exact_at(&mut bytes, way_back.start).unwrap();
        assert!(bytes.iter().all(|&byte| byte == 0));
        assert_eq!(tracee.registers().unwrap().rip, before.rip);
        assert_eq!(tracee.signal_mask().unwrap(), 0);
        assert_eq!(status(stopped), 7);
    }

    #[test]
    fn what_cannot_be_written_at_once_is_written_in_pieces() {
        let (stopped, errand) = begun(None);
        let Range { start, end } = errand.way_back.clone();
        let before = *errand.before();
        let read_only = File::open(format!("/proc/{}/mem", stopped.pid())).unwrap();
        let written: Vec<u8> = (start..end - 3).map(|address| address as u8).collect();
        write(&read_only, errand.tracee(), start, &written).unwrap();
        let mut read = vec![0; written.len()];
        read_only.read_exact_at(&mut read, start).unwrap();
        assert_eq!(read, written);
        errand.end(&before).unwrap();
        assert_eq!(status(stopped), 7);
    }

    #[test]
    fn what_is_stopped_meanwhile_stops_afterwards() {
        let (stopped, errand) = begun(None);
        let pid = stopped.pid();
        // SAFETY: sends a signal to our own child.
        let send = |signal| assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
        send(libc::SIGSTOP);
        assert_eq!(errand.tracee().system_call(libc::SYS_getpid, [0; 6]).unwrap(), pid as u64);
        let before = *errand.before();
        errand.end(&before).unwrap();
        let running = stopped.release().unwrap();
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, libc::WUNTRACED) }, pid);
        assert!(libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGSTOP);
        send(libc::SIGCONT);
        assert_eq!(libc::WEXITSTATUS(running.wait().unwrap().wait_status), 7);
    }

    #[test]
    fn whoever_never_ends_it_leaves_the_program_running() {
        let (stopped, errand) = begun(Some(1 << 40));
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let map = [0x2000_0000_0000, 4096, 0, flags as u64, u64::MAX, 0];
        assert_eq!(errand.tracee().system_call(libc::SYS_mmap, map).unwrap(), map[0]);
        drop(errand);
        assert_eq!(status(stopped), 7);
    }
}
