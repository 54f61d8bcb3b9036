//! Where functions lie, as unwind tables tell: they stay when symbols are stripped.

use crate::image::Elf;
use gimli::{BaseAddresses, CieOrFde, CommonInformationEntry, EhFrame, LittleEndian, UnwindSection};
use object::{Object, ObjectSection};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

/// The code ranges of all frame descriptions in `.eh_frame`, sorted; as many as can be read.
pub fn of(elf: &Elf) -> Vec<Range<u64>> {
    let Some(section) = elf.section_by_name(".eh_frame") else { return Vec::new() };
    let Ok(data) = section.data() else { return Vec::new() };
    let address = |name| elf.section_by_name(name).map_or(0, |section| section.address());
    let bases = BaseAddresses::default()
        .set_eh_frame(section.address())
        .set_text(address(".text"))
        .set_got(address(".got"));
    let table = EhFrame::new(data, LittleEndian);
    let mut entries = table.entries(&bases);
    // Most descriptions share a few common parts, which are read once each.
    let mut common = HashMap::new();
    let mut ranges = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let parsed = partial.parse(|table, bases, offset| match common.entry(offset) {
            Entry::Occupied(known) => Ok(CommonInformationEntry::clone(known.get())),
            Entry::Vacant(new) => Ok(new.insert(table.cie_from_offset(bases, offset)?).clone()),
        });
        let Ok(description) = parsed else { continue };
        let start = description.initial_address();
        if description.len() > 0 {
            ranges.push(start..start.saturating_add(description.len()));
        }
    }
    ranges.sort_by_key(|range| (range.start, range.end));
    ranges
}
