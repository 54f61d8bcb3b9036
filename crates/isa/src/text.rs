//! An instruction as text, for people to read: Intel syntax, lower case, hexadecimal with `0x`.

extern crate alloc;

use alloc::boxed::Box;
use alloc::string::String;
use iced_x86::{
    Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, OpKind, SymbolResolver, SymbolResult,
};

/// Gives the name of what stands at an address, if it has one.
pub type Names<'a> = &'a dyn Fn(u64) -> Option<String>;

/// Writes the instruction at the start of `code`, which stands at `address`. Targets of branches and
/// operands relative to the program counter are shown by name where `names` knows one, else as
/// addresses. Bytes that are no instruction give `(bad)`, as in other disassemblers.
pub fn text(code: &[u8], address: u64, names: Names) -> String {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let instruction = decoder.decode();
    if instruction.is_invalid() {
        return String::from("(bad)");
    }
    // The library asks its resolver for a 'static lifetime, so it gets the one or two names that it may
    // want beforehand.
    let known = Referred::of(&instruction).and_then(|target| Some((target, names(target)?)));
    let mut formatter = IntelFormatter::with_options(Some(Box::new(Referred { known })), None);
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(false);
    options.set_show_branch_size(false);
    let mut out = String::new();
    formatter.format(&instruction, &mut out);
    out
}

/// The one address that an instruction refers to, with its name.
struct Referred {
    known: Option<(u64, String)>,
}

impl Referred {
    fn of(instruction: &Instruction) -> Option<u64> {
        if instruction.is_ip_rel_memory_operand() {
            return Some(instruction.ip_rel_memory_address());
        }
        let near = matches!(
            instruction.try_op_kind(0),
            Ok(OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64)
        );
        near.then(|| instruction.near_branch_target())
    }
}

impl SymbolResolver for Referred {
    fn symbol(
        &mut self,
        instruction: &Instruction,
        _operand: u32,
        _instruction_operand: Option<u32>,
        address: u64,
        _address_size: u32,
    ) -> Option<SymbolResult<'_>> {
        let (target, name) = self.known.as_ref()?;
        // An immediate that happens to be the same number is no reference.
        let refers = Referred::of(instruction) == Some(address) && address == *target;
        refers.then(|| SymbolResult::with_str(address, name))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    fn plain(code: &[u8]) -> String {
        text(code, 0x1000, &|_| None)
    }

    #[test]
    fn operands_read_as_in_the_manual() {
        assert_eq!(plain(&[0x48, 0x8b, 0x42, 0x08]), "mov rax,[rdx+8]");
        assert_eq!(plain(&[0x81, 0xc1, 0xff, 0, 0, 0]), "add ecx,0xff");
        assert_eq!(plain(&[0xf3, 0xa4]), "rep movsb [rdi],[rsi]");
        assert_eq!(plain(&[0x75, 0x10]), "jne 0x1012");
        assert_eq!(plain(&[0x06]), "(bad)");
        assert_eq!(plain(&[0x48]), "(bad)");
    }

    #[test]
    fn only_references_are_named() {
        let names = |address| (address == 0x1017).then(|| "table".to_string());
        assert_eq!(text(&[0x48, 0x8b, 0x05, 0x10, 0, 0, 0], 0x1000, &names), "mov rax,[table]");
        assert_eq!(text(&[0xe8, 0x12, 0, 0, 0], 0x1000, &names), "call table");
        assert_eq!(text(&[0xb8, 0x17, 0x10, 0, 0], 0x1000, &names), "mov eax,0x1017");
    }
}
