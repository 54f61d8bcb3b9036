//! The program's side of a sample: its registers, and the copy of its stack that the kernel made.

use timewise_image::Registers;

/// The registers of an interrupted thread, and the stack from its stack pointer on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserStack {
    /// As the thread had them.
    pub registers: Registers,
    /// What stood on the stack, the top first.
    pub bytes: Box<[u8]>,
}

impl UserStack {
    /// The eight bytes at an address of the program, if they were copied.
    pub fn word(&self, address: u64) -> Option<u64> {
        let start = usize::try_from(address.checked_sub(self.registers.stack_pointer())?).ok()?;
        let bytes = self.bytes.get(start..start.checked_add(size_of::<u64>())?)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    }
}
