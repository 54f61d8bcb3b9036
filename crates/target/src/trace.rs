//! A stopped thread under `ptrace`: its registers and memory, and system calls made in its name.

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The program's registers as `ptrace` gives them.
pub type Registers = libc::user_regs_struct;

/// The code segment of 64-bit programs.
pub const LONG_MODE: u64 = 0x33;

/// The vector registers, likewise.
pub type Vectors = libc::user_fpregs_struct;

/// A thread that is stopped and traced by the calling thread.
#[derive(Clone, Copy, Debug)]
pub struct Tracee {
    tid: libc::pid_t,
    gate: Gate,
}

/// By which instruction it calls the system.
#[derive(Clone, Copy, Debug)]
enum Gate {
    /// One that is written to where it stands.
    Written,
    /// The one at this address.
    At(u64),
    /// The one at this address, behind which it can go on by itself.
    WayBack(u64),
}

/// The signals that wait while something is done in a thread's name. The trap that says it is done does not:
/// the kernel takes the handler away from one that is blocked.
const ALL_BUT_TRAP: u64 = !(1 << (libc::SIGTRAP - 1));

/// The flags register with none of those set that a program may set; one bit always is.
const NO_FLAGS: u64 = 2;

/// A trap instruction.
const BREAKPOINT: [u8; 1] = [0xcc];

/// The instruction by which the system is called.
pub(crate) const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// Bytes that `ptrace` reads or writes at once.
const WORD: usize = 8;

