//! The steps of counting paths: as code, and done by the runtime.
//!
//! No step changes a flag that is read behind it. Each has one instruction by which it is done; before that it can be
//! begun anew.

use super::Paths;
use crate::emit::Borrowed::{self, Rax, Rcx, Rdx};
use crate::emit::{Code, gs, spill_slot};
use crate::indirect::{RAX_SLOT, RCX_SLOT, RDX_SLOT};
use timewise_abi::paths::{HANDLER, Op, Waiting, op, table};
use timewise_abi::thread::{Registers, ThreadArea};
use timewise_isa::FlagSet;

/// Bytes of the code that keeps a register.
const SAVE: usize = 9;

/// What is borrowed, in order, and where it is kept.
const BORROWED: [(Borrowed, u32); 3] =
    [(Rcx, spill_slot(RCX_SLOT)), (Rdx, spill_slot(RDX_SLOT)), (Rax, spill_slot(RAX_SLOT))];

/// Position of the register.
const PATH: u32 = gs!(path);

const TOP: u32 = gs!(path_top);

/// Something to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// To the register, or a counter.
    Op(Op),
    /// A call, with its return address on the stack: its site's function keeps its register.
    Keep(u32),
    /// A return to a site, at an address: the function gets its register back.
    Take {
        /// The site.
        site: u32,
        /// Where it returns to.
        to: u64,
        /// By how much more than 8 bytes the return moves the stack pointer.
        discard: u16,
    },
    /// An exception or a long jump lands in a function: what was called since, and its call too, are over. Of
    /// [`timewise_abi::NONE`], which has no plan and keeps nothing, what was called below the stack pointer.
    Land(u32),
}

/// How far a thread is in the code of a step, at each of its instructions.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Where it begins in its piece.
    pub start: u16,
    /// Where, behind that, it is done.
    pub done: u16,
    /// How many registers it borrows.
    pub borrows: u8,
}

impl Extent {
    /// Gives a thread its registers back that is `into` bytes past the start.
    pub fn give_back(&self, into: usize, registers: &mut Registers, area: &ThreadArea) {
        let kept = [RCX_SLOT, RDX_SLOT, RAX_SLOT].map(|slot| area.spill[slot as usize]);
        let borrowed = (into / SAVE).min(self.borrows.into());
        for (register, value) in
            [&mut registers.rcx, &mut registers.rdx, &mut registers.rax].into_iter().zip(kept).take(borrowed)
        {
            *register = value;
        }
    }
}

impl Step {
    /// Whether threads may have to leave it for the runtime.
    pub fn may_leave(&self) -> bool {
        matches!(self, Step::Take { .. } | Step::Land(_))
    }

    /// Writes it; `exit` is the exit to leave by, if it may. Flags of `live` are read behind it.
    pub fn emit(&self, code: &mut Code, exit: u32, live: FlagSet) -> Extent {
        let start = code.bytes.len();
        let (done, borrows) = match *self {
            Step::Op(op) => emit_op(code, op, live),
            Step::Keep(site) => keep(code, site),
            Step::Take { discard, .. } => take(code, exit, discard, live),
            Step::Land(_) => {
                code.leave(exit);
                (code.bytes.len(), 0)
            }
        };
        Extent { start: start as u16, done: (done - start) as u16, borrows }
    }
}

fn borrow(code: &mut Code, count: usize) {
    BORROWED[..count].iter().for_each(|&(register, slot)| code.keep(slot, register));
}

fn give_back(code: &mut Code, count: usize) {
    BORROWED[..count].iter().rev().for_each(|&(register, slot)| code.fetch(register, slot));
}

/// An operation: where it is done, and how many registers it borrows.
fn emit_op(code: &mut Code, op: Op, live: FlagSet) -> (usize, u8) {
    let is_free = !live.intersects(FlagSet::ALL);
    match op.kind {
        op::SET => {
            code.keep_number(PATH, op.value);
            (code.bytes.len(), 0)
        }
        op::ADD if is_free => {
            code.add_number(PATH, op.value);
            (code.bytes.len(), 0)
        }
        op::ADD => add(code, PATH, op.value),
        op::INCREMENT if !live.intersects(FlagSet::WRITTEN_BY_INC) => {
            code.increment(op.place);
            (code.bytes.len(), 0)
        }
        op::INCREMENT => add(code, op.place, 1),
        op::COUNT if is_free => count(code, op),
        op::COUNT => count_without_flags(code, op),
        _ => hash(code, op),
    }
}

