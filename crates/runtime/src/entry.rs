//! The borders between the program and the runtime, in assembly: leaving translated code, going back,
//! and making the program's system calls with its own registers.

use crate::cache;
use crate::emit::{Code, gs};
use crate::signal::stand;
use crate::sys::{memory, number};
use core::arch::naked_asm;
use core::mem::offset_of;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use timewise_abi::process::ProcessRecord;
use timewise_abi::thread::{Registers, ThreadArea, state};
use timewise_abi::{Failure, RESERVED_HIGH, RESERVED_LOW};

/// First address of the runtime's tables below 2 GiB: absolute addresses of 32 bits reach them from
/// everywhere. Far above a program linked at a fixed address, so that its heap has room to grow; in a program that was
/// attached to, where the host found room. All that lies there follows from it.
static LOW: AtomicU32 = AtomicU32::new(RESERVED_LOW.start as u32);

/// Where it is from before the first code is translated on, also in processes that are forked.
fn place() -> u32 {
    LOW.load(Ordering::Relaxed)
}

/// Bytes of the `syscall` instruction.
pub const SYSCALL_LENGTH: u64 = 2;

/// Where a thread comes to a trap that is about to execute an instruction which is not followed.
pub fn alone() -> u64 {
    u64::from(place()) + 0x4000
}

/// Where system calls are made that come to the program itself, below all others: see
/// `system_call/user_dispatch.rs`.
pub fn dispatched() -> u64 {
    alone() + 0x10
}

/// How many tables of indirect branches there may be.
pub const MAX_TABLES: u32 = 64;

/// Addresses reserved for what the runtime and the host put far from the program: the shared file, the
/// runtime itself, its heap.
pub const HIGH: Range<u64> = RESERVED_HIGH;

/// Addresses reserved for the vectors and the tables of indirect branches.
pub fn low() -> Range<u64> {
    let start = u64::from(place());
    start..start + LOW_SIZE
}

const LOW_SIZE: u64 = RESERVED_LOW.end - RESERVED_LOW.start;

/// Entries of the page of vectors, the first of the low addresses: what translated code jumps through to leave.
pub mod vector {
    /// An exit that is not linked yet.
    pub fn exit() -> u32 {
        super::place()
    }

    /// A system call.
    pub fn system_call() -> u32 {
        super::place() + 8
    }

    /// An indirect branch that was not found.
    pub fn miss() -> u32 {
        super::place() + 16
    }
}

/// Where table `number` of indirect branches lies.
pub fn table_address(number: u32) -> u32 {
    place() + TABLES + number * TABLE_SIZE
}

/// Bytes of a table of indirect branches.
pub const TABLE_SIZE: u32 = crate::indirect::ENTRIES * 8;

/// How far behind the vectors the first of them lies.
const TABLES: u32 = 0x1_0000;

const _: () = assert!((TABLES + MAX_TABLES * TABLE_SIZE) as u64 == LOW_SIZE);

/// Where a failed look-up in table `number` goes.
pub fn miss_routine(number: u32) -> u64 {
    u64::from(place()) + 0x1000 + MISS_ROUTINE * u64::from(number)
}

/// Where a failed look-up goes that met the entry at `place`.
pub fn miss_routine_of_entry(place: u64) -> u64 {
    miss_routine(table_entry(place).0)
}

/// The table that holds the entry at `place`, and which of its entries it is.
pub fn table_entry(place: u64) -> (u32, u32) {
    let number = ((place - u64::from(table_address(0))) / 8) as u32;
    (number / crate::indirect::ENTRIES, number % crate::indirect::ENTRIES)
}

/// The table whose routine for failed look-ups holds `address`.
pub fn miss_routine_at(address: u64) -> Option<u32> {
    let number = address.checked_sub(miss_routine(0))? / MISS_ROUTINE;
    (number < u64::from(MAX_TABLES)).then_some(number as u32)
}

/// Room for one routine for each table; they differ in the number that they report.
const MISS_ROUTINE: u64 = 32;

