//! Where code belongs: from an address in a process, at a moment, to a module, a version and an offset.

mod bytes;
mod modules;

pub use bytes::KnownBytes;
pub use modules::{Mapped, Modules};
