//! The frame descriptions of `.eh_frame`: one for the code of each function, so that they also tell where
//! functions lie when symbols are stripped.

use crate::image::Elf;
use gimli::{BaseAddresses, CieOrFde, CommonInformationEntry, EhFrame, LittleEndian, UnwindSection};
use object::{Object, ObjectSection};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

/// Where a description stands, and the code that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Link-time offsets, not empty.
    pub offsets: Range<u64>,
    /// Position in the section.
    pub position: usize,
}

/// The section, and the addresses that pointers in it are relative to; `None` if it is not there or cannot be
/// read.
pub fn section<'data>(elf: &Elf<'data>) -> Option<(&'data [u8], BaseAddresses)> {
    let section = elf.section_by_name(".eh_frame")?;
    let address = |name| elf.section_by_name(name).map_or(0, |section| section.address());
    let bases = BaseAddresses::default()
        .set_eh_frame(section.address())
        .set_text(address(".text"))
        .set_got(address(".got"));
    Some((section.data().ok()?, bases))
}

/// All descriptions in a section, sorted; as many as can be read.
pub fn of(section: &[u8], bases: &BaseAddresses) -> Vec<Description> {
    let table = EhFrame::new(section, LittleEndian);
    let mut entries = table.entries(bases);
    // Most descriptions share a few common parts, which are read once each.
    let mut common = HashMap::new();
    let mut descriptions = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let parsed = partial.parse(|table, bases, offset| match common.entry(offset) {
            Entry::Occupied(known) => Ok(CommonInformationEntry::clone(known.get())),
            Entry::Vacant(new) => Ok(new.insert(table.cie_from_offset(bases, offset)?).clone()),
        });
        let Ok(description) = parsed else { continue };
        let start = description.initial_address();
        if description.len() > 0 {
            let offsets = start..start.saturating_add(description.len());
            descriptions.push(Description { offsets, position: description.offset() });
        }
    }
    descriptions.sort_by_key(|description| (description.offsets.start, description.offsets.end));
    descriptions
}

/// Where the code of each description begins and where the description lies, by link-time address, in order.
pub fn places(elf: &Elf) -> Vec<(u64, u64)> {
    let Some(start) = elf.section_by_name(".eh_frame").map(|section| section.address()) else {
        return Vec::new();
    };
    let Some((section, bases)) = section(elf) else { return Vec::new() };
    let place = |found: Description| (found.offsets.start, start.wrapping_add(found.position as u64));
    of(section, &bases).into_iter().map(place).collect()
}

/// The code ranges of all descriptions of a module, sorted.
pub fn ranges(elf: &Elf) -> Vec<Range<u64>> {
    let Some((section, bases)) = section(elf) else { return Vec::new() };
    of(section, &bases).into_iter().map(|description| description.offsets).collect()
}
