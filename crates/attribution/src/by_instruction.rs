//! Values by instruction, with room only for those near some that there are.
//!
//! The instructions of a run are numbered as they turn up, and one of its threads executes a few of them, here and there:
//! what is kept of each thread should grow with what it executed, not with what the others did.

/// Instructions of a page.
const PAGE: usize = 64;

/// A value for each instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByInstruction<T> {
    pages: Vec<Option<Box<[T; PAGE]>>>,
}

impl<T> Default for ByInstruction<T> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

impl<T: Default> ByInstruction<T> {
    /// The value of an instruction, if there is room for it.
    pub fn get(&self, instruction: u32) -> Option<&T> {
        let index = instruction as usize;
        self.pages.get(index / PAGE)?.as_ref().map(|page| &page[index % PAGE])
    }

    /// The value of an instruction, for which room is made.
    #[inline]
    pub fn at(&mut self, instruction: u32) -> &mut T {
        let (number, at) = (instruction as usize / PAGE, instruction as usize % PAGE);
        if number >= self.pages.len() {
            self.make_room(number);
        }
        &mut self.pages[number].get_or_insert_with(page)[at]
    }

    #[cold]
    fn make_room(&mut self, number: usize) {
        self.pages.resize_with(number + 1, || None);
    }

    /// All instructions for which there is room, with their values.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let pages = (0..).step_by(PAGE).zip(&self.pages);
        pages.flat_map(|(first, page)| (first..).zip(page.iter().flat_map(|page| page.iter())))
    }
}

fn page<T: Default>() -> Box<[T; PAGE]> {
    Box::new(std::array::from_fn(|_| T::default()))
}

#[cfg(test)]
mod tests {
    use super::ByInstruction;

    #[test]
    fn there_is_room_near_what_there_is() {
        let mut values = ByInstruction::<u64>::default();
        *values.at(1_000_000) += 3;
        *values.at(1_000_000) += 4;
        *values.at(5) += 1;
        assert_eq!((values.get(1_000_000), values.get(5), values.get(6)), (Some(&7), Some(&1), Some(&0)));
        assert_eq!((values.get(500), values.get(u32::MAX)), (None, None));
        let there: Vec<(u32, u64)> = values.iter().map(|(number, value)| (number, *value)).collect();
        assert_eq!(there.len(), 128);
        assert!(there.contains(&(1_000_000, 7)) && there.contains(&(5, 1)), "{there:?}");
    }
}