/// Makes the vectors and the routines for failed look-ups, and has nothing else come to where tables will be.
///
/// # Errors
/// [`Failure::CacheFull`] if the addresses are taken, [`Failure::WritableCodeDenied`].
pub fn prepare(record: &ProcessRecord) -> Result<(), Failure> {
    match record.low.load(Ordering::Relaxed) {
        0 => {}
        found => LOW.store(found, Ordering::Relaxed),
    }
    memory::reserve_at(low()).map_err(cache::why_full)?;
    // SAFETY: just reserved.
    if let Err(error) = unsafe { memory::provide(low().start, TABLES.into(), true) } {
        // SAFETY: likewise, and nothing is there yet.
        unsafe { memory::give_back(low()) };
        return Err(cache::why_full(error));
    }
    let vectors: [(u32, unsafe extern "C" fn()); 3] = [
        (vector::exit(), leave_by_exit),
        (vector::system_call(), leave_by_system_call),
        (vector::miss(), leave_by_miss),
    ];
    for (place, routine) in vectors {
        cache::set_entry(u64::from(place), routine as *const () as u64);
    }
    const INT3: u8 = 0xcc;
    const SYSCALL: [u8; SYSCALL_LENGTH as usize] = [0x0f, 0x05];
    const UD2: [u8; 2] = [0x0f, 0x0b];
    cache::write(alone(), &[INT3]);
    cache::write(dispatched(), [SYSCALL, UD2].as_flattened());
    for number in 0..MAX_TABLES {
        let mut code = Code::at(miss_routine(number));
        code.store_number(gs!(exit), number);
        code.jump_through(vector::miss());
        cache::write(code.address, &code.bytes);
    }
    Ok(())
}

macro_rules! field {
    ($name:ident) => {
        offset_of!(ThreadArea, $name)
    };
}

macro_rules! register {
    ($name:ident) => {
        offset_of!(ThreadArea, registers) + offset_of!(Registers, $name)
    };
}

/// Why the program left translated code.
pub mod reason {
    /// A direct exit that is not linked.
    pub const EXIT: u32 = 0;
    /// A system call.
    pub const SYSTEM_CALL: u32 = 1;
    /// An indirect branch whose target was not in its table.
    pub const MISS: u32 = 2;
    /// A new thread or process, on its first step.
    pub const CHILD: u32 = 3;
    /// The process is about to execute its first instruction.
    pub const START: u32 = 4;
    /// A system call returned that something is to be done after.
    pub const RETURNED: u32 = 5;
    /// A thread that ran before the program was taken over goes on.
    pub const JOIN: u32 = 6;
}

macro_rules! leave_for {
    ($(#[$doc:meta])* $name:ident, $reason:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Entered from translated code by a jump, never called.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                "mov gs:[{rdi}], rdi",
                "mov edi, {reason}",
                "jmp {save}",
                rdi = const register!(rdi),
                reason = const $reason,
                save = sym save_and_dispatch,
            )
        }
    };
}

leave_for! {
    /// Translated code came to an exit that is not linked.
    leave_by_exit, reason::EXIT
}
leave_for! {
    /// Translated code came to a system call.
    leave_by_system_call, reason::SYSTEM_CALL
}
leave_for! {
    /// A new thread or process takes its first step, on its own thread area.
    enter_child, reason::CHILD
}
leave_for! {
    /// A system call returned that something is to be done after.
    enter_returned, reason::RETURNED
}
leave_for! {
    /// The process is about to execute its first instruction.
    enter_start, reason::START
}
leave_for! {
    /// A thread that ran before the program was taken over goes on.
    enter_join, reason::JOIN
}

/// The host has a stopped thread do something: the address of its area is in `rdi`, the task in `rsi`.
///
/// # Safety
/// For the host alone, which provides the stack.
#[unsafe(naked)]
pub unsafe extern "C" fn enter_visit() {
    naked_asm!("call {visit}", "int3", visit = sym crate::visit::visit)
}

