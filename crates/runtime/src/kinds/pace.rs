//! A thread's budget of instructions: each block takes its own from it, and leaves for the runtime, having
//! done nothing, if it is not covered.

use crate::cache;
use crate::emit::{Borrowed, COUNT_SPILL, Code, gs, spill_slot};
use crate::entry;
use crate::state::{Exit, Process};
use timewise_abi::log::edge_kind;
use timewise_isa::FlagSet;

/// Position of the budget.
const BUDGET: u32 = gs!(budget);

/// Bytes of the check that changes flags, and where in it the budget has been taken from.
const SHORT: (u64, u64) = (19, 13);

/// Likewise of the one that borrows `rcx`, from [`BORROWED`] to [`GIVEN_BACK`] and at its last instruction.
const LONG: (u64, u64) = (67, 34);
const BORROWED: u64 = 9;
const GIVEN_BACK: u64 = 53;
const LAST: u64 = 58;

/// Emits the check that the budget covers a block, with no flag of `live` changed where control goes on in
/// the block or at `out`. Whether it borrows `rcx`.
pub fn emit(code: &mut Code, instructions: u32, live: FlagSet, out: u64) -> bool {
    if !live.intersects(FlagSet::ALL) {
        code.raw(&[0x65, 0x48, 0x81, 0x2c, 0x25]); // sub qword gs:[budget], instructions
        code.raw32(BUDGET);
        code.raw32(instructions);
        code.branch_to(8, out); // js
        return false;
    }
    code.store(spill_slot(COUNT_SPILL), Borrowed::Rcx);
    code.load(Borrowed::Rcx, BUDGET);
    code.raw(&[0x48, 0x8d, 0x89]); // lea rcx, [rcx-instructions]
    code.raw32(instructions.wrapping_neg());
    code.store(BUDGET, Borrowed::Rcx);
    // A budget is below 2³²: the high half is 0 as long as it is not below 0.
    code.raw(&[0x65, 0x8b, 0x0c, 0x25]); // mov ecx, gs:[budget+4]
    code.raw32(BUDGET + 4);
    code.raw(&[0xe3, 14]); // jrcxz over the way out
    code.load(Borrowed::Rcx, spill_slot(COUNT_SPILL));
    let place = code.plain_jump_here();
    code.fix_to(place, out);
    code.load(Borrowed::Rcx, spill_slot(COUNT_SPILL));
    true
}

/// How far a thread has got that is `into` bytes past the start of a check: whether the budget has been taken
/// from, and whether `rcx` is borrowed.
pub fn inside(borrows: bool, into: u64) -> (bool, bool) {
    let (_, taken) = if borrows { LONG } else { SHORT };
    (into >= taken, borrows && ((BORROWED..GIVEN_BACK).contains(&into) || into == LAST))
}

/// Makes the exit by which a thread leaves block `number` at `address`, which its budget does not cover: what it
/// took is given back. The address of its stub.
pub fn way_out(process: &mut Process, region: usize, block: (u32, u64, u32), live: FlagSet) -> u64 {
    const STUB: u64 = 72;
    let (number, address, instructions) = block;
    let exit = process.exits.len() as u32;
    let stub = process.cache.region(region).take_cold(STUB);
    let mut code = Code::at(stub);
    code.grant(instructions as i32, live);
    code.store_number(gs!(exit), exit);
    code.jump_through(entry::vector::exit());
    debug_assert!(code.bytes.len() as u64 <= STUB);
    cache::write(stub, &code.bytes);
    process.exits.push(Exit { stub, ..Exit::new(number, edge_kind::PACED, 0, address) });
    stub
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_as_long_as_they_are_taken_for() {
        let mut code = Code::at(0x1000);
        assert!(!emit(&mut code, 7, FlagSet::NONE, 0x2000));
        assert_eq!(code.bytes.len() as u64, SHORT.0);
        let mut code = Code::at(0x1000);
        assert!(emit(&mut code, 7, FlagSet::ALL, 0x2000));
        assert_eq!(code.bytes.len() as u64, LONG.0);
        assert_eq!(code.bytes[GIVEN_BACK as usize], 0xe9);
        assert_eq!(code.bytes[25..28], [0x65, 0x48, 0x89]);
        // `jrcxz` leads to the last instruction.
        assert_eq!(code.bytes[42..44], [0xe3, (LAST - 44) as u8]);
    }
}
