//! Ranges of a record's numbers. What lies outside would make no core, or one that is too large to be simulated.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// Cycles that something may take.
pub const CYCLES: RangeInclusive<u64> = 0..=100_000;
/// Cycles between lines.
pub const LINE_CYCLES: RangeInclusive<f64> = 0.0..=100_000.0;
/// What a cycle can bring.
pub const WIDTH: RangeInclusive<u32> = 1..=64;
/// Entries of a queue.
pub const QUEUE: RangeInclusive<u32> = 1..=4096;
/// Ways, of which each is looked at.
pub const WAYS: RangeInclusive<usize> = 1..=4096;

/// Whether a field is in its range; otherwise what is wrong, beginning with its name.
pub fn within<N: PartialOrd + Display>(name: &str, value: N, range: RangeInclusive<N>) -> Result<(), String> {
    match range.contains(&value) {
        true => Ok(()),
        false => Err(format!("{name} is {value}: give {} to {}", range.start(), range.end())),
    }
}

/// Likewise, of entries that stand in so many ways.
pub fn in_ways(name: &str, entries: usize, ways: usize) -> Result<(), String> {
    match entries.is_multiple_of(ways) {
        true => Ok(()),
        false => Err(format!("{name} is {entries}: give a multiple of the ways, {ways}")),
    }
}

/// Refuses a record whose fields are not in their ranges.
macro_rules! fields {
    ($record:expr, $($field:ident in $range:expr),+ $(,)?) => {
        $($crate::processor::ranges::within(stringify!($field), $record.$field, $range)?;)+
    };
}
pub(super) use fields;

/// Names the part of the record that a fault is in.
pub fn part<T>(name: &str, checked: Result<T, String>) -> Result<T, String> {
    checked.map_err(|fault| format!("{name}.{fault}"))
}
