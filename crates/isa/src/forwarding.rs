//! Values that code hands on to itself through memory.

extern crate alloc;

use alloc::vec::Vec;
use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, OpAccess};

/// Whether some code reads memory where it stores, as far as operands tell that name both alike: a loop of it waits for its
/// own stores.
pub fn reads_what_it_stores(code: &[u8]) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let (mut read, mut stored) = (Vec::new(), Vec::new());
    for instruction in &mut Decoder::with_ip(64, code, 0, DecoderOptions::NONE) {
        for memory in factory.info(&instruction).used_memory() {
            let at = (memory.base(), memory.index(), memory.scale(), memory.displacement());
            match memory.access() {
                OpAccess::Read | OpAccess::CondRead => read.push(at),
                OpAccess::Write | OpAccess::CondWrite => stored.push(at),
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                    read.push(at);
                    stored.push(at);
                }
                _ => {}
            }
        }
    }
    stored.iter().any(|at| read.contains(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_tell() {
        let added = [0x83, 0x45, 0xfc, 0x01]; // add dword [rbp-4], 1
        let load = [0x48, 0x8b, 0x44, 0x24, 0xf8]; // mov rax, [rsp-8]
        let separate = [load, [0x48, 0x89, 0x44, 0x24, 0xf8]].concat(); // mov [rsp-8], rax
        let elsewhere = [load, [0x48, 0x89, 0x44, 0x24, 0xf0]].concat(); // mov [rsp-16], rax
        assert!(reads_what_it_stores(&added) && reads_what_it_stores(&separate));
        assert!(!reads_what_it_stores(&elsewhere) && !reads_what_it_stores(&[0x90, 0x75, 0xfd]));
    }
}
