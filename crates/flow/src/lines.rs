//! Which source line a place belongs to.

use crate::code::{Code, MANY};
use crate::parallel::in_parts;
use crate::reach::same_code;
use timewise_profile::{FileId, Line, Place, Profile};

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
    let file = row.file.filter(|_| tells_of(row, place))?;
    Some(SourceLine { file, line: row.line })
}

/// Whether the last row that stands before `place` says anything of it.
fn tells_of(row: &Line, place: Place) -> bool {
    same_code(row.place, place) && row.file.is_some() && row.line > 0
}

/// The row of the profile's lines that tells of each instruction, if one does: of all of them at once this is
/// much faster than [`line_at`] of each.
pub(crate) fn rows_of_instructions(profile: &Profile, code: &Code) -> Vec<Option<u32>> {
    let lines = &profile.lines;
    let parts = in_parts(code.blocks.len(), MANY, |blocks| {
        let mut rows = Vec::new();
        for block in &code.blocks[blocks] {
            // What a block's instructions have before them stands in the order of the instructions.
            let mut after = lines.partition_point(|row| row.place <= block.place);
            for instruction in block.instructions() {
                let place = code.place(instruction);
                while lines.get(after).is_some_and(|row| row.place <= place) {
                    after += 1;
                }
                let row = after.checked_sub(1).filter(|&row| tells_of(&lines[row], place));
                rows.push(row.map(|row| row as u32));
            }
        }
        rows
    });
    parts.concat()
}
