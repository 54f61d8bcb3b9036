//! What may overlap, sorted by place: how far back to look for what holds a place.

use timewise_profile::Place;

/// Of each extent, sorted by where it begins, the largest end offset of it and of all before it in the same code.
pub fn reaches(extents: impl Iterator<Item = (Place, u64)>) -> Vec<u64> {
    let mut latest: Option<(Place, u64)> = None;
    let reach = |(place, end)| {
        let before = latest.filter(|(other, _)| same_code(*other, place));
        let reach = before.map_or(end, |(_, reach)| reach.max(end));
        latest = Some((place, reach));
        reach
    };
    extents.map(reach).collect()
}

/// Whether two places are in the same version of the same module.
pub fn same_code(a: Place, b: Place) -> bool {
    a.module == b.module && a.version == b.version
}