/// An indirect branch was not found: its table's number is in `gs:[exit]`, the entry in `ecx`,
/// the target in `rdx`.
///
/// # Safety
/// Entered from translated code by a jump, never called.
#[unsafe(naked)]
pub unsafe extern "C" fn leave_by_miss() {
    naked_asm!(
        "mov gs:[{index}], rcx",
        "mov gs:[{target}], rdx",
        "mov rcx, gs:[{spilled_rcx}]",
        "mov rdx, gs:[{spilled_rdx}]",
        "mov gs:[{rdi}], rdi",
        "mov edi, {reason}",
        "jmp {save}",
        index = const field!(missed),
        target = const field!(missed) + 8,
        spilled_rcx = const field!(spill) + 8 * crate::indirect::RCX_SLOT as usize,
        spilled_rdx = const field!(spill) + 8 * crate::indirect::RDX_SLOT as usize,
        rdi = const register!(rdi),
        reason = const reason::MISS,
        save = sym save_and_dispatch,
    )
}

/// Saves the program's registers, asks the dispatcher, restores them, and goes where it said. `rdi` is
/// saved already; `edi` holds the reason.
#[unsafe(naked)]
unsafe extern "C" fn save_and_dispatch() {
    naked_asm!(
        "mov gs:[{r8}], r8",
        "mov gs:[{r8} + 8], r9",
        "mov gs:[{r8} + 16], r10",
        "mov gs:[{r8} + 24], r11",
        "mov gs:[{r8} + 32], r12",
        "mov gs:[{r8} + 40], r13",
        "mov gs:[{r8} + 48], r14",
        "mov gs:[{r8} + 56], r15",
        "mov gs:[{rsi}], rsi",
        "mov gs:[{rbp}], rbp",
        "mov gs:[{rbx}], rbx",
        "mov gs:[{rdx}], rdx",
        "mov gs:[{rax}], rax",
        "mov gs:[{rcx}], rcx",
        "mov gs:[{rsp}], rsp",
        "mov rsp, gs:[{stack}]",
        "pushfq",
        "pop qword ptr gs:[{rflags}]",
        // Of the flags, some would change what the runtime does: the direction of strings, and that
        // unaligned accesses fault.
        "push 2",
        "popfq",
        "mov rbx, gs:[{this}]",
        "lea rbp, [rbx + {vectors}]",
        "movups [rbp], xmm0",
        "movups [rbp + 16], xmm1",
        "movups [rbp + 32], xmm2",
        "movups [rbp + 48], xmm3",
        "movups [rbp + 64], xmm4",
        "movups [rbp + 80], xmm5",
        "movups [rbp + 96], xmm6",
        "movups [rbp + 112], xmm7",
        "movups [rbp + 128], xmm8",
        "movups [rbp + 144], xmm9",
        "movups [rbp + 160], xmm10",
        "movups [rbp + 176], xmm11",
        "movups [rbp + 192], xmm12",
        "movups [rbp + 208], xmm13",
        "movups [rbp + 224], xmm14",
        "movups [rbp + 240], xmm15",
        "mov esi, edi",
        "mov rdi, rbx",
        "call {dispatch}",
        "jmp {resume}",
        r8 = const register!(r8_to_r15),
        rsi = const register!(rsi),
        rbp = const register!(rbp),
        rbx = const register!(rbx),
        rdx = const register!(rdx),
        rax = const register!(rax),
        rcx = const register!(rcx),
        rsp = const register!(rsp),
        rflags = const register!(rflags),
        this = const field!(this),
        stack = const field!(stack_top),
        vectors = const field!(vectors),
        dispatch = sym crate::dispatch::dispatch,
        resume = sym resume,
    )
}

