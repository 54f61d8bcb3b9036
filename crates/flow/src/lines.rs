//! Which source line a place belongs to.

use timewise_profile::{FileId, Place, Profile};

/// A source line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SourceLine {
    /// The file.
    pub file: FileId,
    /// The line, from 1.
    pub line: u32,
}

/// The line of the code at `place`, if line tables say so.
pub fn line_at(profile: &Profile, place: Place) -> Option<SourceLine> {
    let after = profile.lines.partition_point(|row| row.place <= place);
    let row = &profile.lines[after.checked_sub(1)?];
    let same_code = row.place.module == place.module && row.place.version == place.version;
    let file = row.file.filter(|_| same_code && row.line > 0)?;
    Some(SourceLine { file, line: row.line })
}
