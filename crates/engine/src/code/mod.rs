//! Where code belongs: from an address in a process, at a moment, to a module, a version and an offset.

mod address_space;
mod bytes;
mod modules;
mod segments;

pub use address_space::AddressSpace;
pub use bytes::KnownBytes;
pub use modules::{Mapped, Modules};
