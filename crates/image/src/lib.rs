//! Modules of a process: the files that hold code, and what they say of it.
//!
//! [`Image`] is one opened ELF file (or the vDSO): its build id, its segments (file offset ↔
//! link-time offset) and the bytes of its code; [`Headers`] are the part of it that can be read alone.
//! [`Symboliser`] answers the questions that reports ask, each computed when first asked: which function holds
//! an offset, which source line, through which inlined calls ([`frames_of`] asks many at once).
//! [`UnwindTable`] finds callers; [`WrittenCode`] is what programs say of code that they wrote at run time.
//! Offsets are link-time virtual addresses throughout.
//!
//! Files are read piece by piece and never mapped, so one that changes while it is read can give wrong
//! answers but never a crash; damaged files give an error or less detail, never a panic.
#![forbid(unsafe_code)]

mod contents;
mod debug_file;
mod declarations;
mod demangle;
mod dwarf;
mod error;
mod extent;
mod functions;
mod headers;
mod image;
mod labels;
mod linkage;
mod names;
mod parallel;
mod pclntab;
mod ranges;
mod regular;
mod sanitiser;
mod sections;
mod segments;
mod symboliser;
mod symbols;
mod unlisted;
mod unwind;
mod vdso;
mod written;

pub use demangle::demangle;
pub use dwarf::{Frame, InSource, LineRow};
pub use error::ImageError;
pub use functions::{Function, Functions, Origin};
pub use headers::Headers;
pub use image::Image;
pub use parallel::frames_of;
pub use regular::regular_file;
pub use sanitiser::sanitiser;
pub use segments::{Segment, Segments};
pub use symboliser::Symboliser;
pub use unlisted::{Named, Unlisted};
pub use unwind::{Registers, Rule, Stop, UnwindTable};
pub use written::{WrittenCode, WrittenFunction, WrittenLine};
