//! The program's side of a moment: its registers, and a copy of its stack.

use timewise_image::Registers;
use timewise_target::{memory, trace};

/// The registers of an interrupted thread, and the stack from its stack pointer on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserStack {
    /// As the thread had them.
    pub registers: Registers,
    /// What stood on the stack, the top first.
    pub bytes: Box<[u8]>,
}

impl UserStack {
    /// That of a thread which stands with these registers, of so many bytes at most.
    pub fn of_stopped(pid: i32, registers: &trace::Registers, bytes: usize) -> UserStack {
        let mut stack = vec![0; bytes];
        let read = memory::read(pid, registers.rsp, &mut stack);
        stack.truncate(read);
        UserStack { registers: UserStack::registers_of(registers), bytes: stack.into() }
    }

    /// Registers as unwind tables name them.
    pub fn registers_of(r: &trace::Registers) -> Registers {
        let general = [
            r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13,
            r.r14, r.r15,
        ];
        Registers::new(r.rip, general)
    }

    /// The eight bytes at an address of the program, if they were copied.
    pub fn word(&self, address: u64) -> Option<u64> {
        let start = usize::try_from(address.checked_sub(self.registers.stack_pointer())?).ok()?;
        let bytes = self.bytes.get(start..start.checked_add(size_of::<u64>())?)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    }
}