/// Restores the program's registers and goes where the dispatcher said. In all of this code they stand
/// complete in the thread area, so a signal that arrives here finds the program where it is about to be.
/// One that arrived before is let in now. Where the host wants to find the thread here, it stands for a moment, in the
/// kernel if no filter forbids it: by a call that leaves alone what the kernel noted of one of the program's that is to
/// go on. `rbx` holds the thread area, `rbp` the place of the vectors, `rsp` the top of the runtime's stack.
#[unsafe(naked)]
unsafe extern "C" fn resume() {
    naked_asm!(
        "cmp dword ptr gs:[{held}], 0",
        "je 2f",
        "mov rdi, rbx",
        "call {let_in}",
        "2:",
        "cmp dword ptr gs:[{wanted}], 0",
        "jne 4f",
        "3:",
        "movups xmm0, [rbp]",
        "movups xmm1, [rbp + 16]",
        "movups xmm2, [rbp + 32]",
        "movups xmm3, [rbp + 48]",
        "movups xmm4, [rbp + 64]",
        "movups xmm5, [rbp + 80]",
        "movups xmm6, [rbp + 96]",
        "movups xmm7, [rbp + 112]",
        "movups xmm8, [rbp + 128]",
        "movups xmm9, [rbp + 144]",
        "movups xmm10, [rbp + 160]",
        "movups xmm11, [rbp + 176]",
        "movups xmm12, [rbp + 192]",
        "movups xmm13, [rbp + 208]",
        "movups xmm14, [rbp + 224]",
        "movups xmm15, [rbp + 240]",
        "push qword ptr gs:[{rflags}]",
        "popfq",
        "mov r8, gs:[{r8}]",
        "mov r9, gs:[{r8} + 8]",
        "mov r10, gs:[{r8} + 16]",
        "mov r11, gs:[{r8} + 24]",
        "mov r12, gs:[{r8} + 32]",
        "mov r13, gs:[{r8} + 40]",
        "mov r14, gs:[{r8} + 48]",
        "mov r15, gs:[{r8} + 56]",
        "mov rdi, gs:[{rdi}]",
        "mov rsi, gs:[{rsi}]",
        "mov rbp, gs:[{rbp}]",
        "mov rbx, gs:[{rbx}]",
        "mov rdx, gs:[{rdx}]",
        "mov rax, gs:[{rax}]",
        "mov rcx, gs:[{rcx}]",
        "mov rsp, gs:[{rsp}]",
        "jmp gs:[{resume}]",
        "4:",
        "mov rdi, rbx",
        "call {stay}",
        // One that arrived in there waits, and all others are blocked.
        "cmp dword ptr gs:[{held}], 0",
        "jne 6f",
        "cmp eax, {nap}",
        "jb 3b",
        "je 7f",
        "5:",
        "pause",
        "dec eax",
        "jne 5b",
        "jmp 3b",
        "7:",
        "push {nap_ns}",
        "push 0",
        "mov rdx, rsp",
        "xor edi, edi",
        "xor esi, esi",
        "xor r10d, r10d",
        "mov eax, {ppoll}",
        "syscall",
        "add rsp, 16",
        "jmp 3b",
        "6:",
        "mov rdi, rbx",
        "call {let_in}",
        "jmp 3b",
        ".globl timewise_resume_end",
        "timewise_resume_end:",
        held = const field!(held),
        let_in = sym crate::signal::let_in,
        wanted = const field!(wanted),
        stay = sym crate::signal::stay,
        nap = const stand::NAP,
        nap_ns = const stand::NAP_NS,
        ppoll = const number::PPOLL,
        r8 = const register!(r8_to_r15),
        rdi = const register!(rdi),
        rsi = const register!(rsi),
        rbp = const register!(rbp),
        rbx = const register!(rbx),
        rdx = const register!(rdx),
        rax = const register!(rax),
        rcx = const register!(rcx),
        rsp = const register!(rsp),
        rflags = const register!(rflags),
        resume = const field!(resume),
    )
}

/// Makes the program's system call with its own registers, then goes on in translated code.
///
/// # Safety
/// Reached through `resume` alone.
#[unsafe(naked)]
pub unsafe extern "C" fn system_call() {
    naked_asm!(
        "syscall",
        "mov dword ptr gs:[{state}], {running}",
        // As natively: the kernel leaves the address after the instruction in `rcx`.
        "mov rcx, gs:[{rip}]",
        "jmp gs:[{after}]",
        ".globl timewise_system_call_end",
        "timewise_system_call_end:",
        state = const field!(state),
        running = const state::RUNNING,
        rip = const register!(rip),
        after = const field!(after),
    )
}

macro_rules! with_child {
    ($(#[$doc:meta])* $name:ident, $($set_gs:literal),*) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Reached through `resume` alone, with signals blocked.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                // The one register that the kernel hands on to the child and that says where its area
                // is; what the program had in it stands in both areas.
                "mov r12, gs:[{child}]",
                "syscall",
                "mov rcx, rax",
                "jrcxz 2f",
                "mov r12, gs:[{r12}]",
                "jmp {returned}",
                "2:",
                $($set_gs,)*
                "mov r12, gs:[{r12}]",
                "jmp {enter}",
                child = const field!(child),
                r12 = const register!(r8_to_r15) + 32,
                enter = sym enter_child,
                returned = sym enter_returned,
            )
        }
    };
}

