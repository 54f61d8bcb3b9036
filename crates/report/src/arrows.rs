//! Arrows for jumps, drawn with characters beside a listing.
//!
//! ```text
//!  ╭──▸ 0x40  test rdx,rdx
//!  │╭── 0x43  je   0x60
//!  ╰┼── 0x4f  jmp  0x40
//!   ╰─▸ 0x60  ret
//! ```

use crate::jumps::Jump;
use std::collections::HashMap;
use timewise_flow::InstructionId;

/// Arrows further out are left out: they would take the room of what they belong to.
const MOST_LANES: usize = 8;

/// The arrows of a function's listing.
pub struct Arrows {
    /// For each instruction in order, and each lane from the outermost: what stands there.
    rows: Vec<Vec<Mark>>,
    lanes: usize,
}

/// What of an arrow stands in one lane of one row.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Mark {
    from_above: bool,
    to_below: bool,
    /// It turns to the instruction here.
    turns: bool,
    /// And points at it.
    points: bool,
}

impl Arrows {
    /// Arrows for `jumps` beside `instructions`, a row each.
    pub fn new(jumps: &[Jump], instructions: &[InstructionId]) -> Arrows {
        let row_of: HashMap<InstructionId, usize> =
            instructions.iter().enumerate().map(|(row, id)| (*id, row)).collect();
        let shown = jumps.iter().filter(|jump| (jump.lane as usize) < MOST_LANES);
        let lanes = shown.clone().map(|jump| jump.lane as usize + 1).max().unwrap_or(0);
        let mut rows = vec![vec![Mark::default(); lanes]; instructions.len()];
        for jump in shown {
            let (Some(&from), Some(&to)) = (row_of.get(&jump.from), row_of.get(&jump.to)) else { continue };
            let lane = lanes - 1 - jump.lane as usize;
            let (first, last) = (from.min(to), from.max(to));
            for (row, marks) in rows.iter_mut().enumerate().take(last + 1).skip(first) {
                let mark = &mut marks[lane];
                mark.from_above |= row > first;
                mark.to_below |= row < last;
                mark.turns |= row == from || row == to;
                mark.points |= row == to;
            }
        }
        Arrows { rows, lanes }
    }

    /// Columns that they take; 0 if there are none.
    pub fn width(&self) -> usize {
        if self.lanes == 0 { 0 } else { self.lanes + 2 }
    }

    /// What stands beside an instruction.
    pub fn beside(&self, row: usize) -> String {
        if self.lanes == 0 {
            return String::new();
        }
        let marks = &self.rows[row];
        let turn = marks.iter().position(|mark| mark.turns);
        let mut out = String::new();
        for (lane, mark) in marks.iter().enumerate() {
            let is_crossed = turn.is_some_and(|turn| turn < lane);
            out.push(match (mark.from_above, mark.to_below, mark.turns) {
                (true, true, true) => {
                    if is_crossed {
                        '┼'
                    } else {
                        '├'
                    }
                }
                (true, true, false) => {
                    if is_crossed {
                        '┼'
                    } else {
                        '│'
                    }
                }
                (false, true, _) => {
                    if is_crossed {
                        '┬'
                    } else {
                        '╭'
                    }
                }
                (true, false, _) => {
                    if is_crossed {
                        '┴'
                    } else {
                        '╰'
                    }
                }
                (false, false, true) => '─',
                (false, false, false) => {
                    if is_crossed {
                        '─'
                    } else {
                        ' '
                    }
                }
            });
        }
        out.push_str(match turn {
            Some(_) if marks.iter().any(|mark| mark.points) => "─▸",
            Some(_) => "──",
            None => "  ",
        });
        out
    }

    /// What stands above an instruction, beside a line between it and the one before.
    pub fn above(&self, row: usize) -> String {
        let lane = |mark: &Mark| if mark.from_above { '│' } else { ' ' };
        let mut out: String = self.rows[row].iter().map(lane).collect();
        if self.lanes > 0 {
            out.push_str("  ");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(jumps: &[(u32, u32, u32)], rows: u32) -> String {
        let jump = |&(from, to, lane)| Jump { from: InstructionId(from), to: InstructionId(to), lane };
        let jumps: Vec<Jump> = jumps.iter().map(jump).collect();
        let arrows = Arrows::new(&jumps, &(0..rows).map(InstructionId).collect::<Vec<_>>());
        (0..rows as usize).map(|row| arrows.beside(row) + "\n").collect()
    }

    #[test]
    fn arrows_lead_from_jumps_to_their_targets() {
        assert_eq!(drawn(&[(2, 1, 0), (3, 0, 1)], 4), "╭──▸\n│╭─▸\n│╰──\n╰───\n");
        assert_eq!(drawn(&[(0, 2, 0), (1, 3, 1)], 4), " ╭──\n╭┼──\n│╰─▸\n╰──▸\n");
        assert_eq!(drawn(&[(1, 1, 0)], 2), "   \n──▸\n", "a jump to itself");
        assert_eq!(drawn(&[], 1), "\n");
    }

    #[test]
    fn several_arrows_meet_at_one_target() {
        assert_eq!(drawn(&[(1, 0, 0), (2, 0, 1)], 3), "╭┬─▸\n│╰──\n╰───\n");
    }

    #[test]
    fn lines_between_do_not_break_arrows() {
        let jumps = [Jump { from: InstructionId(0), to: InstructionId(2), lane: 0 }];
        let arrows = Arrows::new(&jumps, &[0, 1, 2].map(InstructionId));
        assert_eq!([0, 1, 2].map(|row| arrows.above(row)), ["   ", "│  ", "│  "]);
        assert_eq!(arrows.width(), 3);
    }
}
