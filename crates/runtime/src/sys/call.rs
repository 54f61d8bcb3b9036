//! One raw system call, and the numbers of those that the runtime knows by name.

use super::filter;
use core::arch::asm;

/// An error number of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub i32);

/// Makes a system call of the runtime's own.
///
/// # Errors
/// The kernel's error number; `ENOSYS` if a filter that the program installed does not let it pass.
///
/// # Safety
/// The call must not change memory, mappings or signal state that anything else relies on.
pub unsafe fn call(number: u64, arguments: [u64; 6]) -> Result<u64, Errno> {
    const ENOSYS: Errno = Errno(38);
    if !filter::allows(number, &arguments) {
        return Err(ENOSYS);
    }
    // SAFETY: as promised.
    unsafe { call_for_program(number, arguments) }
}

/// Makes a system call that the program asked for, if in other words.
///
/// # Errors
/// The kernel's error number.
///
/// # Safety
/// As for [`call`].
pub unsafe fn call_for_program(number: u64, arguments: [u64; 6]) -> Result<u64, Errno> {
    let [a, b, c, d, e, f] = arguments;
    let result: u64;
    // SAFETY: the registers are those of the kernel's convention; the caller vouches for the effect.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    let signed = result as i64;
    if (-4095..0).contains(&signed) { Err(Errno(-signed as i32)) } else { Ok(result) }
}

/// System call numbers.
#[expect(missing_docs, reason = "named as in the kernel's table")]
pub mod number {
    pub const READ: u64 = 0;
    pub const WRITE: u64 = 1;
    pub const OPEN: u64 = 2;
    pub const CLOSE: u64 = 3;
    pub const LSEEK: u64 = 8;
    pub const MMAP: u64 = 9;
    pub const MPROTECT: u64 = 10;
    pub const MUNMAP: u64 = 11;
    pub const BRK: u64 = 12;
    pub const RT_SIGACTION: u64 = 13;
    pub const RT_SIGPROCMASK: u64 = 14;
    pub const RT_SIGRETURN: u64 = 15;
    pub const PWRITE64: u64 = 18;
    pub const WRITEV: u64 = 20;
    pub const SCHED_YIELD: u64 = 24;
    pub const MREMAP: u64 = 25;
    pub const MADVISE: u64 = 28;
    pub const SHMAT: u64 = 30;
    pub const PAUSE: u64 = 34;
    pub const GETPID: u64 = 39;
    pub const CLONE: u64 = 56;
    pub const FORK: u64 = 57;
    pub const VFORK: u64 = 58;
    pub const EXECVE: u64 = 59;
    pub const EXIT: u64 = 60;
    pub const KILL: u64 = 62;
    pub const SHMDT: u64 = 67;
    pub const GETTIMEOFDAY: u64 = 96;
    pub const GETRLIMIT: u64 = 97;
    pub const RT_SIGSUSPEND: u64 = 130;
    pub const SIGALTSTACK: u64 = 131;
    pub const MLOCKALL: u64 = 151;
    pub const MUNLOCKALL: u64 = 152;
    pub const PRCTL: u64 = 157;
    pub const ARCH_PRCTL: u64 = 158;
    pub const SETRLIMIT: u64 = 160;
    pub const GETTID: u64 = 186;
    pub const TIME: u64 = 201;
    pub const FUTEX: u64 = 202;
    pub const REMAP_FILE_PAGES: u64 = 216;
    pub const RESTART_SYSCALL: u64 = 219;
    pub const EXIT_GROUP: u64 = 231;
    pub const OPENAT: u64 = 257;
    pub const PSELECT6: u64 = 270;
    pub const PPOLL: u64 = 271;
    pub const EPOLL_PWAIT: u64 = 281;
    pub const PWRITEV: u64 = 296;
    pub const RT_TGSIGQUEUEINFO: u64 = 297;
    pub const PRLIMIT64: u64 = 302;
    pub const GETCPU: u64 = 309;
    pub const PROCESS_VM_READV: u64 = 310;
    pub const PROCESS_VM_WRITEV: u64 = 311;
    pub const SECCOMP: u64 = 317;
    pub const EXECVEAT: u64 = 322;
    pub const PWRITEV2: u64 = 328;
    pub const PKEY_MPROTECT: u64 = 329;
    pub const IO_PGETEVENTS: u64 = 333;
    pub const RSEQ: u64 = 334;
    pub const CLONE3: u64 = 435;
    pub const OPENAT2: u64 = 437;
    pub const EPOLL_PWAIT2: u64 = 441;
}