fn ahead(code: &mut Code, value: i32) {
    code.raw(&[0x48, 0x8d, 0x89]); // lea rcx, [rcx+value]
    code.raw32(value as u32);
}

fn add(code: &mut Code, place: u32, value: i32) -> (usize, u8) {
    borrow(code, 1);
    code.fetch(Rcx, place);
    ahead(code, value);
    code.keep(place, Rcx);
    let done = code.bytes.len();
    give_back(code, 1);
    (done, 1)
}

fn count(code: &mut Code, op: Op) -> (usize, u8) {
    borrow(code, 1);
    code.fetch(Rcx, PATH);
    ahead(code, op.value);
    code.raw(&[0x48, 0x81, 0xf9]); // cmp rcx, limit
    code.raw32(op.limit);
    code.raw(&[0x72, 5, 0xb9]); // jb over mov ecx, limit
    code.raw32(op.limit);
    code.raw(&[0x65, 0x48, 0xff, 0x04, 0xcd]); // inc qword gs:[rcx*8+place]
    code.raw32(op.place);
    let done = code.bytes.len();
    give_back(code, 1);
    (done, 1)
}

fn count_without_flags(code: &mut Code, op: Op) -> (usize, u8) {
    borrow(code, 2);
    code.raw(&[0x65, 0x8b, 0x0c, 0x25]); // mov ecx, gs:[path+4]
    code.raw32(PATH + 4);
    // The high half is 0 unless the register is poisoned.
    code.raw(&[0xe3, 7, 0xb9]); // jrcxz over mov ecx, limit - value and the jump
    code.raw32(op.limit.wrapping_sub(op.value as u32));
    code.raw(&[0xeb, 9]); // jmp over the load
    code.fetch(Rcx, PATH);
    ahead(code, op.value);
    code.raw(&[0x0f, 0xb7, 0xc9]); // movzx ecx, cx: whatever it was, it stays within reach
    code.raw(&[0x65, 0x48, 0x8b, 0x14, 0xcd]); // mov rdx, gs:[rcx*8+place]
    code.raw32(op.place);
    code.raw(&[0x48, 0x8d, 0x52, 0x01]); // lea rdx, [rdx+1]
    code.raw(&[0x65, 0x48, 0x89, 0x14, 0xcd]); // mov gs:[rcx*8+place], rdx
    code.raw32(op.place);
    let done = code.bytes.len();
    give_back(code, 2);
    (done, 2)
}

/// Points the last byte, the distance of a short jump at `place`, to here.
fn fix_short(code: &mut Code, place: usize) {
    code.bytes[place] = (code.bytes.len() - place - 1) as u8;
}

/// A short jump to a position behind.
fn jump_back(code: &mut Code, opcode: u8, to: usize) {
    let distance = (to as i64 - (code.bytes.len() as i64 + 2)) as i8;
    code.raw(&[opcode, distance as u8]);
}