with_child! {
    /// Makes a system call that returns twice: the child goes on with the area that `child` names.
    system_call_with_child, "wrgsbase r12"
}

with_child! {
    /// Likewise, where only the kernel may write `%gs`'s base. What this overwrites the program does not
    /// see: `rcx` and `r11` are lost by its own call, and the others are put back.
    system_call_with_child_by_kernel,
    "mov r10, rdi",
    "mov r9, rsi",
    "mov edi, 0x1001", // ARCH_SET_GS
    "mov rsi, r12",
    "mov eax, 158", // arch_prctl
    "syscall",
    "mov rdi, r10",
    "mov rsi, r9",
    "mov r10, gs:[{r12} - 16]",
    "mov r9, gs:[{r12} - 24]",
    "mov eax, 0"
}

/// Makes the program's system call with its own registers, then comes back to the runtime.
///
/// # Safety
/// Reached through `resume` alone.
#[unsafe(naked)]
pub unsafe extern "C" fn system_call_and_return() {
    naked_asm!("syscall", "jmp {returned}", returned = sym enter_returned)
}

/// Makes a system call that does not return, after which the thread area is somebody else's.
///
/// # Safety
/// Reached through `resume` alone.
#[unsafe(naked)]
pub unsafe extern "C" fn last_system_call() {
    naked_asm!(
        "mov dword ptr gs:[{state}], {free}",
        "syscall",
        "ud2",
        state = const field!(state),
        free = const state::FREE,
    )
}

/// Makes the system call by which a handler returns, with the frame that the thread area names.
///
/// # Safety
/// Reached through `resume` alone, with signals blocked.
#[unsafe(naked)]
pub unsafe extern "C" fn return_from_signal() {
    naked_asm!(
        "mov rsp, gs:[{frame}]",
        // The kernel takes the frame's first word for popped.
        "add rsp, 8",
        "mov eax, {rt_sigreturn}",
        "syscall",
        "ud2",
        frame = const field!(frame),
        rt_sigreturn = const number::RT_SIGRETURN,
    )
}

/// What the kernel lets the runtime's own handler return to.
///
/// # Safety
/// Returned to by a handler alone.
#[unsafe(naked)]
pub unsafe extern "C" fn restorer() {
    naked_asm!("mov eax, {rt_sigreturn}", "syscall", "ud2", rt_sigreturn = const number::RT_SIGRETURN)
}

unsafe extern "C" {
    safe fn timewise_resume_end();
    safe fn timewise_system_call_end();
    static __executable_start: u8;
    static etext: u8;
}

/// The kinds of places at which a thread can be in the runtime's own code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// About to go on where [`ThreadArea::resume`] says, with all of the program's registers in the area.
    Resuming,
    /// Before the program's system call, its registers in place.
    BeforeCall,
    /// Past it.
    AfterCall,
    /// Before a system call of the program that the runtime wants to see the end of, its registers in place.
    BeforeWatched,
    /// Anywhere else.
    Other,
}

/// What code of the runtime's own stands at `address`, if any.
pub fn own(address: u64) -> Option<Own> {
    let text = (&raw const __executable_start) as u64..(&raw const etext) as u64;
    let call = system_call as *const () as u64;
    let resuming = resume as *const () as u64..timewise_resume_end as *const () as u64;
    let calling = call..timewise_system_call_end as *const () as u64;
    let dispatched = dispatched();
    if address == dispatched {
        Some(Own::BeforeCall)
    } else if address == dispatched + SYSCALL_LENGTH {
        Some(Own::AfterCall)
    } else if !text.contains(&address) {
        None
    } else if resuming.contains(&address) {
        Some(Own::Resuming)
    } else if address == call {
        Some(Own::BeforeCall)
    } else if calling.contains(&address) {
        Some(Own::AfterCall)
    } else if address == system_call_and_return as *const () as u64 {
        Some(Own::BeforeWatched)
    } else {
        Some(Own::Other)
    }
}
