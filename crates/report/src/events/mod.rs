//! `timewise ostrace`: what the operating system did, and where its trees differ, as text, JSON and CSV.

mod calls;
mod fields;
mod functions;
mod label;
mod screen;
mod verdict;

pub use calls::{csv as calls_csv, json as calls_json, table as calls_table, text as calls_text};
pub use fields::{csv, json};
pub use functions::{csv as functions_csv, json as functions_json, text as functions_text};
pub use screen::text;
pub use verdict::verdict;
