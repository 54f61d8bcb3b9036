//! What was found, as text and as a page for people, and as JSON and CSV for programs.
//!
//! Everything here is pure: an [`Analysis`](timewise_flow::Analysis) goes in, a string comes out.
//! Reading files, asking the terminal for its width and choosing colours is the caller's business
//! ([`Style`]).
//!
//! - [`summary`]: the screen that `timewise run` ends with;
//! - [`heading`]: the line above a report, what it is of;
//! - [`listing`]: `timewise report`, one row for each function, loop, call, block, instruction or line;
//! - `request`: which of these, in which order;
//! - [`annotate`]: one function, instruction by instruction, between its source lines;
//! - [`diff`]: `timewise diff`, two profiles compared;
//! - [`simpoint`]: which intervals stand for a whole execution;
//! - [`simulated`]: where a modelled core's cycles go;
//! - [`verify`]: `timewise verify`, whether a profile is consistent;
//! - [`html`]: all of it as one page for a browser;
//! - [`rows`]: the same rows as values, in the fields of the `timewise-report/1` contract;
//! - [`mix`]: which instructions were executed;
//! - [`waste`]: which instructions did nothing for what came after;
//! - [`visible`]: what others wrote, made harmless to terminals;
//! - `origin`: where the figures come from and how far to trust them, which stands in every report.
#![forbid(unsafe_code)]

mod abbreviate;
pub mod annotate;
mod apart;
mod arrows;
mod beside;
mod branch;
mod code_text;
pub mod csv;
pub mod diff;
pub mod events;
mod figures;
mod find;
pub mod heading;
mod hints;
pub mod html;
pub mod json;
mod jumps;
mod labels;
pub mod listing;
pub mod mix;
pub mod number;
mod origin;
mod path_hints;
mod request;
pub mod rows;
pub mod simpoint;
pub mod simulated;
mod site;
mod style;
pub mod summary;
mod table;
pub mod verify;
pub mod visible;
pub mod waste;

pub use request::{By, Calls, Request, Sort};
pub use style::Style;