/// Adds to a counter of a table, without a flag changed.
fn hash(code: &mut Code, op: Op) -> (usize, u8) {
    const JRCXZ: u8 = 0xe3;
    const JUMP: u8 = 0xeb;
    let (keys, counts) = (op.place, op.place + table::COUNTS);
    borrow(code, 3);
    let cold = if op.kind == op::HASH {
        code.fetch(Rax, PATH);
        code.raw(&[0x48, 0x8d, 0x80]); // lea rax, [rax+value]
        code.raw32(op.value as u32);
        // The high half is 0 unless the register is poisoned, or of a path that the plan does not know.
        code.raw(&[0x48, 0x89, 0xc1]); // mov rcx, rax
        code.raw(&[0x48, 0x0f, 0xc9]); // bswap rcx
        code.raw(&[0x89, 0xc9]); // mov ecx, ecx
        code.raw(&[JRCXZ, 10]);
        let cold = code.bytes.len();
        code.raw(&[0xba]); // mov edx, the slot of the cold one
        code.raw32(table::SLOTS);
        let jump = code.plain_jump_here();
        code.raw(&[0x8d, 0x40, 0x01]); // lea eax, [rax+1]
        Some((cold, jump))
    } else {
        code.raw(&[0xb8]); // mov eax, value + 1
        code.raw32((op.value as u32).wrapping_add(1));
        None
    };
    // As `table::start` has it.
    code.raw(&[0x89, 0xc1]); // mov ecx, eax
    code.raw(&[0x0f, 0xc9]); // bswap ecx
    code.raw(&[0x0f, 0xb7, 0xc9]); // movzx ecx, cx
    code.raw(&[0x8d, 0x0c, 0xc9]); // lea ecx, [rcx+rcx*8]
    code.raw(&[0x8d, 0x14, 0x01]); // lea edx, [rcx+rax]
    code.raw(&[0x0f, 0xb7, 0xd2]); // movzx edx, dx
    let again = code.bytes.len();
    code.raw(&[0x65, 0x48, 0x8b, 0x0c, 0xd5]); // mov rcx, gs:[rdx*8+keys]
    code.raw32(keys);
    code.raw(&[JRCXZ, 0]);
    let empty = code.bytes.len() - 1;
    // `not` subtracts without a flag, but one too many.
    code.raw(&[0x48, 0xf7, 0xd1]); // not rcx
    code.raw(&[0x48, 0x8d, 0x4c, 0x01, 0x01]); // lea rcx, [rcx+rax+1]
    code.raw(&[JRCXZ, 0]);
    let found = code.bytes.len() - 1;
    code.raw(&[0x8d, 0x52, 0x01]); // lea edx, [rdx+1]
    code.raw(&[0x0f, 0xb7, 0xd2]); // movzx edx, dx
    jump_back(code, JUMP, again);
    fix_short(code, empty);
    code.fetch(Rcx, op.place + table::USED);
    ahead(code, -(table::MOST as i32));
    let full = match cold {
        Some((cold, _)) => {
            jump_back(code, JRCXZ, cold);
            None
        }
        None => {
            code.raw(&[JRCXZ, 0]);
            Some(code.bytes.len() - 1)
        }
    };
    ahead(code, table::MOST as i32 + 1);
    code.keep(op.place + table::USED, Rcx);
    code.raw(&[0x65, 0x48, 0x89, 0x04, 0xd5]); // mov gs:[rdx*8+keys], rax
    code.raw32(keys);
    if let Some(full) = full {
        code.raw(&[JUMP, 5]);
        fix_short(code, full);
        code.raw(&[0xba]); // mov edx, the slot of the cold one
        code.raw32(table::SLOTS);
    }
    fix_short(code, found);
    if let Some((_, place)) = cold {
        let here = code.bytes.len();
        code.fix(place, here);
    }
    code.raw(&[0x65, 0x48, 0x8b, 0x0c, 0xd5]); // mov rcx, gs:[rdx*8+counts]
    code.raw32(counts);
    code.raw(&[0x48, 0x8d, 0x49, 0x01]); // lea rcx, [rcx+1]
    code.raw(&[0x65, 0x48, 0x89, 0x0c, 0xd5]); // mov gs:[rdx*8+counts], rcx
    code.raw32(counts);
    let done = code.bytes.len();
    give_back(code, 3);
    (done, 3)
}

/// Position in a waiting call of one of its fields, from the one before it.
const NEXT: u8 = size_of::<Waiting>() as u8;
const REGISTER: u8 = core::mem::offset_of!(Waiting, register) as u8;
const SITE: u8 = core::mem::offset_of!(Waiting, site) as u8;

fn keep(code: &mut Code, site: u32) -> (usize, u8) {
    borrow(code, 2);
    code.fetch(Rcx, TOP);
    code.raw(&[0x48, 0x89, 0x61, NEXT]); // mov [rcx+slot], rsp
    code.fetch(Rdx, PATH);
    code.raw(&[0x89, 0x51, NEXT + REGISTER]); // mov [rcx+register], edx
    code.raw(&[0xc7, 0x41, NEXT + SITE]); // mov dword [rcx+site], site
    code.raw32(site);
    code.raw(&[0x48, 0x8d, 0x49, NEXT]); // lea rcx, [rcx+next]
    code.keep(TOP, Rcx);
    let done = code.bytes.len();
    give_back(code, 2);
    (done, 2)
}