const PTRACE_GETSIGMASK: libc::c_uint = 0x420a;
const PTRACE_SETSIGMASK: libc::c_uint = 0x420b;

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Tracee {
    /// The thread `tid`, which must be stopped and traced by the calling thread; else all calls fail.
    pub fn new(tid: i32) -> Tracee {
        Tracee { tid, gate: Gate::Written }
    }

    /// The same, with the address of a `syscall` instruction to make calls in its name by. Its code then stays
    /// untouched, which other threads may execute.
    pub fn with_gate(self, gate: Option<u64>) -> Tracee {
        Tracee { gate: gate.map_or(Gate::Written, Gate::At), ..self }
    }

    /// The same, whose calls are made by the `syscall` instruction at `gate`, behind which it stands then, and where it
    /// stands before. Signals must wait, and [`Tracee::mark_call_stops`] must have been asked for.
    pub(crate) fn with_way_back(self, gate: u64) -> Tracee {
        Tracee { gate: Gate::WayBack(gate), ..self }
    }

    /// Its number.
    pub fn tid(self) -> i32 {
        self.tid
    }

    /// Lets it run, no longer traced.
    ///
    /// # Errors
    /// The system's: `ESRCH` if it is not stopped or not ours.
    pub fn release(self) -> io::Result<()> {
        // SAFETY: passes no memory.
        check(unsafe { libc::ptrace(libc::PTRACE_DETACH, self.tid, 0, 0) })
    }

    /// Its registers.
    ///
    /// # Errors
    /// The system's: `ESRCH` if it is not stopped or not ours.
    pub fn registers(self) -> io::Result<Registers> {
        let mut registers = MaybeUninit::<Registers>::uninit();
        // SAFETY: the kernel fills the whole structure on success.
        unsafe {
            check(libc::ptrace(libc::PTRACE_GETREGS, self.tid, 0, registers.as_mut_ptr()))?;
            Ok(registers.assume_init())
        }
    }

    /// Sets its registers.
    ///
    /// # Errors
    /// The system's.
    pub fn set_registers(self, registers: &Registers) -> io::Result<()> {
        // SAFETY: the kernel reads one structure.
        check(unsafe { libc::ptrace(libc::PTRACE_SETREGS, self.tid, 0, std::ptr::from_ref(registers)) })
    }

    /// Its vector registers, their first 16 bytes, and those of the x87.
    ///
    /// # Errors
    /// The system's.
    pub fn vectors(self) -> io::Result<Vectors> {
        let mut vectors = MaybeUninit::<Vectors>::uninit();
        // SAFETY: the kernel fills the whole structure on success.
        unsafe {
            check(libc::ptrace(libc::PTRACE_GETFPREGS, self.tid, 0, vectors.as_mut_ptr()))?;
            Ok(vectors.assume_init())
        }
    }

    /// Sets them; what they hold beyond stays.
    ///
    /// # Errors
    /// The system's.
    pub fn set_vectors(self, vectors: &Vectors) -> io::Result<()> {
        // SAFETY: the kernel reads one structure.
        check(unsafe { libc::ptrace(libc::PTRACE_SETFPREGS, self.tid, 0, std::ptr::from_ref(vectors)) })
    }

    /// Reads bytes of its memory, whatever their protection.
    ///
    /// # Errors
    /// The system's: `EIO` where nothing is mapped.
    pub fn read<const N: usize>(self, address: u64) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        for Piece { word, of_word, of_bytes } in pieces(address, N) {
            bytes[of_bytes].copy_from_slice(&self.peek_word(word)?[of_word]);
        }
        Ok(bytes)
    }

    /// Writes bytes to its memory, whatever their protection; up to 7 bytes on either side are written back unchanged.
    ///
    /// # Errors
    /// The system's: `EIO` where nothing is mapped.
    pub fn write(self, address: u64, bytes: &[u8]) -> io::Result<()> {
        for Piece { word, of_word, of_bytes } in pieces(address, bytes.len()) {
            let whole = of_word.len() == WORD;
            let mut value = if whole { [0; WORD] } else { self.peek_word(word)? };
            value[of_word].copy_from_slice(&bytes[of_bytes]);
            self.poke_word(word, value)?;
        }
        Ok(())
    }

    /// Reads a number of 8 bytes.
    ///
    /// # Errors
    /// As of [`Tracee::read`].
    pub fn peek(self, address: u64) -> io::Result<u64> {
        self.read(address).map(u64::from_le_bytes)
    }

    /// Writes a number of 8 bytes.
    ///
    /// # Errors
    /// As of [`Tracee::write`].
    pub fn poke(self, address: u64, number: u64) -> io::Result<()> {
        self.write(address, &number.to_le_bytes())
    }

    fn peek_word(self, address: u64) -> io::Result<[u8; WORD]> {
        let mut word = [0; WORD];
        // SAFETY: the raw system call (unlike the library's wrapper) stores to the place given.
        let result = unsafe {
            libc::syscall(
                libc::SYS_ptrace,
                libc::c_long::from(libc::PTRACE_PEEKDATA),
                libc::c_long::from(self.tid),
                address,
                word.as_mut_ptr(),
            )
        };
        check(result)?;
        Ok(word)
    }

    fn poke_word(self, address: u64, word: [u8; WORD]) -> io::Result<()> {
        // SAFETY: writes to the tracee's memory only.
        check(unsafe { libc::ptrace(libc::PTRACE_POKEDATA, self.tid, address, u64::from_le_bytes(word)) })
    }

    /// Makes a system call in its name, at its present program counter if no instruction for that is known, and
    /// leaves registers and code as they were. Signals wait until then.
    ///
    /// # Errors
    /// Those of the call itself, or of `ptrace`.
    pub fn system_call(self, number: libc::c_long, arguments: [u64; 6]) -> io::Result<u64> {
        let before = self.registers()?;
        let (gate, code) = match self.gate {
            Gate::Written => (before.rip, Some(self.read::<2>(before.rip)?)),
            Gate::At(gate) => (gate, None),
            Gate::WayBack(gate) => {
                self.set_registers(&calling(&before, gate, number, arguments))?;
                self.run_to_call_stop()?; // where it enters
                self.run_to_call_stop()?; // where it leaves
                return value_of(self.registers()?.rax);
            }
        };
        if code.is_some() {
            self.write(gate, &SYSCALL)?;
        }
        self.set_registers(&calling(&before, gate, number, arguments))?;
        let mask = self.signal_mask()?;
        self.set_signal_mask(ALL_BUT_TRAP)?;
        let stepped = self.step();
        self.set_signal_mask(mask)?;
        let result = self.registers().map(|r| r.rax);
        if let Some(code) = code {
            self.write(gate, &code)?;
        }
        self.set_registers(&Registers { orig_rax: u64::MAX, ..before })?;
        stepped?;
        value_of(result?)
    }

    /// Has the stops at system calls told from signals.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn mark_call_stops(self) -> io::Result<()> {
        // SAFETY: passes no memory.
        check(unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, self.tid, 0, libc::PTRACE_O_TRACESYSGOOD) })
    }

    /// Lets it run until it enters or leaves a system call, as the next of which it will.
    fn run_to_call_stop(self) -> io::Result<()> {
        const CALL_STOP: i32 = libc::SIGTRAP | 0x80;
        let mut signal = 0;
        loop {
            // SAFETY: passes no memory.
            check(unsafe { libc::ptrace(libc::PTRACE_SYSCALL, self.tid, 0, signal) })?;
            signal = match self.next_stop()? {
                Some(CALL_STOP) => return Ok(()),
                // Its process is stopped: we go on nevertheless, and the kernel stops the thread once it is let go.
                Some(libc::SIGSTOP) => libc::SIGSTOP,
                Some(_) => 0,
                None => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
            };
        }
    }

    /// Lets it run, with the signals that come to it, until it reaches `address`, before whose instruction it
    /// then stands: false if the process ended before. Nobody may have waited for it. Of each signal `delivered` says
    /// which one it gets instead, 0 for none.
    ///
    /// # Errors
    /// Those of `ptrace`, and if it became another program before.
    pub fn run_to(self, address: u64, mut delivered: impl FnMut(i32) -> i32) -> io::Result<bool> {
        let code = self.read::<1>(address)?;
        self.write(address, &BREAKPOINT)?;
        let mut signal = 0;
        loop {
            // SAFETY: passes no memory.
            check(unsafe { libc::ptrace(libc::PTRACE_CONT, self.tid, 0, signal) })?;
            let Some(stopped_by) = self.next_stop()? else { return Ok(false) };
            let registers = self.registers()?;
            if stopped_by == libc::SIGTRAP && registers.rip == address + 1 {
                self.write(address, &code)?;
                self.set_registers(&Registers { rip: address, orig_rax: u64::MAX, ..registers })?;
                return Ok(true);
            }
            if stopped_by == libc::SIGTRAP && self.read(address).ok() != Some(BREAKPOINT) {
                return Err(io::Error::other("it became another program before its first instruction"));
            }
            signal = delivered(stopped_by);
        }
    }

    /// The code that comes with the signal by which it stands (`si_code`).
    ///
    /// # Errors
    /// The system's.
    pub fn signal_code(self) -> io::Result<i32> {
        let mut information = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: the kernel fills the structure, for which all zeros are valid too.
        unsafe {
            check(libc::ptrace(libc::PTRACE_GETSIGINFO, self.tid, 0, information.as_mut_ptr()))?;
            Ok(information.assume_init().si_code)
        }
    }

    /// Waits until it stops: by which signal, or none if it ended, which is left for others to notice.
    fn next_stop(self) -> io::Result<Option<i32>> {
        let mut information = MaybeUninit::<libc::siginfo_t>::zeroed();
        let which = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL;
        // SAFETY: the kernel fills the structure, for which all zeros are valid too.
        let code = unsafe {
            check(libc::waitid(libc::P_PID, self.tid as u32, information.as_mut_ptr(), which).into())?;
            information.assume_init().si_code
        };
        if matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) {
            return Ok(None);
        }
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        if unsafe { libc::waitpid(self.tid, &mut status, libc::__WALL) } != self.tid {
            return Err(io::Error::last_os_error());
        }
        Ok(Some(libc::WSTOPSIG(status)))
    }

    /// Runs code in its name from `entry` on until it stops itself with a trap instruction, with arguments in `rdi`
    /// and `rsi` and `stack` as its stack pointer, and leaves registers as they were. Other signals wait until then.
    ///
    /// # Errors
    /// Those of `ptrace`, and what stopped the code if it was something else.
    pub fn run_to_trap(self, entry: u64, [rdi, rsi]: [u64; 2], stack: u64) -> io::Result<()> {
        let before = self.registers()?;
        let vectors = self.vectors()?;
        let start =
            Registers { rip: entry, rdi, rsi, rsp: stack, eflags: NO_FLAGS, orig_rax: u64::MAX, ..before };
        self.set_registers(&start)?;
        let mask = self.signal_mask()?;
        self.set_signal_mask(ALL_BUT_TRAP)?;
        // SAFETY: passes no memory.
        let ran = check(unsafe { libc::ptrace(libc::PTRACE_CONT, self.tid, 0, 0) }).and_then(|()| {
            self.wait_for_trap("run to its trap", libc::PTRACE_CONT, || self.is_behind_trap())
        });
        self.set_signal_mask(mask)?;
        self.set_vectors(&vectors)?;
        self.set_registers(&Registers { orig_rax: u64::MAX, ..before })?;
        ran
    }

    /// Lets a signal through to it that it blocks.
    ///
    /// # Errors
    /// The system's.
    pub fn unblock(self, signal: i32) -> io::Result<()> {
        self.set_signal_mask(self.signal_mask()? & !(1 << (signal - 1)))
    }

    /// Has it block a signal.
    ///
    /// # Errors
    /// The system's.
    pub fn block(self, signal: i32) -> io::Result<()> {
        self.set_signal_mask(self.signal_mask()? | 1 << (signal - 1))
    }

    /// Whether a signal waits for it, or for its process, that somebody sent, as by `kill`: the kernel's own have other
    /// codes.
    ///
    /// # Errors
    /// The system's.
    pub fn was_sent(self, signal: i32) -> io::Result<bool> {
        let is_it = |info: &libc::siginfo_t| info.si_signo == signal && info.si_code <= 0;
        Ok(self.waits(0, is_it)? || self.waits(libc::PTRACE_PEEKSIGINFO_SHARED, is_it)?)
    }

    /// Whether the signal is about to come to it by which the kernel tells of a system call that it did not take.
    ///
    /// # Errors
    /// The system's.
    pub fn has_refused_call(self) -> io::Result<bool> {
        let waits = self.waits(0, |info| info.si_signo == libc::SIGSYS && info.si_code > 0)?;
        Ok(waits && self.signal_mask()? & 1 << (libc::SIGSYS - 1) == 0)
    }

    /// Whether such a signal waits, of those that the flags say.
    fn waits(self, flags: u32, is_it: impl Fn(&libc::siginfo_t) -> bool) -> io::Result<bool> {
        /// Those of one kind that are looked at: others of the same number are not kept beside them.
        const MOST: usize = 128;
        let what = libc::ptrace_peeksiginfo_args { off: 0, flags, nr: MOST as i32 };
        // SAFETY: all zeros is a valid value of it.
        let mut waiting: [libc::siginfo_t; MOST] = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel reads the question, and fills at most as many as it asks for.
        let got = unsafe {
            libc::ptrace(libc::PTRACE_PEEKSIGINFO, self.tid, &raw const what, waiting.as_mut_ptr())
        };
        check(got.min(0))?;
        Ok(waiting.iter().take(got as usize).any(is_it))
    }

    /// The signals that it blocks, or will once the call that it waits in has ended.
    ///
    /// # Errors
    /// The system's.
    pub fn signal_mask(self) -> io::Result<u64> {
        let mut mask = 0u64;
        // SAFETY: the kernel fills one mask, whose size is given.
        check(unsafe { libc::ptrace(PTRACE_GETSIGMASK, self.tid, size_of_val(&mask), &raw mut mask) })?;
        Ok(mask)
    }

    /// Sets them.
    ///
    /// # Errors
    /// The system's.
    pub fn set_signal_mask(self, mask: u64) -> io::Result<()> {
        // SAFETY: the kernel reads one mask, whose size is given.
        check(unsafe { libc::ptrace(PTRACE_SETSIGMASK, self.tid, size_of_val(&mask), &raw const mask) })
    }

    /// Executes one instruction, which leads elsewhere.
    ///
    /// # Errors
    /// The system's.
    pub fn step(self) -> io::Result<()> {
        let begin = self.registers()?.rip;
        // SAFETY: passes no memory.
        check(unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, self.tid, 0, 0) })?;
        self.wait_for_trap("step", libc::PTRACE_SINGLESTEP, || Ok(self.registers()?.rip != begin))
    }

    /// Whether it stands behind a trap instruction.
    fn is_behind_trap(self) -> io::Result<bool> {
        let last = self.registers()?.rip - 1;
        Ok(self.read(last)? == BREAKPOINT)
    }

    /// Waits for the trap that says it is done, after `request`. One that was asked to stop meanwhile stops for that
    /// first, and is to go on; so does one to which somebody, or an event, sends the same signal. As long as that waits
    /// the kernel keeps no other, so that it may stand for the trap, too: then `is_done` tells. A fault of the program's own
    /// that had not been told when it was stopped is told before the trap, though it is blocked: it is passed over, as the
    /// instruction faults again once the program goes on.
    fn wait_for_trap(
        self,
        wanted: &str,
        request: libc::c_uint,
        is_done: impl Fn() -> io::Result<bool>,
    ) -> io::Result<()> {
        /// One each, as many as may wait.
        const FAULTS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
        let mut was_sent = false;
        let mut faults = 0;
        loop {
            let mut status = 0;
            // SAFETY: `status` is a valid place for the result.
            if unsafe { libc::waitpid(self.tid, &mut status, libc::__WALL) } != self.tid {
                return Err(io::Error::last_os_error());
            }
            let stopped_by = libc::WIFSTOPPED(status).then(|| libc::WSTOPSIG(status));
            let is_asked = stopped_by.is_some() && status >> 16 == libc::PTRACE_EVENT_STOP;
            let is_trap = stopped_by == Some(libc::SIGTRAP) && !is_asked;
            let may_be_fault = stopped_by.is_some_and(|signal| FAULTS.contains(&signal)) && !is_asked;
            let is_fault = may_be_fault && faults < FAULTS.len() && self.signal_code()? > 0;
            faults += usize::from(is_fault);
            if !is_asked && !is_trap && !is_fault {
                return Err(io::Error::other(format!(
                    "the thread did not {wanted}: wait status {status:#x}"
                )));
            }
            if is_trap {
                let code = self.signal_code()?;
                was_sent |= code <= 0;
                if code > 0 && code != libc::TRAP_PERF || is_done()? {
                    break;
                }
            }
            // SAFETY: passes no memory.
            check(unsafe { libc::ptrace(request, self.tid, 0, 0) })?;
        }
        if was_sent {
            // It has to wait as others do. An event's is not sent again: its next one says the same.
            // SAFETY: passes no memory.
            check(unsafe { libc::syscall(libc::SYS_tkill, self.tid, libc::SIGTRAP) })?;
        }
        Ok(())
    }
}

