//! Places in memory, as addresses on a path are known: as sums of values.

use crate::value::{Terms, Value, Values};
use timewise_isa::effects::{Effects, is_plain};
use timewise_isa::memory::{Access, Segment};

/// So many bytes from an address on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    segment: Segment,
    terms: Terms,
    offset: u64,
    bytes: u16,
}

impl Location {
    /// Where an access goes, by what general-purpose registers hold; `None` if that is not known.
    pub fn of(
        access: &Access,
        effects: &Effects,
        values: &mut Values,
        register: impl Fn(u8) -> Value,
    ) -> Option<Location> {
        if !is_plain(access) {
            return None;
        }
        let (terms, offset) = address(access, effects, values, register);
        Some(Location { segment: access.segment, terms, offset, bytes: access.size })
    }

    /// Bytes.
    pub fn bytes(&self) -> u16 {
        self.bytes
    }

    /// How far the other begins behind this one, if that is known.
    fn distance(&self, other: &Location) -> Option<i64> {
        let is_same = self.segment == other.segment && self.terms == other.terms;
        is_same.then(|| other.offset.wrapping_sub(self.offset) as i64)
    }

    /// Whether no byte surely belongs to both: both are at known distances from one address.
    pub fn is_apart(&self, other: &Location) -> bool {
        self.distance(other)
            .is_some_and(|distance| distance >= i64::from(self.bytes) || distance <= -i64::from(other.bytes))
    }

    /// Whether all bytes of the other surely belong to this one.
    pub fn covers(&self, other: &Location) -> bool {
        self.distance(other).is_some_and(|distance| {
            distance >= 0 && distance.saturating_add(other.bytes.into()) <= self.bytes.into()
        })
    }
}

/// An address as terms and what is added to them.
pub fn address(
    access: &Access,
    effects: &Effects,
    values: &mut Values,
    register: impl Fn(u8) -> Value,
) -> (Terms, u64) {
    let mut base = access.base.map_or(Value::constant(0), &register);
    if effects.is_relative && access.base.is_none() && access.index.is_none() {
        base = values.in_image(0);
    }
    let (one, first) = base.term(1);
    let (other, second) = access.index.map_or(((0, 0), 0), |(index, scale)| register(index).term(1 << scale));
    let mut terms = [one, other];
    terms.sort_unstable();
    (terms, access.displacement.wrapping_add(first).wrapping_add(second))
}
