//! The history of branches, and short hashes of its latest part that move along with it.

use super::{Branch, Executed};
use crate::processor::Tage;

/// Bits that are kept.
const KEPT: usize = Tage::LONGEST as usize + 1;

/// The latest branches, a bit or two each: directions, and something of where indirect ones went.
#[derive(Debug)]
pub struct History {
    bits: Vec<bool>,
    /// Where the next bit goes.
    next: usize,
    folds: Vec<Fold>,
}

/// A hash of the latest bits.
#[derive(Clone, Copy, Debug)]
struct Fold {
    value: u32,
    length: u32,
    width: u32,
}

impl Default for History {
    fn default() -> History {
        History { bits: vec![false; KEPT], next: 0, folds: Vec::new() }
    }
}

impl History {
    /// Keeps a hash of `width` bits of the latest `length` bits from now on; gives its number.
    pub fn fold(&mut self, length: u32, width: u32) -> usize {
        self.folds.push(Fold { value: 0, length, width });
        self.folds.len() - 1
    }

    /// A hash.
    #[inline]
    pub fn folded(&self, number: usize) -> u32 {
        self.folds[number].value
    }

    /// Adds a branch.
    pub fn push(&mut self, executed: &Executed, taken: bool) {
        match executed.branch {
            Branch::IndirectJump | Branch::IndirectCall => {
                let hash = (executed.target >> 1 ^ executed.target >> 5 ^ executed.target >> 9) as u32;
                self.bit(hash & 1 == 1);
                self.bit(hash >> 1 & 1 == 1);
                self.bit(hash >> 2 & 1 == 1);
            }
            Branch::Conditional => self.bit(taken),
            Branch::None | Branch::Jump | Branch::Call | Branch::Return => {
                self.bit((executed.address >> 2 ^ executed.address >> 6) & 1 == 1);
            }
        }
    }

    #[inline]
    fn bit(&mut self, bit: bool) {
        self.bits[self.next] = bit;
        for fold in &mut self.folds {
            let out = self.bits[(self.next + KEPT - fold.length as usize) % KEPT];
            let mut value = fold.value << 1 | u32::from(bit);
            value ^= u32::from(out) << (fold.length % fold.width);
            value ^= value >> fold.width;
            fold.value = value & ((1 << fold.width) - 1);
        }
        self.next = (self.next + 1) % KEPT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_depends_on_its_part_of_the_history_only() {
        let mut one = History::default();
        let mut other = History::default();
        let numbers = [one.fold(9, 4), other.fold(9, 4)];
        (0..50).for_each(|n| one.bit(n % 3 == 0));
        (0..9).for_each(|n| {
            one.bit(n % 2 == 0);
            other.bit(n % 2 == 0);
        });
        assert_eq!(one.folded(numbers[0]), other.folded(numbers[1]));
        one.bit(true);
        other.bit(false);
        assert_ne!(one.folded(numbers[0]), other.folded(numbers[1]));
    }
}
