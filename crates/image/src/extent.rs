//! Where functions end of which the symbol table does not say it, as of assembly without `.size`.

use crate::ranges::holding;
use crate::sections::CodeSection;
use crate::symbols::{Named, Standing};
use timewise_isa::{Control, boundaries};

/// The size of what begins at an offset, as its code tells that lies before `following`. `sections` are in order.
pub fn of(offset: u64, following: u64, sections: &[CodeSection]) -> Option<u64> {
    let section = holding(sections, offset)?;
    let start = (offset - section.offsets.start) as usize;
    let code = section.code().get(start..)?;
    size(&code[..code.len().min(following.saturating_sub(offset) as usize)])
}

/// Gives symbols of `named`, which is sorted, that are said to be of functions the size that their code tells.
pub fn find(named: &mut [Named], sections: &[CodeSection]) {
    for at in 0..named.len() {
        let Named { offset, size: 0, standing: Standing::Function, .. } = named[at] else { continue };
        let following = named.get(at + 1).map_or(u64::MAX, |next| next.offset);
        named[at].size = of(offset, following, sections).unwrap_or(0);
    }
}

/// Bytes of the function whose code comes first: up to a return or a jump beyond which none of its jumps before leads.
/// None if the code does not tell, as where it jumps to what it has computed.
fn size(code: &[u8]) -> Option<u64> {
    let end = code.len() as u64;
    let (mut at, mut reached) = (0, 0);
    for (length, control) in boundaries(code, 0) {
        at += u64::from(length);
        match control {
            Control::Branch { target, .. } | Control::CountBranch { target } | Control::Jump { target } => {
                reached = reached.max(if target < end { target } else { 0 });
            }
            Control::IndirectJump | Control::Unsupported | Control::Transaction { .. } => return None,
            _ => {}
        }
        if matches!(control, Control::Return { .. } | Control::Jump { .. }) && reached < at {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_ends_where_nothing_of_it_leads_further() {
        const RETURN: u8 = 0xc3;
        // Past the first return to the second; then something else.
        let skips = [0x74, 0x01, RETURN, 0x90, RETURN, 0x90, RETURN];
        assert_eq!(size(&skips), Some(5));
        // Back to its start.
        assert_eq!(size(&[0x90, 0xeb, 0xfd, RETURN]), Some(3));
        // To another function.
        assert_eq!(size(&[0xe9, 0, 1, 0, 0, RETURN]), Some(5));
        assert_eq!(size(&[0xff, 0xe0, RETURN]), None, "to what it has computed");
        assert_eq!(size(&[0x90, 0x90]), None, "it runs on");
    }
}
