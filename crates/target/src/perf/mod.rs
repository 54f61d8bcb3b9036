//! The kernel's performance events: [`Event`] is one open event, [`Ring`] the memory that its
//! records come through, [`records()`] splits and [`Fields`] reads them. What they mean is their reader's business but for
//! [`RawMapping`], which several readers need.

mod event;
mod fields;
mod records;
mod ring;

pub use event::{Event, Watched};
pub use fields::Fields;
pub use perf_event_open_sys::bindings as sys;
pub use records::{FileIdentity, RawMapping, RawRecord, records};
pub use ring::Ring;
