//! The kernel's performance events: [`Event`] is one open event, [`Ring`] the memory that its
//! records come through, [`Fields`] reads them. What they mean is their reader's business.

mod event;
mod fields;
mod ring;

pub use event::{Event, Watched};
pub use fields::Fields;
pub use perf_event_open_sys::bindings as sys;
pub use ring::Ring;
