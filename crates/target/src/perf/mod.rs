//! The kernel's performance events: [`Event`] is one open event, [`Ring`] the memory that its
//! records come through. What the records mean is their reader's business.

mod event;
mod ring;

pub use event::{Event, Watched};
pub use perf_event_open_sys::bindings as sys;
pub use ring::Ring;
