//! The `.tw` file: one SQLite database, described for its readers in `docs/profile-format.md`.
//!
//! [`save`] and [`load`] are the two ways in; [`replace`] puts other files in their place, too; `schema` says what the tables are, and `runs`, `code`,
//! `samples` and `counts` each write and read a few of them.

mod branches;
mod code;
mod counts;
mod events;
mod header;
mod intervals;
pub mod load;
mod paths;
mod reader;
pub mod replace;
mod runs;
mod samples;
pub mod save;
mod schema;
mod simulations;
mod table;
mod tallies;
