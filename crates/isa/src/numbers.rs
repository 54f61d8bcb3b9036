//! Sets of small numbers.

/// The numbers whose bits are set, in order.
pub fn numbers(mut set: u128) -> impl Iterator<Item = u8> {
    core::iter::from_fn(move || {
        let next = set.trailing_zeros() as u8;
        set &= set.wrapping_sub(1);
        (next < 128).then_some(next)
    })
}