fn take(code: &mut Code, exit: u32, discard: u16, live: FlagSet) -> (usize, u8) {
    borrow(code, 2);
    code.fetch(Rdx, TOP);
    if live.intersects(FlagSet::ALL) {
        code.raw(&[0x48, 0x8b, 0x0a]); // mov rcx, [rdx]
        code.raw(&[0x48, 0xf7, 0xd1]); // not rcx
        code.raw(&[0x48, 0x8d, 0x8c, 0x0c]); // lea rcx, [rsp+rcx-7-discard]
        code.raw32((-7 - i32::from(discard)) as u32);
        code.raw(&[0xe3, 0]); // jrcxz over the way out
    } else {
        code.raw(&[0x48, 0x8d, 0x8c, 0x24]); // lea rcx, [rsp-8-discard]
        code.raw32((-8 - i32::from(discard)) as u32);
        code.raw(&[0x48, 0x3b, 0x0a]); // cmp rcx, [rdx]
        code.raw(&[0x74, 0]); // je over the way out
    }
    let over = code.bytes.len() - 1;
    give_back(code, 2);
    code.leave(exit);
    fix_short(code, over);
    code.raw(&[0x48, 0x63, 0x4a, REGISTER]); // movsxd rcx, dword [rdx+register]
    code.keep(PATH, Rcx);
    code.raw(&[0x48, 0x8d, 0x52, NEXT.wrapping_neg()]); // lea rdx, [rdx-next]
    code.keep(TOP, Rdx);
    let done = code.bytes.len();
    give_back(code, 2);
    (done, 2)
}

/// The register and the counters of a thread, at a moment when translated code does not run.
pub struct Counting<'a> {
    pub paths: &'a Paths,
    /// The thread area.
    pub this: u64,
    /// The register.
    pub path: i64,
    /// What counters are increased by.
    pub by: i64,
}

impl Counting<'_> {
    pub fn of<'a>(paths: &'a Paths, area: &ThreadArea) -> Counting<'a> {
        Counting { paths, this: area.this, path: area.path, by: 1 }
    }

    /// Does what an operation does.
    pub fn carry_out(&mut self, op: &Op) {
        let number = self.path.wrapping_add(op.value.into());
        match op.kind {
            op::SET => self.path = op.value.into(),
            op::ADD => self.path = number,
            op::INCREMENT => self.increase(op.place),
            op::COUNT => {
                let limit = op.limit.into();
                let index = if (0..limit).contains(&number) { number } else { limit };
                self.increase(op.place + 8 * index as u32);
            }
            op::HASH if number < 0 => self.increase(op.place + table::COLD),
            op::HASH => self.hash(op.place, number as u32 + 1),
            _ => self.hash(op.place, op.value as u32 + 1),
        }
    }

    /// Does those from one on.
    pub fn carry_out_all(&mut self, first: u32, count: u32) {
        let paths = self.paths;
        paths.ops[first as usize..(first + count) as usize].iter().for_each(|op| self.carry_out(op));
    }

    /// The function of a call that is given up is left.
    pub fn give_up(&mut self, waiting: &Waiting) {
        self.path = waiting.register.into();
        if waiting.is_second() {
            return;
        }
        if waiting.site & HANDLER == 0 {
            let site = self.paths.sites[waiting.site as usize];
            self.carry_out_all(site.first, site.count);
        } else if let Some(record) = (waiting.site & !HANDLER).checked_sub(1) {
            let record = &self.paths.records[record as usize];
            self.carry_out_all(record.first, record.count);
        }
    }

    fn hash(&mut self, place: u32, key: u32) {
        let mut slot = table::start(key);
        loop {
            let holder = self.word(place + 8 * slot);
            if *holder == u64::from(key) {
                break;
            }
            if *holder == 0 {
                let used = self.word(place + table::USED);
                if *used == table::MOST.into() {
                    return self.increase(place + table::COLD);
                }
                *used += 1;
                *self.word(place + 8 * slot) = key.into();
                break;
            }
            slot = (slot + 1) & (table::SLOTS - 1);
        }
        self.increase(place + table::COUNTS + 8 * slot);
    }

    fn increase(&mut self, place: u32) {
        let by = self.by;
        let counter = self.word(place);
        *counter = counter.wrapping_add_signed(by);
    }

    fn word(&mut self, place: u32) -> &mut u64 {
        // SAFETY: the plan names words of the thread area, which are the thread's own.
        unsafe { &mut *((self.this + u64::from(place)) as *mut u64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_jumps_reach() {
        // Each jumps over more than any other of its kind; a distance too large would come out negative.
        for kind in [op::HASH, op::HASH_THIS] {
            let mut code = Code::at(0x1000);
            let extent =
                Step::Op(Op { kind, place: 0x10_0000, value: 3, limit: 0 }).emit(&mut code, 0, FlagSet::ALL);
            assert_eq!(extent.borrows, 3);
            assert!(code.bytes.len() < 256 && usize::from(extent.done) < code.bytes.len());
        }
    }
}
