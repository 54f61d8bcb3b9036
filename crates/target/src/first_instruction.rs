//! Whether a program that was just executed has a first instruction: the system finds out only when it gets there.

use crate::maps::Mapped;
use crate::trace::Tracee;

/// It has none.
#[derive(Debug, thiserror::Error)]
#[error(
    "the program's first instruction, at address {0:#x}, is not in memory that can be executed: its file is cut \
     short, or is a library; look at it with: readelf -hlW"
)]
pub struct NoFirstInstruction(pub u64);

/// Looks for it at `address`, of a thread that stands, whose executable memory is `mappings`.
///
/// # Errors
/// If there is none.
pub fn check(tracee: Tracee, address: u64, mappings: &[Mapped]) -> Result<(), NoFirstInstruction> {
    let is_mapped = mappings.iter().any(|mapped| (mapped.start..mapped.end).contains(&address));
    // A file may be cut short within what is mapped of it: then there is nothing to read.
    if is_mapped && tracee.read::<1>(address).is_ok() { Ok(()) } else { Err(NoFirstInstruction(address)) }
}