/// What of some bytes lies in one aligned word: such a word is mapped if any byte of it is.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    /// Where the word is.
    word: u64,
    of_word: Range<usize>,
    of_bytes: Range<usize>,
}

/// The pieces of `length` bytes at `address`.
fn pieces(address: u64, length: usize) -> impl Iterator<Item = Piece> {
    let before = address as usize % WORD;
    (0..length + before).step_by(WORD).map(move |at| {
        let of_word = before.saturating_sub(at)..WORD.min(before + length - at);
        let of_bytes = at + of_word.start - before..at + of_word.end - before;
        Piece { word: address.wrapping_sub(before as u64).wrapping_add(at as u64), of_word, of_bytes }
    })
}

/// Registers for a system call.
fn calling(before: &Registers, gate: u64, number: libc::c_long, arguments: [u64; 6]) -> Registers {
    let [rdi, rsi, rdx, r10, r8, r9] = arguments;
    Registers { rip: gate, rax: number as u64, orig_rax: u64::MAX, rdi, rsi, rdx, r10, r8, r9, ..*before }
}

/// What a system call gave, by its register.
fn value_of(rax: u64) -> io::Result<u64> {
    match rax as i64 {
        error @ -4095..0 => Err(io::Error::from_raw_os_error(-error as i32)),
        value => Ok(value as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Launch;
    use std::fs;
    use std::process::Command;

    #[test]
    fn bytes_lie_in_aligned_words() {
        let found = |address, length| -> Vec<_> {
            pieces(address, length).map(|piece| (piece.word, piece.of_word, piece.of_bytes)).collect()
        };
        assert_eq!(found(16, 8), [(16, 0..8, 0..8)]);
        assert_eq!(found(23, 1), [(16, 7..8, 0..1)]);
        assert_eq!(found(21, 12), [(16, 5..8, 0..3), (24, 0..8, 3..11), (32, 0..1, 11..12)]);
        assert_eq!(found(u64::MAX, 2), [(u64::MAX - 7, 7..8, 0..1), (0, 0..1, 1..2)]);
    }

    /// A program of six bytes that ends with the last page of what is mapped.
    #[test]
    fn code_at_the_end_of_what_is_mapped_is_read_and_changed() {
        const ENTRY: u64 = 0x40_0ffa;
        let folder = tempfile::tempdir().unwrap();
        let [source, program] = ["end.s", "end"].map(|name| folder.path().join(name));
        fs::write(&source, ".globl _start\n_start: xor %edi, %edi\n mov $60, %al\n syscall\n").unwrap();
        let place = format!("-Wl,-Ttext={ENTRY:#x},--build-id=none");
        let mut build = Command::new("cc");
        build.args(["-nostdlib", "-static", &place, "-o"]).arg(&program).arg(&source);
        assert!(build.status().unwrap().success());
        let stopped = Launch::new(&program).stopped().unwrap();
        let tracee = Tracee::new(stopped.pid());
        assert_eq!(tracee.registers().unwrap().rip, ENTRY);
        assert_eq!(tracee.system_call(libc::SYS_getpid, [0; 6]).unwrap(), stopped.pid() as u64);
        assert!(tracee.run_to(ENTRY + 4, |signal| signal).unwrap());
        assert_eq!(tracee.read(ENTRY).unwrap(), [0x31, 0xff, 0xb0, 60, 0x0f, 0x05]);
        assert_eq!(tracee.peek(ENTRY).unwrap_err().raw_os_error(), Some(libc::EIO));
        assert_eq!(stopped.release().unwrap().wait().unwrap().wait_status, 0);
    }

    #[test]
    fn a_system_call_in_the_childs_name_leaves_no_trace() {
        let stopped = Launch::new("true").stopped().unwrap();
        let tracee = Tracee::new(stopped.pid());
        let before = tracee.registers().unwrap();
        assert_eq!(tracee.system_call(libc::SYS_getpid, [0; 6]).unwrap(), stopped.pid() as u64);
        let refused = tracee.system_call(libc::SYS_close, [12345, 0, 0, 0, 0, 0]).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EBADF));
        assert_eq!(tracee.registers().unwrap().rip, before.rip);
        // SAFETY: sends a signal to our own child.
        unsafe { libc::kill(stopped.pid(), libc::SIGCONT) };
        assert_eq!(tracee.system_call(libc::SYS_getpid, [0; 6]).unwrap(), stopped.pid() as u64);
        assert_eq!(tracee.signal_mask().unwrap(), 0);
        let ended = stopped.release().unwrap().wait().unwrap();
        assert_eq!(ended.wait_status, 0);
    }

    #[test]
    fn a_trap_that_somebody_sends_is_not_taken_for_our_own_and_waits() {
        let stopped = Launch::new("true").stopped().unwrap();
        let tracee = Tracee::new(stopped.pid());
        // SAFETY: sends a signal to our own child.
        unsafe { libc::kill(stopped.pid(), libc::SIGTRAP) };
        for _ in 0..3 {
            assert_eq!(tracee.system_call(libc::SYS_getpid, [0; 6]).unwrap(), stopped.pid() as u64);
        }
        assert_eq!(stopped.release().unwrap().wait().unwrap().wait_status, libc::SIGTRAP);
    }
}
