//! Ranges of offsets in which others are looked up.

use std::ops::Range;

/// What has a range of offsets.
pub trait Ranged {
    /// The range.
    fn range(&self) -> &Range<u64>;
}

impl Ranged for Range<u64> {
    fn range(&self) -> &Range<u64> {
        self
    }
}

/// Puts `all` in order, for [`holding`]. What has an empty range is left out, and what overlaps another: only damaged
/// files say so.
pub fn put_in_order(all: &mut Vec<impl Ranged>) {
    all.retain(|one| !one.range().is_empty());
    all.sort_by_key(|one| one.range().start);
    all.dedup_by(|next, kept| next.range().start < kept.range().end);
}

/// The one of `all`, which are in order, that holds an offset. Where some overlap, it is the last one that begins before.
pub fn holding<R: Ranged>(all: &[R], offset: u64) -> Option<&R> {
    let before = all.partition_point(|one| one.range().start <= offset);
    all[..before].last().filter(|one| offset < one.range().end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_they_begin_with_and_not_what_they_end_at() {
        let mut ranges = vec![40..50, 20..30, 25..45, 45..45, 10..20];
        put_in_order(&mut ranges);
        assert_eq!(ranges, [10..20, 20..30, 40..50]);
        let held: Vec<u64> =
            (0..60).step_by(5).filter(|&offset| holding(&ranges, offset).is_some()).collect();
        assert_eq!(held, [10, 15, 20, 25, 40, 45]);
        assert_eq!(holding(&ranges, 29), Some(&(20..30)));
    }
}
