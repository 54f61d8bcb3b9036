//! The program's call for the base of `gs`, which the runtime has for itself: see [`crate::segment`].

use super::{answer, native};
use crate::sys::{Errno, memory};
use timewise_abi::thread::ThreadArea;

const SET_GS: u64 = 0x1001;
const GET_GS: u64 = 0x1004;

const EPERM: Errno = Errno(1);
const EFAULT: Errno = Errno(14);

/// First address that no program can have.
const END: u64 = (1 << 47) - 4096;

/// `arch_prctl`.
pub fn change(area: &mut ThreadArea) {
    let (operation, address) = (area.registers.rdi, area.registers.rsi);
    let result = match operation {
        SET_GS if address >= END => Err(EPERM),
        SET_GS => {
            area.gs_base = address;
            Ok(0)
        }
        GET_GS if memory::write(address, &area.gs_base.to_le_bytes()) => Ok(0),
        GET_GS => Err(EFAULT),
        _ => return native(area),
    };
    answer(area, result);
}
