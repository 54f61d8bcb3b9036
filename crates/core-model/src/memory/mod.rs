//! The memory of a core: caches, what is fetched into them early, translation of addresses, and the stores that
//! are not in the cache yet.

mod cache;
mod foreseen;
mod forwarding;
mod hierarchy;
mod prefetch;
mod translation;

pub use cache::{Cache, Found};
pub use foreseen::Foreseen;
pub use forwarding::{Forwarding, Source, Store, Stretch};
pub use hierarchy::{Hierarchy, Line, Why};
pub use translation::{Side, Translations};

/// Bytes of a line, as a shift.
pub const LINE: u32 = 6;
