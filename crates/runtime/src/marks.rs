//! Where each instruction of a unit is done: the way back from a place in the code cache to the program.
//!
//! An instruction is done when its effect can no longer be taken back: a plain one after its last byte, a
//! call after its push. One byte an instruction is enough for nearly all, because most are copied as they
//! are.

use alloc::vec::Vec;

/// What is kept of one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Bytes of the instruction in the program.
    pub length: u8,
    /// Bytes of translated code from where the one before was done, or its block's entry, to where this
    /// one is.
    pub size: u16,
}

/// The marks of all units, one after the other.
#[derive(Default, Debug)]
pub struct Marks(Vec<u8>);

/// High half of a byte whose size does not fit and follows.
const LONG: u8 = 15;

impl Marks {
    /// Where the next mark will stand.
    pub fn end(&self) -> u32 {
        self.0.len() as u32
    }

    /// Adds the next.
    pub fn add(&mut self, mark: Mark) {
        match mark.size.checked_sub(u16::from(mark.length)) {
            Some(extra) if extra < u16::from(LONG) => self.0.push(mark.length | (extra as u8) << 4),
            _ => {
                self.0.push(mark.length | LONG << 4);
                self.0.extend(mark.size.to_le_bytes());
            }
        }
    }

    /// The marks from `at` on.
    pub fn from(&self, at: u32) -> impl Iterator<Item = Mark> {
        let mut rest = self.0.get(at as usize..).unwrap_or_default();
        core::iter::from_fn(move || {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            let length = byte & 0x0f;
            let extra = byte >> 4;
            if extra < LONG {
                return Some(Mark { length, size: u16::from(length) + u16::from(extra) });
            }
            let (size, after) = rest.split_first_chunk()?;
            rest = after;
            Some(Mark { length, size: u16::from_le_bytes(*size) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_as_they_were_added() {
        let mut marks = Marks::default();
        marks.add(Mark { length: 3, size: 3 });
        let at = marks.end();
        let all: Vec<Mark> = [(1, 1), (15, 29), (15, 30), (5, 1), (2, 400), (4, 13)]
            .map(|(length, size)| Mark { length, size })
            .into();
        all.iter().for_each(|&mark| marks.add(mark));
        assert_eq!(marks.from(at).collect::<Vec<_>>(), all);
        assert_eq!(marks.from(0).next(), Some(Mark { length: 3, size: 3 }));
    }

    #[test]
    fn plain_instructions_take_a_byte_each() {
        let mut marks = Marks::default();
        (1..=15).for_each(|length| marks.add(Mark { length, size: u16::from(length) + 9 }));
        assert_eq!(marks.end(), 15);
    }
}
